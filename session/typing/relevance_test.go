package typing

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/inline/matter"
	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

const program = `
#include <stdlib.h>
struct base { int kind; };
struct text { struct base is; long length; };
struct node { struct base is; struct node *next; struct base *up; struct text *text; char *name; };
struct node *two(struct node **other) { *other = malloc(sizeof **other); return malloc(sizeof **other); }
int main(void) { struct node *n, *m = two(&n); m->next = n; m->text = calloc(1, sizeof *m->text); return 0; }
`

// build compiles the program.
func build(t *testing.T) *objfile.File {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(exe+".c", []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O0", "-g", "-o", exe, exe+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := objfile.Open(exe, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// specified checks a specification against a program.
func specified(t *testing.T, f *objfile.File, text string) (*check.Spec, *symbol.Table) {
	t.Helper()
	sources := &symbol.Sources{}
	spec := graphtest.Spec(t, text, &symbol.Program{Objs: []*objfile.File{f}, Paths: []string{f.Path()}, Sources: sources})
	image := symbol.Image{Module: trace.Module{Path: f.Path(), Hi: 1 << 20, Traced: true}, Obj: f}
	return spec, symbol.New([]symbol.Image{image}, sources)
}

// TestReads: blocks matter that a specification reads through pointers, and not those of
// which it only asks whether they are nodes, and which.
func TestReads(t *testing.T) {
	f := build(t)
	const attribute = "type node edges (next, up);\nnode.DEPTH;\nnode X; X.DEPTH = (X.next).DEPTH + 1;\n"
	for constraint, want := range map[string]string{
		"(X.next).DEPTH == X.DEPTH - 1": "node",
		"X.up == NULL or X.up == X":     "node",
		"X.next == X.up":                "node base",
		"X.next.up == X":                "node",
		"X.up.kind == 0":                "node base",
		"X.text == NULL":                "node",
		"X.text.length > 0":             "node text",
		"X.text == X.next.text":         "node text",
	} {
		spec, _ := specified(t, f, attribute+"node X; "+constraint+";\n")
		r := &Relevance{}
		r.ofTypes(spec)
		r.ofReads(spec)
		var got []string
		for _, x := range r.types {
			got = append(got, x.Name)
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("%s: %s matter, not %s", constraint, have, want)
		}
	}
}

// TestNamedCode: of a rule that numbers a call, the place behind that call counts; of
// another, all of the function.
func TestNamedCode(t *testing.T) {
	f := build(t)
	all, symbols := specified(t, f, "type node;\nalloc node at two;\n")
	m, ok := MatterTo(all, &trace.Program{}, symbols, nil)
	if !ok || len(m.Named) != 1 || !m.Only {
		t.Fatalf("%v %v", m, ok)
	}
	two := m.Named[0]
	var calls []uint64
	for _, number := range []string{"1", "2"} {
		spec, symbols := specified(t, f, "type node;\nalloc node at two call "+number+";\n")
		m, ok := MatterTo(spec, &trace.Program{}, symbols, nil)
		if !ok || len(m.Named) != 1 || m.Named[0].Hi != m.Named[0].Lo+1 {
			t.Fatalf("call %s: %v %v", number, m, ok)
		}
		calls = append(calls, m.Named[0].Lo)
	}
	if !slices.IsSorted(calls) || calls[0] == calls[1] || calls[0] < two.Lo || calls[1] >= two.Hi {
		t.Errorf("calls return to %x, in %x", calls, two)
	}
	// A library that may come has such a function, or has none.
	other, err := objfile.Open("/proc/self/exe", objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for lib, want := range map[*objfile.File]bool{f: false, other: true} {
		if _, ok := MatterTo(all, &trace.Program{}, symbols, []symbol.Image{{Module: trace.Module{Traced: true}, Obj: lib}}); ok != want {
			t.Errorf("with %s to come: %v", lib.Path(), ok)
		}
	}
}

// TestHeed: the engine is told what frames say when there was much that does not matter, of all that was seen by then, and at once after that;
// at once in any case where nodes are made of what lies in blocks.
func TestHeed(t *testing.T) {
	type block struct {
		ret  trace.Addr
		size uint64
	}
	for _, c := range []struct {
		name     string
		patience uint64
		blocks   []block
		want     []uint64
	}{
		{"little", 100, []block{{1, 60}, {2, 1000}, {1, 39}}, nil},
		{"much", 100, []block{{1, 60}, {2, 1000}, {1, 40}}, []uint64{1, 2}},
		{"one that is large", 100, []block{{2, 1000}, {1, 5000}}, []uint64{2, 1}},
		{"then at once, and once", 100, []block{{1, 100}, {3, 8}, {3, 8}, {1, 8}}, []uint64{1, 3}},
		{"blocks that matter", 100, []block{{2, 1000}, {2, 1000}}, nil},
		{"of no size", 2, []block{{1, 0}, {3, 0}}, []uint64{1, 3}},
		{"when it has to be", 100, []block{{1, 8}, {2, 8}, {}, {3, 8}}, []uint64{1, 2, 3}},
		{"at once", 0, []block{{1, 8}, {2, 8}}, []uint64{1, 2}},
	} {
		r := &Relevance{patience: c.patience, stacks: map[*trace.Addr]bool{}, frames: map[trace.Addr]matter.Frame{
			1: {Ret: 1, Says: matter.Closed}, 2: {Ret: 2, Says: matter.Open}, 3: {Ret: 3, Says: matter.Closed},
		}}
		stacks := map[trace.Addr][]trace.Addr{1: {1}, 2: {2}, 3: {3}} // interned
		var told []uint64
		for _, b := range c.blocks {
			r.Heed(stacks[b.ret], b.size, func(f matter.Frame) bool { told = append(told, f.Ret); return true })
		}
		if !slices.Equal(told, c.want) {
			t.Errorf("%s: %d told, want %d", c.name, told, c.want)
		}
	}
}
