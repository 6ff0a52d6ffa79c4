package check

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

var update = flag.Bool("update", false, "rewrite golden files")

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fakeProgram is a program described by C declarations.
type fakeProgram struct {
	*types.Decls
	u         *types.Universe
	funcs     []string
	globals   []Variable
	locals    []LocalVariable
	lines     map[string]int // files with their number of lines, all with code but line 1
	marks     []Mark
	libraries map[string]string // of functions that no traced file has
	removed   map[string]int    // functions without code, by the line that defines each
	renamed   map[string]otherName
}

// otherName is what a macro makes of a function's name, and where that is defined.
type otherName struct {
	line int
	as   string
}

const programTypes = `
enum color { RED, BLACK };
struct list_head { struct list_head *next, *prev; };
struct rb { int key; enum color color; struct rb *left, *right; unsigned long parent; };
struct node { int value; struct node *next; };
typedef struct node *nodeptr;
struct task { int pid; struct list_head link; struct node *owner; void *data; char *name; };
struct slot { struct node *n; int k; };
struct wide { unsigned long size; unsigned n; int bit : 1; unsigned ubit : 1; _Bool leaf; double d; union { int i; struct node *p; } u;
              struct slot slots[4]; struct node *grid[2][3]; struct rb inner; struct node *tail[]; };
struct list { struct node *head; int count; struct node dummy; };
`

func newProgram(t *testing.T) *fakeProgram {
	t.Helper()
	u := types.NewUniverse(nil)
	d := types.NewDecls(u)
	if _, errs := d.Parse(programTypes); len(errs) > 0 {
		t.Fatal(errs)
	}
	d.Link()
	ptr := func(t *types.Type) *types.Type { return &types.Type{Kind: types.Pointer, Size: 8, Elem: t} }
	array := func(n int64, t *types.Type) *types.Type {
		return &types.Type{Kind: types.Array, Size: n * t.Size, Count: n, Elem: t}
	}
	return &fakeProgram{Decls: d, u: u,
		funcs: []string{"insert", "insert.isra.0", "remove_node", "std::map<int, int>::insert(int)", "pool_get", "pool_put"},
		globals: []Variable{
			{Name: "head", File: "/src/a.c", Type: ptr(d.Lookup("node")), Addr: 0x4010, Size: 8},
			{Name: "head", File: "/src/b.c", Type: ptr(d.Lookup("node")), Addr: 0x4018, Size: 8},
			{Name: "list", File: "/src/a.c", Type: d.Lookup("list"), Addr: 0x4020, Size: 32},
			{Name: "tasks", File: "/src/a.c", Type: d.Lookup("list_head"), Addr: 0x4040, Size: 16},
			{Name: "rb_nil", File: "/src/a.c", Type: d.Lookup("rb"), Addr: 0x4050, Size: 32},
			{Name: "rows", File: "/src/b.c", Type: &types.Type{Kind: types.Array, Size: 32, Count: 4, Elem: ptr(d.Lookup("node"))}, Addr: 0x4078, Size: 32},
			{Name: "start", File: "/src/b.c", Type: ptr(&types.Type{Kind: types.Void}), Addr: 0x4070, Size: 8},
			{Name: "pool", File: "/src/b.c", Type: array(3, array(2, d.Lookup("rb"))), Addr: 0x5000, Size: 6 * d.Lookup("rb").Size},
			{Name: "lone", File: "/src/b.c", Type: d.Lookup("wide"), Addr: 0x7000, Size: d.Lookup("wide").Size},
			{Name: "wides", File: "/src/b.c", Type: array(5, d.Lookup("wide")), Addr: 0x6000, Size: 5 * d.Lookup("wide").Size},
		},
		locals: []LocalVariable{
			{Func: "insert", Name: "top", Type: d.Lookup("rb"), Entry: 0x1000, Offset: -64, Size: 32},
			{Func: "insert", Name: "spare", Type: d.Lookup("rb"), Entry: 0x1000, Offset: -96, Size: 32},
			{Func: "pool_get", Name: "spare", Type: d.Lookup("node"), Entry: 0x1100, Offset: -64, Size: 32},
			{Func: "pool_get", Name: "moved", Type: d.Lookup("node"), Why: "it moves"},
			{Func: "pool_get", Name: "plain", Type: d.Lookup("list_head"), Entry: 0x1100, Offset: -80, Size: 16},
		},
		libraries: map[string]string{"g_slice_alloc": "libglib-2.0.so"},
		removed:   map[string]int{"verify": 12, "Tree::verify": 12},
		renamed:   map[string]otherName{"purge": {20, "list_purge"}},
		lines:     map[string]int{"/src/a.c": 50, "/src/b.c": 10},
		marks:     []Mark{{"/src/a.c", 24, "node"}, {"/src/a.c", 30, ""}, {"/src/b.c", 3, "nod"}},
	}
}

func (p *fakeProgram) LookupType(name string) []*types.Type { return p.u.Lookup(name) }
func (p *fakeProgram) TypeNames() []string                  { return p.u.Names() }
func (p *fakeProgram) Const(name string) (int64, bool)      { return p.u.Const(name) }
func (p *fakeProgram) FuncNames() []string                  { return p.funcs }
func (p *fakeProgram) Marks() []Mark                        { return p.marks }
func (p *fakeProgram) LibraryOf(name string) string         { return p.libraries[name] }
func (p *fakeProgram) Defined(name string) (string, int, string) {
	return "list.c", p.removed[name] + p.renamed[name].line, p.renamed[name].as
}

func (p *fakeProgram) LookupFunc(pattern string) (found []string) {
	for _, f := range p.funcs {
		if f == pattern || strings.HasPrefix(f, pattern+".") || strings.HasPrefix(f, pattern+"(") {
			found = append(found, f)
		}
	}
	return found
}

func (p *fakeProgram) LookupGlobal(file, name string) (found []Variable) {
	for _, g := range p.globals {
		if g.Name == name && strings.HasSuffix(g.File, file) {
			found = append(found, g)
		}
	}
	return found
}

func (p *fakeProgram) LookupLocal(pattern, name string) (found []LocalVariable) {
	for _, l := range p.locals {
		if (l.Func == pattern || strings.HasPrefix(l.Func, pattern+"<")) && l.Name == name {
			found = append(found, l)
		}
	}
	return found
}

func (p *fakeProgram) LocalNames(pattern string) (names []string) {
	for _, l := range p.locals {
		if l.Func == pattern {
			names = addOnce(names, l.Name)
		}
	}
	return names
}

func (p *fakeProgram) Inlined(pattern string) (into, file string, line int) {
	if pattern == "folded" {
		return "main", "/src/a.c", 7
	}
	return "", "", 0
}

func (p *fakeProgram) Scattered(name string) bool { return name == "scattered" }

func (p *fakeProgram) GlobalNames() (names []string) {
	for _, g := range p.globals {
		names = addOnce(names, g.Name)
	}
	return names
}

func (p *fakeProgram) Files() []string { return []string{"/src/a.c", "/src/b.c"} }

func (p *fakeProgram) HasLine(file string, line int) (bool, int) {
	for f, n := range p.lines {
		if strings.HasSuffix(f, "/"+file) {
			if line > 1 && line <= n {
				return true, line
			}
			if line > n {
				n = 0
			}
			return false, n
		}
	}
	return false, 0
}

func parse(t *testing.T, name, src string) *syntax.File {
	t.Helper()
	f, errs := syntax.Parse(name, src)
	for _, e := range errs {
		t.Error(e.Format(src))
	}
	return f
}

var expectation = regexp.MustCompile(`### "(.*)"$`)

// TestErrors checks the chunks of a file against the fake program, or alone if
// the file is called alone.cons: errors and warnings must be those that the
// lines announce.
func TestErrors(t *testing.T) {
	for _, name := range []string{"errors.cons", "alone.cons"} {
		line := 1
		for _, chunk := range strings.Split(read(t, "testdata/"+name), "\n---\n") {
			src := strings.Repeat("\n", line-1) + chunk // real line numbers
			line += strings.Count(chunk, "\n") + 2
			var prog Program
			if name == "errors.cons" {
				p := newProgram(t)
				p.marks = nil
				prog = p
			}
			spec, errs := Check(parse(t, name, src), prog)
			expectErrors(t, src, append(errs, spec.Warnings...))
		}
	}
}

func expectErrors(t *testing.T, src string, errs []syntax.Error) {
	t.Helper()
	want := map[int]*regexp.Regexp{}
	met := map[int]bool{}
	for i, text := range strings.Split(src, "\n") {
		if m := expectation.FindStringSubmatch(text); m != nil {
			want[i+1] = regexp.MustCompile(m[1])
		}
	}
	for _, e := range errs {
		text := e.Msg
		if e.Warning {
			text = "warning: " + text
		}
		re := want[e.Pos.Line]
		if re == nil || !re.MatchString(text) {
			t.Errorf("unexpected: %s", e.Format(src))
		}
		met[e.Pos.Line] = true
	}
	for n, re := range want {
		if met[n] {
			continue
		}
		t.Errorf("line %d: no error matches %q", n, re)
	}
}

// TestSpecs: every specification of testdata/specs is right by itself, or needs
// the program for what it says it needs.
func TestSpecs(t *testing.T) {
	files, err := filepath.Glob("../../testdata/specs/*.cons")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d specifications: %v", len(files), err)
	}
	needsProgram := map[string]bool{"std-map.cons": true, "std-list.cons": true}
	for _, path := range files {
		src := read(t, path)
		spec, errs := Check(parse(t, path, src), nil)
		if needsProgram[filepath.Base(path)] {
			continue
		}
		for _, e := range errs {
			t.Error(e.Format(src))
		}
		for _, w := range spec.Warnings {
			if !strings.Contains(w.Msg, "together with the program") && !strings.Contains(w.Msg, "is not used; it is ignored") {
				t.Error(w.Format(src))
			}
		}
	}
}

// TestGolden dumps what the forms of testdata/forms.cons mean.
func TestGolden(t *testing.T) {
	src := read(t, "testdata/forms.cons")
	spec, errs := Check(parse(t, "forms.cons", src), newProgram(t))
	for _, e := range errs {
		t.Error(e.Format(src))
	}
	got := dump(spec)
	if *update {
		if err := os.WriteFile("testdata/forms.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, "testdata/forms.golden"), got); diff != "" {
		t.Error(diff)
	}
}

func TestRequirements(t *testing.T) {
	src := `type node; type task; global list;
cpoint insert, a.c:24, remove_node:exit:each for node;
enter task at insert(1); leave task at pool_put(2);
alloc node at a.c:7, pool_get; allocator pool_get(size=2) frees pool_put(1);`
	spec, errs := Check(parse(t, "x", src), newProgram(t))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	r := Requirements(spec)
	if diff := cmp.Diff([]string{"insert", "remove_node", "pool_put"}, r.Funcs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Line{{"a.c", 24}}, r.Lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pool_get"}, r.AllocFuncs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Line{{"a.c", 7}}, r.AllocLines); diff != "" {
		t.Error(diff)
	}
	if len(r.Globals) != 1 || len(r.Allocators) != 1 || r.Allocators[0].FreeArg != 1 {
		t.Errorf("%+v", r)
	}
}

// FuzzCheck: no panic whatever parses.
func FuzzCheck(f *testing.F) {
	for _, path := range []string{"testdata/forms.cons", "testdata/errors.cons", "../syntax/testdata/forms.cons"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, _ := syntax.Parse("f", src)
		Check(file, nil)
		spec, errs := Check(file, newProgram(t))
		Requirements(spec)
		if len(errs) == 0 {
			dump(spec)
		}
	})
}

// TestHuge: layouts of absurd size cost little.
func TestHuge(t *testing.T) {
	src := `struct e { int a; struct e *p[7000]; };
struct f { int b; struct e q[5000]; union { struct e *u[1000]; struct f *v[1000]; } x; };
type e; type f;
f X;  X.q[3].p[7] != NULL and X[1234568] != NULL;`
	spec, errs := Check(parse(t, "x", src), nil)
	if len(errs) != 1 || !strings.Contains(errs[0].Msg, "more than 4096 pointers that lie apart") {
		t.Error(errs)
	}
	if len(spec.Types) != 2 || len(spec.Types[0].Edges) != 1 || spec.Types[0].Edges[0].Count != 7000 || len(spec.Constraints) != 1 {
		t.Errorf("%+v", spec.Types[0])
	}
}

// TestOnlyDeclared: of a member's type the program has the name alone.
func TestOnlyDeclared(t *testing.T) {
	p := newProgram(t)
	wide := p.LookupType("wide")[0]
	wide.Members = append(wide.Members, types.Member{Name: "text", Offset: wide.Size, Type: &types.Type{Kind: types.Opaque, Name: "std::string", Size: -1}})
	_, errs := Check(parse(t, "text.cons", "type wide; wide X; X.text == 1;"), p)
	if len(errs) != 1 || !strings.Contains(errs[0].Msg, "`X.text` is std::string, of which only the name is known") {
		t.Errorf("got %v", errs)
	}
}

// What nobody wrote is no help to who misspelt an object.
func TestGlobalHint(t *testing.T) {
	made := []string{"__abi_tag", "completed.0", "_head"}
	for name, want := range map[string]string{"at": "", "_hed": "; did you mean `_head`?"} {
		if got := globalHint(name, made); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got, want := globalHint("at", append(made, "list")), "; there is list"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
