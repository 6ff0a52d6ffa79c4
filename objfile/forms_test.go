package objfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForms stores the same debug information in every form in which it is
// found, and expects the same answers.
func TestForms(t *testing.T) {
	forms := []struct {
		config
		sources []string
	}{
		{config{"gcc", "-g -gdwarf-4 -O2"}, cProgram},
		{config{"gcc", "-g -gdwarf-5 -O2"}, cxxProgram},
		{config{"clang-14", "-g -gdwarf-4 -O2"}, cxxProgram},
		{config{"clang-14", "-g -gdwarf-5 -O1"}, cProgram},
	}
	for _, form := range forms {
		t.Run(form.sources[0]+"/"+form.name(), func(t *testing.T) {
			t.Parallel()
			everyForm(t, form.config, form.sources)
		})
	}
}

func everyForm(t *testing.T, c config, sources []string) {
	prog := compile(t, c, t.TempDir(), sources...)
	want := digest(open(t, prog, Options{NoSeparate: true}))
	if strings.Count(want, "\n") < 200 {
		t.Fatalf("too little debug information:\n%s", want)
	}
	same := func(t *testing.T, f *File) {
		t.Helper()
		if got := digest(f); got != want {
			t.Errorf("other answers (%s):\n%s", f.Warnings(), firstDiff(want, got))
		}
	}
	for _, how := range []string{"zlib", "zlib-gnu"} {
		t.Run("compressed-"+how, func(t *testing.T) {
			same(t, open(t, recoded(t, prog, "--compress-debug-sections="+how), Options{}))
		})
	}
	t.Run("debuglink", func(t *testing.T) { separateForms(t, prog, same) })
	t.Run("split", func(t *testing.T) { splitForms(t, c, sources) })
	if c.compiler == "gcc" || !strings.Contains(c.flags, "-gdwarf-5") { // dwz does not know clang's .debug_addr
		t.Run("dwz", func(t *testing.T) { dwzForm(t, prog, same) })
	}
}

func firstDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return cmp.Diff(w[max(i-2, 0):min(i+6, len(w))], g[min(max(i-2, 0), len(g)):min(i+6, len(g))])
		}
	}
	return "more lines"
}

func recoded(t *testing.T, prog, flag string) string {
	need(t, "objcopy")
	out := filepath.Join(t.TempDir(), "prog")
	run(t, "", "objcopy", flag, prog, out)
	return out
}

// separateForms strips the program and puts its debug file where gdb looks.
func separateForms(t *testing.T, prog string, same func(*testing.T, *File)) {
	need(t, "objcopy", "strip")
	dir := t.TempDir()
	debug, bare := filepath.Join(dir, "prog.debug"), filepath.Join(dir, "bare")
	run(t, "", "objcopy", "--only-keep-debug", prog, debug)
	run(t, "", "strip", "-o", bare, prog)

	if f := open(t, bare, Options{}); f.HasDWARF() || len(f.Variables(f.Entry())) > 0 {
		t.Error("debug information of a stripped program")
	}
	id := open(t, bare, Options{}).BuildID()
	byID := filepath.Join(dir, "dbg", ".build-id", id[:2])
	if err := os.MkdirAll(byID, 0o777); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(byID, id[2:]+".debug")
	if err := os.WriteFile(place, read(t, debug), 0o666); err != nil {
		t.Fatal(err)
	}
	f := open(t, bare, Options{DebugDirs: []string{filepath.Join(dir, "dbg")}})
	same(t, f)
	if f.DebugPath() != place || len(f.DebugFiles()) != 1 {
		t.Errorf("debug file %q, %v", f.DebugPath(), f.DebugFiles())
	}

	linked := filepath.Join(dir, "linked")
	run(t, dir, "objcopy", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink="+debug, bare, linked)
	same(t, open(t, linked, Options{}))

	p, err := Parse("attached", strings.NewReader(string(read(t, bare))), strings.NewReader(string(read(t, debug))))
	if err != nil {
		t.Fatal(err)
	}
	same(t, p)

	// A debug file of another build must not be used.
	if err := os.WriteFile(debug, append(read(t, debug), 0), 0o666); err != nil {
		t.Fatal(err)
	}
	if open(t, linked, Options{}).HasDWARF() {
		t.Error("used a debug file whose checksum is wrong")
	}
}

// dwzForm moves what two copies of the program share to a supplementary file.
func dwzForm(t *testing.T, prog string, same func(*testing.T, *File)) {
	need(t, "dwz")
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), read(t, prog), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "dwz", "-m", "shared.debug", "one", "two")
	f := open(t, filepath.Join(dir, "one"), Options{})
	same(t, f)
	if files := f.DebugFiles(); len(files) != 1 || filepath.Base(files[0]) != "shared.debug" {
		t.Errorf("debug files: %v", files)
	}
	p, err := Parse("attached", strings.NewReader(string(read(t, filepath.Join(dir, "one")))),
		strings.NewReader(string(read(t, filepath.Join(dir, "shared.debug")))))
	if err != nil {
		t.Fatal(err)
	}
	same(t, p)
}

// splitForms compiles with split DWARF, alone and packed.
func splitForms(t *testing.T, c config, sources []string) {
	dir := t.TempDir()
	if c.compiler == "gcc" { // its location lists are finer without split DWARF
		c.flags += " -gno-variable-location-views"
	}
	// gcc's DWARF 4 location lists in .dwo files have some lengths 2 too short.
	places := c.compiler != "gcc" || !strings.Contains(c.flags, "-gdwarf-4")
	want := digestOf(open(t, compile(t, c, dir, sources...), Options{NoSeparate: true}), places)
	c.flags += " -gsplit-dwarf"
	prog := compile(t, c, dir, sources...)
	check := func(f *File) {
		t.Helper()
		if got := digestOf(f, places); got != want {
			t.Errorf("other answers %q:\n%s", f.Warnings(), firstDiff(want, got))
		}
	}
	f := open(t, prog, Options{})
	check(f)
	if n := len(f.DebugFiles()); n != len(sources) {
		t.Errorf("%d debug files: %v", n, f.DebugFiles())
	}

	for _, tool := range []string{"dwp", "llvm-dwp-14"} {
		v5 := strings.Contains(c.flags, "-gdwarf-5")
		if v5 && (tool == "dwp" || c.compiler == "gcc") {
			continue // binutils' knows version 2 only, LLVM's hangs on gcc's DWARF 5
		}
		packed := t.TempDir()
		bare := filepath.Join(packed, "prog")
		if err := os.WriteFile(bare, read(t, prog), 0o777); err != nil {
			t.Fatal(err)
		}
		need(t, tool)
		run(t, dir, tool, "-e", "prog", "-o", bare+".dwp")
		for _, dwo := range dwos(t, dir) {
			os.Rename(dwo, dwo+".away")
		}
		f := open(t, bare, Options{})
		check(f)
		if n := len(f.DebugFiles()); n != 1 {
			t.Errorf("debug files: %v", f.DebugFiles())
		}
		for _, dwo := range dwos(t, dir) {
			os.Rename(dwo, strings.TrimSuffix(dwo, ".away"))
		}
	}

	for _, dwo := range dwos(t, dir) {
		os.Remove(dwo)
	}
	f = open(t, prog, Options{})
	if f.Frames(f.FuncsNamed("main")[0].Addr)[0].File == "" {
		t.Error("without .dwo files the lines are still in the program")
	}
	if len(f.Warnings()) == 0 {
		t.Error("no warning that .dwo files are missing")
	}
}

func dwos(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.dwo*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A variable that clang has taken apart is what lies from its first piece to its last, with the members that there are;
// with something else between them it is at no address, and that is told. Its type is known as before.
func TestScattered(t *testing.T) {
	for _, flags := range []string{"-g -O0", "-g -O2"} {
		f := open(t, compile(t, config{"clang-14", flags}, t.TempDir(), "pieces.c"), Options{})
		whole := flags == "-g -O0"
		want := map[string]string{"registry": "live 0, last 8", "nested": "near.b 0, far 8", "whole_in_pieces": "first 0, count 8"}
		if whole {
			want["registry"], want["nested"] = "used 0, live 4, last 8, never 16", "near.a 0, near.b 4, far 8"
		}
		for name, members := range want {
			v, found := f.Global(name, "pieces.c")
			if !found || v.Type == nil || f.Scattered(name) {
				t.Errorf("%s: %s: found %v, scattered %v", flags, name, found, f.Scattered(name))
				continue
			}
			var got []string
			for _, s := range v.Type.Scalars() {
				got = append(got, fmt.Sprint(s.Path, " ", s.Offset))
			}
			if diff := cmp.Diff(members, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", flags, name, diff)
			}
			if at, ok := f.GlobalAt(uint64(v.Loc.Offset) + 8); !ok || at.Name != name {
				t.Errorf("%s: behind the beginning of %s is %q", flags, name, at.Name)
			}
			if full := f.GlobalType(name, "pieces.c"); full == nil || f.GlobalType(name, "other.c") != nil || full == v.Type != (whole || name == "whole_in_pieces") {
				t.Errorf("%s: the type of %s: %v, in another file %v", flags, name, full, f.GlobalType(name, "other.c"))
			}
		}
		if _, found := f.Global("between", ""); found != whole || f.Scattered("between") == whole {
			t.Errorf("%s: what something else lies between: found %v, scattered %v", flags, found, f.Scattered("between"))
		}
		if f.Scattered("whole") || f.Scattered("nothing") {
			t.Errorf("%s: what is whole or nowhere is said to be scattered", flags)
		}
	}
}
