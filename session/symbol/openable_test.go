package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mgtrace/objfile"
)

// TestOpenable: what a program may open is what its files name, what lies in directories that they name, what such
// libraries need, and what lies beside the program; if it was built with the program, and if the program opens any.
func TestOpenable(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("lib.c", "int there(void) { return 1; }\n")
	write("main.c", `#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	char name[256];
	sprintf(name, "plug/%s.so", argv[1]);
	const char *names[] = { "./named.so", "bare.so", "absent.so", "see named.so for more.so", GIVEN };
#ifdef OPENS
	return !dlopen(names[argc], RTLD_NOW) && !dlopen(name, RTLD_NOW);
#else
	return names[argc][0] == name[0];
#endif
}
`)
	build := func(out string, flags ...string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(in(out)), 0o777); err != nil {
			t.Fatal(err)
		}
		if b, err := exec.Command(gcc, append([]string{"-o", in(out)}, flags...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
	}
	lib := []string{"-g", "-shared", "-fPIC", in("lib.c")}
	for _, name := range []string{
		"work/named.so", "work/plug/one.so", "run/bare.so", "run/needed.so", "bin/mods/beside.so.2",
		"work/other.so", "bin/.hidden/secret.so", "bin/1/2/3/deep.so",
	} {
		build(name, lib...)
	}
	build("given/two.so", append(lib, "-Wl,--no-as-needed", in("run/needed.so"), "-Wl,-soname,two.so")...)
	build("bin/stripped.so", "-shared", "-fPIC", in("lib.c"))
	main := []string{in("main.c"), "-Wl,-rpath," + in("run"), `-DGIVEN="` + in("given") + `"`}
	build("bin/opens", append(main, "-g", "-DOPENS")...)
	build("bin/links", append(main, "-g")...)
	if err := os.Symlink(in("work/other.so"), in("bin/linked.so")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"opens": {
			"bin/mods/beside.so.2", "given/two.so", "run/bare.so", "run/needed.so", "work/named.so", "work/other.so", "work/plug/one.so",
		},
		"links": nil,
	} {
		program := Image{}
		program.Path = in("bin/" + name)
		program.Traced = true
		if program.Obj, err = objfile.Open(program.Path, objfile.Options{}); err != nil {
			t.Fatal(err)
		}
		defer program.Obj.Close()
		own, left := Openable([]Image{program}, Surroundings{Dir: in("work")}, objfile.Options{})
		var got []string
		for _, im := range own {
			if !im.Traced {
				t.Errorf("%s is not traced", im.Path)
			}
			rel, err := filepath.Rel(dir, im.Path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
			_ = im.Obj.Close()
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || len(left) > 0 {
			t.Errorf("%s: %q, left %q, not %q", name, got, left, want)
		}
	}
}
