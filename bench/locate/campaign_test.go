package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mgtrace/doctor"
)

func subjects(t *testing.T) []*subject {
	t.Helper()
	var out []*subject
	for _, name := range slices.Concat(programs, others) {
		s, err := readSubject("programs", "programs", name)
		if err != nil {
			t.Fatal(err)
		}
		if s.dir, err = filepath.Abs(s.dir); err != nil {
			t.Fatal(err)
		}
		s.workload = s.dir
		s.spec = filepath.Join(s.dir, name+".cons")
		out = append(out, s)
	}
	return out
}

// TestParse: what a mutation must understand of a program.
func TestParse(t *testing.T) {
	s := parse(`struct n { int key, size; enum colour { RED } ; struct n *next, *child[3]; };
static void f(struct n *a, int k)
{
	struct n *b = g(a, 1), *c;
	if (k)
		a->next = b; /* one */
	else
		c->child[k + 1]->next = a->next;
	for (int i = 0; i < 3; i++) {
		a->child[i] = NULL;
		a->size++;
	}
	return;
}
/* The judge's own view */
static void check(struct n *a) { a->next = a; }
`)
	if len(s.funcs) != 1 || s.funcs[0].name != "f" {
		t.Fatalf("functions: %+v", s.funcs)
	}
	f := &s.funcs[0]
	if got := strings.Join(sorted(f.pointers), " "); got != "a b c" {
		t.Errorf("pointers: %s", got)
	}
	var got []string
	for _, x := range s.stores(f) {
		got = append(got, s.code(x.left, x.base)+"|"+x.field.name+"|"+x.sign+"|"+s.code(x.rhsFrom, x.rhsTo))
	}
	want := []string{"a|next|=|b", "c->child[k + 1]|next|=|a->next", "a|child|=|NULL", "a|size|++|"}
	if !slices.Equal(got, want) {
		t.Errorf("stores %q, want %q", got, want)
	}
}

// TestForeign: C as others write it, with typedefs, structures without tags, prefixes, switches and labels.
func TestForeign(t *testing.T) {
	s := parse(`#include <stdlib.h>
typedef struct _node Node;
typedef struct { Node *first, *last; union { int count; void *other; }; int (*compare)(int, int); } List;
typedef enum { A = 0, B } Kind;
struct _node { Node *next; Kind kind; List inner; };
typedef struct _node *NodeRef;
static Node *f(List *l, NodeRef a)
{
	Node *b = (Node *) malloc(sizeof(Node)), *c;
	unsigned int n = 0;
	++l->count;
	(b->next)->next = a;
	switch (n) {
	case 0:
		a->inner.first = b;
		break;
	default:
		goto out;
	}
	a->kind = B;
out:
	return b;
}
`)
	f := &s.funcs[0]
	if got := strings.Join(sorted(f.pointers), " "); got != "a b c l" {
		t.Errorf("pointers: %s", got)
	}
	var got []string
	for _, x := range s.stores(f) {
		got = append(got, s.code(x.left, x.base)+"|"+x.field.in+"."+x.field.name+"|"+x.sign+"|"+s.code(x.rhsFrom, x.rhsTo))
	}
	want := []string{"l|List.count|++|", "(b->next)|_node.next|=|a", "a->inner|List.first|=|b", "a|_node.kind|=|B"}
	if !slices.Equal(got, want) {
		t.Errorf("stores %q, want %q", got, want)
	}
	if names := s.enums["Kind"]; !slices.Equal(names, []string{"A", "B"}) {
		t.Errorf("enumerators %q", names)
	}
	i := slices.IndexFunc(f.stmts, func(st statement) bool { return st.line == 20 })
	if got, want := s.around(f, f.stmts[i]), []int{12, 13, 15, 16, 22}; !slices.Equal(got, want) {
		t.Errorf("around line 20: %v, want %v", got, want)
	}
	m := &mutant{}
	if is := m.apply(s); !strings.HasPrefix(is, "#include <stdlib.h>\nextern int") {
		t.Errorf("the mutant begins with %q", is[:40])
	}
}

// TestAround: what may run next to a statement, two away at most, on the lines that follow
// from 3.
func TestAround(t *testing.T) {
	s := parse(`static void f(struct n *a, struct n *b)
{
	a->x = 1;
	a->y = 1;
	if (!b)
		a->z = 1;
	else if (a == b)
		a->z = 2;
	else
		a->z = 3;
	if (a)
		a->z = 4;
	while (b) {
		b = b->next;
		if (b->x)
			break;
		b->y = 1;
	}
	do {
		a->x = 2;
	} while (a->x != 2);
	return;
}
`)
	f := &s.funcs[0]
	for _, c := range []struct {
		line int
		want []int
	}{
		{3, []int{4, 5}},
		{8, []int{5, 7, 11, 12, 13}},
		{17, []int{13, 14, 15, 20}},
		{20, []int{11, 12, 13, 15, 16, 17, 21, 22}},
	} {
		i := slices.IndexFunc(f.stmts, func(st statement) bool { return st.line == c.line && st.kind != controlStmt })
		if got := s.around(f, f.stmts[i]); !slices.Equal(got, c.want) {
			t.Errorf("around line %d: %v, want %v", c.line, got, c.want)
		}
	}
}

// TestArm: a mutant that errs later has the right statement too.
func TestArm(t *testing.T) {
	for _, c := range []struct{ template, condition, want string }{
		{"⟦a = b;⟧a = c;⟧", "", "{ a = b; }"},
		{"⟦a = b;⟧a = c;⟧", "ready", "{ if (ready) { a = b; } else { a = c; } }"},
		{"⟪!(x)⟫x⟫", "", "!(x)"},
		{"⟪!(x)⟫x⟫", "ready", "((ready) ? (!(x)) : (x))"},
	} {
		if got := arm(c.template, c.condition); got != c.want {
			t.Errorf("%s armed with %q: %s, want %s", c.template, c.condition, got, c.want)
		}
	}
}

// TestMutants: every kind of fault is made, and no line moves.
func TestMutants(t *testing.T) {
	made := map[string]int{}
	for i, s := range subjects(t) {
		shop := newWorkshop(s.source, uint64(i))
		for _, k := range kinds {
			made[k] += len(shop.all[k])
			if len(shop.all[k]) == 0 {
				continue
			}
			m := shop.all[k][0]
			shop.arm(m)
			text := m.apply(s.source)
			if strings.Count(text, "\n") != strings.Count(s.source.text, "\n") {
				t.Errorf("%s, %s at line %d: lines move", s.name, k, m.Line)
			}
		}
	}
	for _, k := range kinds {
		if made[k] == 0 {
			t.Errorf("no mutant of the kind %q", k)
		}
	}
}

func TestSpectrum(t *testing.T) {
	// Line 3 is executed by the run that fails only, 1 and 2 by all.
	s := &spectrum{fail: map[int]int{1: 1, 2: 1, 3: 1}, pass: map[int]int{1: 9, 2: 9, 4: 1}, failed: 1, passed: 9}
	is := func(want int) func(int) bool { return func(l int) bool { return l == want } }
	for _, score := range []func(int) float64{s.tarantula, s.ochiai} {
		for line, want := range map[int]float64{3: 1, 1: 2.5, 2: 2.5, 4: 0} {
			if got := s.examine(score, is(line)); got != want {
				t.Errorf("line %d: %g statements, want %g", line, got, want)
			}
		}
	}
}

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
}

// TestCampaign: a short campaign, with every second structure. Mutants are found, and of half of them at least
// the true statement is named; the programs as they are are accused of nothing.
func TestCampaign(t *testing.T) {
	needCompiler(t)
	for _, f := range doctor.Check() {
		if f.Required && !f.OK {
			t.Skipf("%s: %s", f.Name, f.Detail)
		}
	}
	if testing.Short() {
		t.Skip("compiles and runs dozens of programs")
	}
	bin := filepath.Join(t.TempDir(), "mgtrace")
	if text, err := exec.Command("go", "build", "-o", bin, "mgtrace/cmd/mgtrace").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	c := &campaign{
		Seed: 3, Mutants: 1, Base: 40, Operations: 30, Levels: []string{"-O0"},
		binary: bin, dir: t.TempDir(), engine: "inline", workers: 2, log: t.Logf,
	}
	var all []*subject
	for i, p := range subjects(t) {
		if i%2 == 0 {
			all = append(all, p)
		}
	}
	outcomes, err := c.all(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	found, named, refused := 0, 0, 0
	for _, o := range outcomes {
		if len(o.Trials) != c.Mutants {
			t.Errorf("%s: %d mutants break something", o.Program, len(o.Trials))
		}
		refused += o.Refused
		for _, x := range o.Trials {
			for _, r := range x.Runs {
				if r.Found {
					found++
				}
				if r.Rank > 0 {
					named++
				}
			}
		}
	}
	if refused > len(all)*c.Mutants {
		t.Errorf("%d mutants do not compile", refused)
	}
	if found < len(all) || 2*named < found {
		t.Errorf("%d mutants were found, and %d named", found, named)
	}
	n, accused, err := c.healthy(ctx, all, []string{"inline"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n != len(all) || len(accused) > 0 {
		t.Errorf("%d healthy runs, accused: %+v", n, accused)
	}
	c.print(&strings.Builder{}, outcomes)
}

// TestJudge: the judge finds what is broken, and nothing in what is not.
func TestJudge(t *testing.T) {
	needCompiler(t)
	s := subjects(t)[1]
	w := workload{1, 30, 20}
	for _, c := range []struct {
		name, was, is string
		broken        bool
		memory        string
	}{
		{"as it is", "", "", false, ""},
		{"count", "l->length--;", ";", true, ""},
		{"bounds", "e->next = NULL;", "e[1].next = NULL;", true, "heap-buffer-overflow WRITE"},
	} {
		dir := t.TempDir()
		text := s.source.text
		if c.was != "" {
			text = strings.Replace(text, c.was, c.is, 1)
		}
		if err := s.write(dir, text); err != nil {
			t.Fatal(err)
		}
		v, err := s.judge(t.Context(), dir, overrun, w)
		if err != nil {
			t.Fatal(err)
		}
		if v.broken() != c.broken || v.Memory != c.memory {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	if _, err := os.Stat(s.spec); err != nil {
		t.Error(err)
	}
}
