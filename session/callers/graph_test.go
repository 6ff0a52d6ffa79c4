package callers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

const source = `#include <stdlib.h>
static int *cell;
static void set(int v) { *cell = v; }         // store
static void twice(int v) { set(v); }          // in twice
static int compare(const void *a, const void *b) { set(1); return a < b; } // in compare
void insert(int v) { twice(v); }              // in insert
void change(int v) { twice(v);                // first in change
	if (v) twice(v + 1); }                // second in change
void sort(int *p) { twice(3);                 // in sort
	qsort(p, 2, sizeof *p, compare); }
void through(void (*f)(int)) { f(3); twice(1); }
void again(int v) { if (v) again(v - 1); set(v); } // in again
int main(void) { insert(1); change(2); return 0; }
`

// bias is where a program is said to lie.
const bias = 0x10000

// compiled returns the calls of a program, its debug information, and the file that it is of.
func compiled(t *testing.T, source string, flags ...string) (*Graph, *objfile.File, string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	c, bin := build(t, source, "p", flags...)
	im := mapped(t, bin, bias)
	return New(symbol.New([]symbol.Image{im}, &symbol.Sources{})), im.Obj, c
}

// build compiles a program, or library, of that name.
func build(t *testing.T, source, name string, flags ...string) (c, bin string) {
	t.Helper()
	dir := t.TempDir()
	c, bin = filepath.Join(dir, name+".c"), filepath.Join(dir, name)
	if err := os.WriteFile(c, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", append([]string{"-g", "-o", bin, c}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c, bin
}

// mapped is a traced file that is said to lie there.
func mapped(t *testing.T, path string, bias trace.Addr) symbol.Image {
	t.Helper()
	f, err := objfile.Open(path, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	lo, hi := f.LoadRange()
	return symbol.Image{Module: trace.Module{Path: path, Lo: bias + trace.Addr(lo), Hi: bias + trace.Addr(hi), Bias: bias, Traced: true}, Obj: f}
}

// comments are those of the lines of calls.
func comments(table *symbol.Table, stack []trace.Addr) (out []string) {
	for _, ret := range stack {
		_, _, text := table.Where(ret - 1)
		_, comment, _ := strings.Cut(text, "// ")
		out = append(out, comment)
	}
	return out
}

func TestBetween(t *testing.T) {
	for _, test := range []struct {
		flags, from string
		want        []string // comments of the lines of the calls, innermost first
	}{
		{"-pie -fPIE", "insert", []string{"in twice", "in insert"}},
		{"-pie -fPIE", "set", nil},                     // it is the store's own function
		{"-pie -fPIE", "change", []string{"in twice"}}, // one of two
		{"-pie -fPIE", "sort", nil},                    // by twice, or by who was given compare
		{"-pie -fPIE", "through", nil},                 // the pointer may lead anywhere
		{"-pie -fPIE", "again", []string{"in again"}},  // which of the calls of again is open, nobody knows
		{"-pie -fPIE", "main", []string{"in twice"}},   // insert or change
		{"-no-pie -fno-pie", "insert", nil},            // an address may be any number
		{"-pie -fPIE", "compare", []string{"in compare"}},
	} {
		t.Run(test.flags+" "+test.from, func(t *testing.T) {
			g, f, c := compiled(t, source, append(strings.Fields(test.flags), "-O0")...)
			from, ok := g.symbols.Entry(test.from)
			if !ok {
				t.Fatalf("no function %s", test.from)
			}
			lines := f.LineAddrs(c, 3)
			got := comments(g.symbols, g.Between(from, bias+trace.Addr(slices.Max(lines))))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

const run = `static int *cell, *other, *third;
static void set(int v) { *cell = v; }
static void one(void) {
	*other = 1;
	set(1); }                  // in one
static void two(void) {
	*third = 1;
	set(2); }                  // in two
void change(int v) { if (v) {
	one(); } else {            // one
	two(); } }                 // two
void both(void) {
	one();                     // one
	one(); }                   // one again
void again(int v) {
	*other = v; if (v)
	again(v - 1);              // again
	set(v); }                  // in again
int main(void) { int a, b, c; cell = &a; other = &b; third = &c; change(1); both(); again(2); return 0; }
`

// TestAmong: what else ran tells by which of several calls a function was reached.
func TestAmong(t *testing.T) {
	g, f, c := compiled(t, run, "-pie", "-fPIE", "-O0")
	const cell, other, third = 2, 4, 7 // lines
	for _, test := range []struct {
		from   string
		ran    []int // lines
		i      int
		begins bool
		want   []string
	}{
		{"change", []int{other, cell}, 1, true, []string{"in one", "one"}},
		{"change", []int{third, cell}, 1, true, []string{"in two", "two"}},
		{"change", []int{cell}, 0, true, nil},                                               // other may have hit what is not recorded
		{"change", []int{other, cell}, 1, false, []string{"in one", "one"}},                 // one is called there only
		{"both", []int{other, cell, other, cell}, 3, true, []string{"in one", "one again"}}, // it was called twice
		{"both", []int{other, cell, other, cell}, 1, true, []string{"in one", "one"}},
		{"both", []int{other, cell}, 1, true, []string{"in one"}}, // the first or the second
		{"again", []int{16, 16, cell, cell}, 3, true, []string{"in again"}},
		{"change", []int{16, cell}, 1, true, nil}, // again is not called there
	} {
		var ran [][]trace.Addr
		for _, line := range test.ran {
			ran = append(ran, []trace.Addr{bias + trace.Addr(slices.Max(f.LineAddrs(c, line)))})
		}
		from, ok := g.symbols.Entry(test.from)
		if !ok {
			t.Fatalf("no function %s", test.from)
		}
		_, calls := g.Among(from, Start{Begins: test.begins}, ran, test.i)
		if got := comments(g.symbols, calls); !slices.Equal(got, test.want) {
			t.Errorf("%s, lines %v, the %d-th: %q, want %q", test.from, test.ran, test.i, got, test.want)
		}
	}
}

// TestAmongAsked: which of two calls of a library it was is told by what ran before, and by the calls in which that was.
func TestAmongAsked(t *testing.T) {
	g, f, c := compiled(t, run, "-pie", "-fPIE", "-O0")
	calls := func(in string) []call {
		entry, ok := g.symbols.Entry(in)
		if !ok {
			t.Fatalf("no function %s", in)
		}
		return g.function(entry).calls
	}
	change, _ := g.symbols.Entry("change")
	const other, third = 4, 7 // lines
	at := func(line int) trace.Addr { return bias + trace.Addr(slices.Max(f.LineAddrs(c, line))) }
	one, two := calls("one")[0].at, calls("two")[0].at // those of set, as if that were a library's
	into := calls("change")
	asked := []trace.Addr{one, two}
	for name, test := range map[string]struct {
		start Start
		ran   [][]trace.Addr
		i     int
		want  trace.Addr
	}{
		"nothing else":        {Start{Begins: true}, [][]trace.Addr{asked}, 0, 0},
		"before":              {Start{Begins: true}, [][]trace.Addr{{at(other)}, asked}, 1, one},
		"the other":           {Start{}, [][]trace.Addr{{at(third)}, asked}, 1, two},
		"an allocator called": {Start{Stack: []trace.Addr{1, at(third) + 1, into[1].ret, 1}}, [][]trace.Addr{asked}, 0, two},
		"calls of no use":     {Start{Stack: []trace.Addr{1, at(third) + 1, 1}}, [][]trace.Addr{asked}, 0, 0},
	} {
		if got, _ := g.Among(change, test.start, test.ran, test.i); got != test.want {
			t.Errorf("%s: %#x, want %#x", name, got, test.want)
		}
	}
}

const library = `static struct item { struct item *next; int n; } *head;
static void set(struct item *i) { i->next = head; head = i; }
static void cut(struct item *i) { head = i->next; }
__attribute__((noinline)) void push(struct item *i) { set(i); }
void push_twice(struct item *i) { push(i); push(i); }
void pop(struct item *i) { cut(i); }
`

const user = `struct item;
void push(struct item *), push_twice(struct item *), pop(struct item *);
static void helper(struct item *i) {
	push_twice(i); }           // in helper
void insert(struct item *i) {
	pop(i);                    // pop
	helper(i); }
void both(struct item *i) {
	push(i);                   // push
	helper(i); }
void drop(struct item *i) {
	pop(i); }                  // drop
int main(void) { insert(0); both(0); drop(0); return 0; }
`

// TestInto: the lines of a program that may have led to a store of a library without symbols of its own.
func TestInto(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	const far = 0x1000000
	for _, flags := range []string{"-O0", "-O2"} {
		c, lib := build(t, library, "libl.so", "-shared", "-fPIC", flags)
		store := slices.Max(mapped(t, lib, far).Obj.LineAddrs(c, 2)) // of set, which at -O2 is a part of push and push_twice
		if text, err := exec.Command("strip", "--strip-unneeded", "-o", lib+".stripped", lib).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		_, bin := build(t, user, "p", "-pie", "-fPIE", flags, lib)
		images := []symbol.Image{mapped(t, bin, bias), mapped(t, lib+".stripped", far)}
		g := New(symbol.New(images, &symbol.Sources{}))
		for _, test := range []struct {
			from string
			want []string
		}{
			{"insert", []string{"in helper"}},
			{"both", []string{"in helper", "push"}},
			{"drop", nil},
		} {
			from, ok := g.symbols.Entry(test.from)
			if !ok {
				t.Fatalf("no function %s", test.from)
			}
			var got []string
			for _, at := range g.Into(from, far+trace.Addr(store)) {
				_, _, text := g.symbols.Where(at)
				_, comment, _ := strings.Cut(text, "// ")
				got = append(got, comment)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: %q, want %q", flags, test.from, got, test.want)
			}
			if asked := g.Asked(from, far+trace.Addr(store)); len(asked) != len(test.want) {
				t.Errorf("%s, %s: %d calls, want %d", flags, test.from, len(asked), len(test.want))
			}
			if asked := g.Asked(from, from); !slices.Equal(asked, []trace.Addr{from}) {
				t.Errorf("%s, %s: %#x asked for what has source", flags, test.from, asked)
			}
		}
	}
}
