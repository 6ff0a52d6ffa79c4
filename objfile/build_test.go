package objfile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// config is a way to build a test program.
type config struct {
	compiler string // gcc or clang-14; for C++ programs g++ or clang++-14
	flags    string
}

func (c config) name() string { return c.compiler + strings.ReplaceAll(c.flags, " ", "") }

func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// compile builds a program of testdata in dir, each source file by itself, so
// that .dwo files stay beside it.
func compile(t testing.TB, c config, dir string, sources ...string) string {
	t.Helper()
	compiler := c.compiler
	if strings.HasSuffix(sources[0], ".cc") {
		compiler = map[string]string{"gcc": "g++", "clang-14": "clang++-14"}[compiler]
	}
	need(t, compiler)
	src, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	flags := strings.Fields(c.flags)
	for _, s := range sources {
		obj := strings.TrimSuffix(s, filepath.Ext(s)) + ".o"
		run(t, dir, compiler, append(flags, "-c", "-o", obj, filepath.Join(src, s))...)
		objects = append(objects, obj)
	}
	out := filepath.Join(dir, "prog")
	run(t, dir, compiler, append(append(flags, "-o", out, "-Wl,--build-id"), objects...)...)
	return out
}

// shared holds the programs that several tests look at.
var shared struct {
	sync.Mutex
	dir   string
	progs map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// compileOnce is compile in a directory that lasts as long as the tests.
func compileOnce(t testing.TB, c config, sources ...string) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.progs == nil {
		dir, err := os.MkdirTemp("", "objfile")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir, shared.progs = dir, map[string]string{}
	}
	key := c.name() + sources[0]
	if shared.progs[key] == "" {
		dir, err := os.MkdirTemp(shared.dir, "")
		if err != nil {
			t.Fatal(err)
		}
		shared.progs[key] = compile(t, c, dir, sources...)
	}
	return shared.progs[key]
}

var (
	cProgram   = []string{"main.c", "list.c"}
	cxxProgram = []string{"tree.cc"}
)

func open(t testing.TB, path string, o Options) *File {
	t.Helper()
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// codeAddrs returns every step-th address of the program's own functions.
func codeAddrs(f *File, step uint64) (addrs []uint64) {
	for _, fn := range f.Funcs() {
		if fn.File == "" {
			continue
		}
		for _, r := range fn.Ranges {
			for a := r[0]; a < r[1]; a += step {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// digest writes down everything that the debug information answers, so that
// two files with the same information in different forms can be compared.
func digest(f *File) string { return digestOf(f, true) }

// digestOf leaves out locations that depend on location lists if places is false.
func digestOf(f *File, places bool) string {
	var b strings.Builder
	for _, fn := range f.Funcs() {
		fmt.Fprintf(&b, "func %s %s %x %x %s:%d %v\n", fn.Name, fn.Linkage, fn.Addr, fn.Ranges, fn.File, fn.Line, fn.NoReturn)
		for _, v := range f.Params(fn.Addr) {
			fmt.Fprintf(&b, "  param %s %s %v\n", v.Name, spellType(v.Type, 0), v.Loc)
		}
		if t := f.ReturnType(fn.Addr); t != nil {
			fmt.Fprintf(&b, "  returns %s\n", spellType(t, 0))
		}
	}
	for _, a := range codeAddrs(f, 7) {
		fmt.Fprintf(&b, "%x %v\n", a, f.Frames(a))
		for _, v := range f.Variables(a) {
			if !places {
				v.Loc = Location{}
			}
			fmt.Fprintf(&b, "  var %d %s %s %v %v %s:%d\n", v.Frame, v.Name, spellType(v.Type, 0), v.Param, v.Loc, v.File, v.Line)
		}
	}
	for _, v := range f.Globals() {
		fmt.Fprintf(&b, "global %s %s %v %s:%d\n", v.Name, spellType(v.Type, 0), v.Loc, v.File, v.Line)
	}
	for _, name := range f.Universe().Names() {
		if strings.HasPrefix(name, "__") || strings.HasPrefix(name, "std::") {
			continue // compilers keep more or fewer unused ones
		}
		fmt.Fprintf(&b, "type %s", name)
		for _, t := range f.Universe().Lookup(name) {
			fmt.Fprintf(&b, " %s", spellType(t, 3))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
