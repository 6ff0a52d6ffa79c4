package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrors(t *testing.T) {
	prog := read(t, compileOnce(t, judged[0], cProgram...))
	changed := func(at int, b ...byte) []byte {
		c := bytes.Clone(prog)
		copy(c[at:], b)
		return c
	}
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, ErrNotELF},
		{"script", []byte("#!/bin/sh\necho a long enough script\n"), ErrNotELF},
		{"cut", prog[:40], ErrNotELF},
		{"32-bit", changed(4, 1), Err32Bit},
		{"big-endian", changed(5, 2), ErrMachine},
		{"arm", changed(18, 183, 0), ErrMachine},
		{"object", changed(16, 1), ErrNotExecutable},
		{"core", changed(16, 4), ErrNotExecutable},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Open: %v", c.name, err)
		}
		if _, err := Parse(c.name, bytes.NewReader(c.data)); !errors.Is(err, c.want) {
			t.Errorf("%s: Parse: %v", c.name, err)
		}
	}
	if _, err := Open(t.TempDir(), Options{}); !errors.Is(err, ErrNotELF) {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		flags               string
		pie, static, shared bool
	}{
		{"-g -O1", true, false, false},
		{"-g -O1 -no-pie", false, false, false},
		{"-g -O1 -static", false, true, false},
		{"-g -O1 -fPIE -static-pie", true, true, false},
		{"-g -O1 -fPIC -shared", false, false, true},
	} {
		f := open(t, compile(t, config{"gcc", c.flags}, t.TempDir(), cProgram...), Options{})
		if f.PIE() != c.pie || f.Static() != c.static || f.SharedObject() != c.shared {
			t.Errorf("%s: PIE %v, static %v, shared %v", c.flags, f.PIE(), f.Static(), f.SharedObject())
		}
		if len(f.BuildID()) != 40 {
			t.Errorf("%s: build-id %q", c.flags, f.BuildID())
		}
		if !c.static && (!cmp.Equal(f.Needed(), []string{"libc.so.6"}) || !c.shared && !strings.Contains(f.Interp(), "ld-linux")) {
			t.Errorf("%s: needs %v, interpreter %q", c.flags, f.Needed(), f.Interp())
		}
		addressing(t, f)
	}
}

func addressing(t *testing.T, f *File) {
	t.Helper()
	fn := f.FuncsNamed("main")
	if len(fn) != 1 {
		t.Fatalf("main: %v", fn)
	}
	off, ok := f.Offset(fn[0].Addr)
	back, ok2 := f.Vaddr(off)
	if !ok || !ok2 || back != fn[0].Addr {
		t.Errorf("offset %#x of %#x leads back to %#x", off, fn[0].Addr, back)
	}
	raw := read(t, f.Path())
	if code := f.Code(fn[0].Addr, 8); !bytes.Equal(code, raw[off:off+8]) {
		t.Errorf("code %x", code)
	}
	lo, hi := f.LoadRange()
	if lo > fn[0].Addr || hi <= fn[0].Addr {
		t.Errorf("load range %#x to %#x", lo, hi)
	}
	if f.Code(hi+0x10000, 4) != nil {
		t.Error("code beyond the file")
	}
	if _, ok := f.Offset(hi + 0x10000); ok {
		t.Error("offset beyond the file")
	}
	ranges, guessed := f.CodeRanges()
	if guessed || !contains(ranges, fn[0].Addr) {
		t.Errorf("code ranges %x, guessed %v", ranges, guessed)
	}
	for i := 1; i < len(ranges); i++ {
		if ranges[i][0] < ranges[i-1][1] {
			t.Errorf("code ranges overlap: %x", ranges[i-1:i+1])
		}
	}
}

// TestCodeRangesGuessed strips what delimits functions.
func TestCodeRangesGuessed(t *testing.T) {
	need(t, "objcopy")
	out := filepath.Join(t.TempDir(), "bare")
	run(t, "", "objcopy", "--strip-all", "-R", ".eh_frame", "-R", ".eh_frame_hdr", compileOnce(t, judged[1], cProgram...), out)
	data := read(t, out)
	f, err := Parse("bare", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// Imported names in .dynsym are no functions of the file.
	ranges, guessed := f.CodeRanges()
	if !guessed || !contains(ranges, f.Entry()) {
		t.Errorf("ranges %x, guessed %v", ranges, guessed)
	}
	// Section headers gone: segments and PT_GNU_EH_FRAME are all there is.
	whole := read(t, compileOnce(t, judged[1], cProgram...))
	binary.LittleEndian.PutUint64(whole[40:], 0)
	copy(whole[58:64], make([]byte, 6))
	g, err := Parse("no sections", bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if ranges, guessed := g.CodeRanges(); guessed || !contains(ranges, g.Entry()) {
		t.Errorf("without section headers: %x, guessed %v", ranges, guessed)
	}
}

func TestFuncsNamed(t *testing.T) {
	cxx := open(t, compileOnce(t, judged[0], cxxProgram...), Options{})
	fast := open(t, compileOnce(t, judged[1], cxxProgram...), Options{})
	for _, c := range []struct {
		f       *File
		pattern string
		want    []string
	}{
		{cxx, "main", []string{"main"}},
		{cxx, "insert", []string{"insert(Node*, char const*, std::string, int)", "insert(double)"}},
		{cxx, "insert(double)", []string{"insert(double)"}},
		{cxx, "insert( double )", []string{"insert(double)"}},
		{cxx, "insert(Node *, const char *, *, int)", []string{"insert(Node*, char const*, std::string, int)"}},
		{cxx, "insert(float)", nil},
		{cxx, "forest::v1::Tree<*>::insert(*)", []string{"forest::v1::Tree<Node>::insert(Node*)", "forest::v1::Tree<Node>::insert(Node*, int)"}},
		{cxx, "Tree::insert(Node*, int)", []string{"forest::v1::Tree<Node>::insert(Node*, int)"}},
		{cxx, "Tree<Node>::insert(Node*)", []string{"forest::v1::Tree<Node>::insert(Node*)"}},
		{cxx, "weight", []string{"Base::weight() const", "Node::weight() const"}},
		{cxx, "Node::weight() const", []string{"Node::weight() const"}},
		{cxx, "Node::weight()", []string{"Node::weight() const"}},
		{cxx, "local", []string{"(anonymous namespace)::local(int)"}},
		{cxx, "_Z6insertd", []string{"insert(double)"}},
		{cxx, "printf", nil},
		{cxx, "nothing", nil},
		{cxx, "0x10", nil},
		{fast, "insert(double)", []string{"insert(double)"}},
	} {
		var got []string
		for _, fn := range c.f.FuncsNamed(c.pattern) {
			got = append(got, fn.Name)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", c.pattern, d)
		}
	}
	for _, f := range []*File{cxx, fast} {
		if in := f.Inlined("square"); len(in) == 0 && f == fast {
			t.Error("square is not inlined at -O3")
		}
	}
}

// TestLineCode: an address is in the code of a line exactly if one of its frames is there.
func TestLineCode(t *testing.T) {
	for _, c := range judged {
		f := open(t, compileOnce(t, c, cProgram...), Options{})
		inlined := f.Inlined("*")
		for line := range strings.Count(string(read(t, "testdata/list.c")), "\n") + 1 {
			code := f.LineCode("list.c", line)
			for _, fn := range f.Funcs() {
				if fn.File == "" || !strings.HasSuffix(fn.File, "list.c") {
					continue
				}
				for a := fn.Addr; a < fn.Addr+fn.Size; a++ {
					at := slices.ContainsFunc(f.Frames(a), func(fr Frame) bool { return fr.Line == line && strings.HasSuffix(fr.File, "/list.c") })
					in := slices.ContainsFunc(code, func(r [2]uint64) bool { return r[0] <= a && a < r[1] })
					if at != in {
						t.Fatalf("%s: %#x in line %d: %v, its frames say %v", c.name(), a, line, in, at)
					}
				}
			}
			for _, in := range inlined {
				if in.CallLine == line && strings.HasSuffix(in.CallFile, "/list.c") && !slices.Contains(code, in.Ranges[0]) {
					t.Errorf("%s: what is inlined at %#x is not in the code of line %d", c.name(), in.Entry, line)
				}
			}
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range judged {
		f := open(t, compileOnce(t, c, cProgram...), Options{})
		src := strings.Split(string(read(t, "testdata/list.c")), "\n")
		line := 0
		for i, s := range src {
			if strings.Contains(s, "h->owner = l;") {
				line = i + 1
			}
		}
		addrs := f.LineAddrs("list.c", line)
		if len(addrs) == 0 || !cmp.Equal(addrs, f.LineAddrs("testdata/list.c", line)) {
			t.Fatalf("%s: addresses of list.c:%d: %x", c.name(), line, addrs)
		}
		there := false // at some the statement may begin and leave the code to another
		for _, a := range addrs {
			fr := f.Frames(a)
			there = there || fr[0].Line == line
			if _, n := f.LineBefore(a); n == 0 || fr[0].Line != 0 && n != fr[0].Line {
				t.Errorf("%s: %#x is of line %d, and behind %d", c.name(), a, fr[0].Line, n)
			}
			if fr[len(fr)-1].Function != "push" {
				t.Errorf("%s: frames of %#x: %v", c.name(), a, fr)
			}
		}
		if !there {
			t.Errorf("%s: no code of line %d at %x", c.name(), line, addrs)
		}
		if len(f.LineAddrs("ist.c", line)) > 0 || len(f.LineAddrs("list.c", 1)) > 0 {
			t.Error("addresses of other lines")
		}
		if n, ok := f.NearestLine("list.c", 1); !ok || n < 10 {
			t.Errorf("%s: nearest line %d", c.name(), n)
		}
		if _, ok := f.NearestLine("list.c", 10000); ok {
			t.Error("a line beyond the end")
		}
		found := false
		for _, s := range f.SourceFiles() {
			found = found || strings.HasSuffix(s, "/testdata/list.h")
		}
		if !found {
			t.Errorf("%s: source files %v", c.name(), f.SourceFiles())
		}
	}
}

func TestVariablesAndTypes(t *testing.T) {
	for _, c := range judged {
		f := open(t, compileOnce(t, c, cProgram...), Options{})
		u := f.Universe()
		hidden := u.Lookup("hidden")
		list := u.Lookup("list")
		if len(hidden) != 1 || len(list) != 1 || list[0].Name != "list" {
			t.Fatalf("%s: hidden %v, list %v", c.name(), hidden, list)
		}
		// main.c only declares struct hidden: its member leads to the definition.
		if list[0].Members[1].Type.Elem != hidden[0] || hidden[0].Members[1].Type.Elem != list[0] {
			t.Errorf("%s: secret is %s", c.name(), spellType(list[0], 3))
		}
		if v, ok := u.Const("MINUS"); !ok || v != -3 {
			t.Errorf("MINUS = %d, %v", v, ok)
		}
		for _, g := range []struct{ name, file, typ string }{
			{"total", "", "int"}, {"calls", "list.c", "int"}, {"calls", "main.c", "int"}, {"the_list", "", "list"}, {"serial", "list.c", "int"},
		} {
			if g.file == "main.c" && !strings.Contains(c.flags, "-O0") {
				continue // a constant, then
			}
			v, ok := f.Global(g.name, g.file)
			if !ok || v.Type == nil || v.Type.Name != g.typ || v.Loc.Kind != LocStatic || g.file != "" && !strings.HasSuffix(v.File, g.file) {
				t.Errorf("%s: global %s: %+v", c.name(), g.name, v)
			}
			first, last := uint64(v.Loc.Offset), uint64(v.Loc.Offset)+v.Size-1
			for _, at := range []uint64{first, last} {
				if in, ok := f.GlobalAt(at); !ok || !cmp.Equal(in.Loc, v.Loc) || in.Type != v.Type {
					t.Errorf("%s: global %s at %#x: %+v, %v", c.name(), g.name, at, in, ok)
				}
			}
			for _, at := range []uint64{first - 1, last + 1} {
				if in, ok := f.GlobalAt(at); ok && cmp.Equal(in.Loc, v.Loc) {
					t.Errorf("%s: %#x is in %s", c.name(), at, g.name)
				}
			}
		}
		fn := f.FuncsNamed("push")[0]
		var got []string
		for _, p := range f.Params(fn.Addr) {
			got = append(got, p.Name+" "+spellType(p.Type, 0)+" "+registerNames[p.Loc.Reg])
		}
		if want := []string{"l list* rdi", "n int/1/4 rsi", "name char/1/1* rdx"}; !cmp.Equal(got, want) {
			t.Errorf("%s: parameters %v", c.name(), got)
		}
		if r := f.ReturnType(fn.Addr); r == nil || r.Elem == nil || r.Elem.Name != "item" {
			t.Errorf("%s: push returns %v", c.name(), r)
		}
	}
}

// TestParamsOfCopies: a copy of a function for some of its calls has its parameters in their
// order, though gcc tells of those that are not passed first.
func TestParamsOfCopies(t *testing.T) {
	f := open(t, compile(t, config{"gcc", "-g -O3"}, t.TempDir(), "grab.c"), Options{})
	i := slices.IndexFunc(f.Funcs(), func(fn Func) bool { return strings.HasPrefix(fn.Linkage, "grab.constprop") })
	if i < 0 {
		t.Skip("this compiler makes no copy")
	}
	var got []string
	for _, p := range f.Params(f.Funcs()[i].Addr) {
		got = append(got, p.Name)
	}
	if want := []string{"from", "bytes", "zero"}; !slices.Equal(got, want) {
		t.Errorf("parameters %v, want %v", got, want)
	}
	p := f.Params(f.Funcs()[i].Addr)
	if p[1].Loc != (Location{Kind: LocConst, Offset: 32}) || p[2].Loc.Kind != LocReg || p[2].Loc.Reg != 5 {
		t.Errorf("bytes at %+v, zero at %+v", p[1].Loc, p[2].Loc)
	}
}

// TestParamsABI checks the calling convention's places at -O0, where the debug
// information does not have them.
func TestParamsABI(t *testing.T) {
	f := open(t, compileOnce(t, judged[0], cProgram...), Options{})
	var got []string
	for _, p := range f.Params(f.FuncsNamed("mixed")[0].Addr) {
		place := "none"
		switch p.Loc.Kind {
		case LocReg:
			place = "xmm"
			if p.Loc.Reg < 17 {
				place = registerNames[p.Loc.Reg]
			} else {
				place += string(rune('0' + p.Loc.Reg - 17))
			}
		case LocRegOffset:
			place = registerNames[p.Loc.Reg] + "+" + string(rune('0'+p.Loc.Offset/8))
		}
		got = append(got, p.Name+" "+place)
	}
	// rdi is the place of the result; p is in rsi and xmm0.
	want := []string{"p none", "i rdx", "d xmm1", "b rsp+1", "ld rsp+7", "c rcx", "x r8", "y r9", "z rsp+9"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A number that is kept in an integer has no type to say which enumerator is meant: its scope may be left out where
// all that there are of the name are one number.
func TestConstant(t *testing.T) {
	x := &typeIndex{consts: map[string]constant64{}}
	for name, v := range map[string]int64{
		"re::Star": 7, "re::Op::Star": 7, "re::Text": 1, "ui::Text": 2, "Text": 3, "re::Plus": 4, "ui::Plus": 5, "std::__1::relaxed": 6,
	} {
		x.addConst(name, v)
	}
	for name, want := range map[string]int64{"Star": 7, "Op::Star": 7, "Text": 3, "ui::Text": 2, "Plus": -1, "tar": -1, "relaxed": -1} {
		v, ok := x.constant(name)
		if ok = ok && !v.ambiguous; ok != (want >= 0) || ok && v.v != want {
			t.Errorf("%s is %d, %v; %d was expected", name, v.v, ok, want)
		}
	}
}

func TestCXXTypes(t *testing.T) {
	for _, c := range judged {
		f := open(t, compileOnce(t, c, cxxProgram...), Options{})
		u := f.Universe()
		for _, name := range []string{"Node", "class Node", "forest::Tree<Node>", "forest::v1::Tree<Node>", "Color", "Node::Inner"} {
			if len(u.Lookup(name)) != 1 {
				t.Errorf("%s: %s: %d types", c.name(), name, len(u.Lookup(name)))
			}
		}
		node := u.Lookup("Node")[0]
		if b := node.Members[0]; !b.Base || b.Type.Name != "Base" || !b.Type.Members[0].VTable {
			t.Errorf("%s: %s", c.name(), spellType(node, 2))
		}
		for name, want := range map[string]int64{"Color::Red": -1, "Red": -1, "Node::Right": 1, "Right": 1} {
			if v, ok := u.Const(name); !ok || v != want {
				t.Errorf("%s = %d, %v", name, v, ok)
			}
		}
		for _, name := range []string{"Node::nil", "Node::count", "forest::counter", "table", "secret"} {
			if name == "secret" && !strings.Contains(c.flags, "-O0") {
				continue // a constant, then
			}
			if v, ok := f.Global(name, ""); !ok || v.Type == nil {
				t.Errorf("%s: global %s: %+v, %v", c.name(), name, v, ok)
			}
		}
	}
	f := open(t, compileOnce(t, judged[0], cxxProgram...), Options{})
	m := f.Universe().Lookup("std::map<int, int>")
	tree := f.Universe().Lookup("std::_Rb_tree_node<std::pair<const int, int>>")
	if len(m) != 1 || m[0].Size != 48 || len(tree) != 1 || tree[0].Size != 40 {
		t.Errorf("std::map is %v, its node %v", m, tree)
	}
	if second, err := tree[0].Find("_M_storage.second"); err != nil || second.Offset != 36 || second.Type.Name != "int" {
		t.Errorf("what a std::map's node holds: %+v, %v", second, err)
	}
	if link := f.Universe().Lookup("std::_List_node<point>"); len(link) != 1 {
		t.Errorf("%d types of a std::list's node", len(link))
	} else if y, err := link[0].Find("_M_storage.y"); err != nil || y.Offset != 20 {
		t.Errorf("what a std::list's node holds: %+v, %v", y, err)
	}
}

// TestTypeNames looks types up by names that lack their scopes: that is the type, anonymous
// namespaces or not, unless there are several.
func TestTypeNames(t *testing.T) {
	for _, c := range judged {
		u := open(t, compile(t, c, t.TempDir(), "names.cc"), Options{}).Universe()
		for name, want := range map[string]int{
			"Entry": 1, "store::Entry": 1, "store::(anonymous namespace)::Entry": 1,
			"Twice": 0, "store::Twice": 1, "other::Twice": 1,
		} {
			if got := u.Lookup(name); len(got) != want {
				t.Errorf("%s: %s: %d types, want %d", c.name(), name, len(got), want)
			}
		}
	}
}

// TestUniverseOneType expects one type for a structure that two units define.
func TestUniverseOneType(t *testing.T) {
	for _, flags := range []string{"-g -gdwarf-4 -fdebug-types-section", "-g -gdwarf-5 -fdebug-types-section", "-g -flto -O2"} {
		f := open(t, compile(t, config{"gcc", flags}, t.TempDir(), cProgram...), Options{})
		item := f.Universe().Lookup("struct item")
		if len(item) != 1 || len(item[0].Members) != 8 || item[0].Members[0].Type.Elem != item[0] {
			t.Errorf("%s: %d types of the name item: %v", flags, len(item), item)
		}
	}
}

// TestSystem asks whole programs of the system everything.
func TestSystem(t *testing.T) {
	for _, path := range []string{"/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3"} {
		t.Run(path, func(t *testing.T) {
			f, err := Open(path, Options{})
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			exercise(f)
			if n := len(f.Funcs()); n < 100 {
				t.Errorf("%d functions", n)
			}
			if _, guessed := f.CodeRanges(); guessed {
				t.Error("no functions are delimited")
			}
		})
	}
	if f, err := Open("/lib/x86_64-linux-gnu/libc.so.6", Options{}); err == nil {
		defer f.Close()
		for name, ifunc := range map[string]bool{"malloc": false, "memcpy": true, "strlen": true, "free": false} {
			fn := f.FuncsNamed(name)
			if len(fn) == 0 || fn[0].Name != name || fn[0].IFunc != ifunc {
				t.Errorf("%s: %+v", name, fn)
			}
		}
	}
}

// TestConcurrent asks one file from several goroutines; the race detector judges.
func TestConcurrent(t *testing.T) {
	f := open(t, compileOnce(t, judged[1], cProgram...), Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { exercise(f) })
	}
	wg.Wait()
}

func TestImports(t *testing.T) {
	for _, flags := range []string{"-g -O1", "-g -O1 -no-pie", "-g -O1 -fcf-protection=none -Wl,-z,lazy"} {
		f := open(t, compile(t, config{"gcc", flags}, t.TempDir(), cProgram...), Options{})
		found := map[string]bool{}
		for _, r := range f.symbolTable().plt {
			for a := r[0]; a < r[1]; a += 8 {
				found[f.Import(a)] = true
			}
		}
		for _, name := range []string{"calloc", "malloc", "abort", "qsort"} {
			if !found[name] {
				t.Errorf("%s: no stub of %s among %v", flags, name, found)
			}
		}
		if f.Import(f.Entry()) != "" {
			t.Error("the entry is no stub")
		}
	}
	f := open(t, compileOnce(t, judged[0], cProgram...), Options{})
	if fs := f.FuncsLinked(func(name string) bool { return name == "push" }); len(fs) != 1 || fs[0].Addr != f.FuncsNamed("push")[0].Addr {
		t.Errorf("push: %+v", fs)
	}
}

const throwing = `
#include <string>
#include <vector>
struct guard { int *n; ~guard() { ++*n; } };
int deep(int k);
int clean(int k) { int n = 0; { guard g{&n}; std::string s(k, 'x'); deep(k); } return n; }
int caught(int k) {
	try { return clean(k); }
	catch (int e) { return e; }
	catch (const std::string &s) { return s.size(); }
	catch (...) { std::vector<int> v(k); return deep(v.size()); }
}
int main() { return caught(3); }
`

// TestLandingPads: with -fcf-protection each place to which the unwinder jumps begins
// with ENDBR64, and so do functions, and nothing else does.
func TestLandingPads(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.cc": throwing, "b.cc": "int deep(int k) { if (k > 2) throw k; return k; }"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, flags := range []string{"-O0", "-O2", "-O2 -no-pie -g", "-O2 -ffunction-sections -freorder-blocks-and-partition"} {
		bin := filepath.Join(dir, "a.out")
		args := append(strings.Fields(flags), "-fcf-protection=full", "-o", bin, filepath.Join(dir, "a.cc"), filepath.Join(dir, "b.cc"))
		if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
			t.Skipf("g++: %v\n%s", err, out)
		}
		f, err := Open(bin, Options{})
		if err != nil {
			t.Fatal(err)
		}
		pads := f.LandingPads()
		want := 0
		for _, fn := range f.Funcs() {
			for _, r := range fn.Ranges {
				for a := r[0]; a+4 <= r[1]; a++ {
					if a != fn.Addr && fn.File != "" && bytes.Equal(f.Code(a, 4), []byte("\xf3\x0f\x1e\xfa")) {
						want++
						if !slices.Contains(pads, a) {
							t.Errorf("%s: no landing pad at %#x in %s", flags, a, fn.Name)
						}
					}
				}
			}
		}
		for _, p := range pads {
			if !bytes.Equal(f.Code(p, 4), []byte("\xf3\x0f\x1e\xfa")) {
				t.Errorf("%s: %#x is no landing pad: % x", flags, p, f.Code(p, 4))
			}
		}
		if strings.Contains(flags, "-g") && want < 4 || len(pads) < 4 {
			t.Errorf("%s: %d landing pads found, %d in code with lines", flags, len(pads), want)
		}
		f.Close()
	}
}

// TestImplicit: a function that the compiler has made has no statement, but that of its class; the loop of one that somebody wrote has.
func TestImplicit(t *testing.T) {
	f := open(t, compileOnce(t, judged[0], cxxProgram...), Options{})
	line := func(name string) (implicit, written int) {
		for _, fn := range f.FuncsNamed(name) {
			for addr := fn.Addr; addr < fn.Addr+fn.Size; addr++ {
				switch frames := f.Frames(addr); {
				case len(frames) == 0:
				case frames[0].Implicit:
					implicit = frames[0].Line
				default:
					written++
				}
			}
		}
		return implicit, written
	}
	if at, written := line("Node::~Node()"); at != 16 || written > 0 {
		t.Errorf("a destructor that nobody wrote: at line %d, and %d bytes of statements", at, written)
	}
	if at, written := line("Base::~Base()"); at != 0 || written == 0 {
		t.Errorf("one that somebody wrote: implicit at line %d, %d bytes of statements", at, written)
	}
}
