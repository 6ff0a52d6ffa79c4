package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mgtrace/objfile"
	"mgtrace/objfile/compilertest"
	"mgtrace/trace"
	"mgtrace/types"
)

// TestElided: what a compiler keeps in a register to the end is assigned by the text and by no
// instruction; what it stores, and what the preprocessor leaves out, is not elided.
func TestElided(t *testing.T) {
	const text = `#include <stdlib.h>
struct heap { int length, capacity, *a, unused, slot[4]; };
static void pop(struct heap *h)
{
	h->length--;
	h->a[h->length] = 0;
	h->slot[h->length & 3] = 1;
#ifdef NEVER
	h->capacity = 0;
#endif
}
int main(int argc, char **argv)
{
	struct heap *h = malloc(sizeof *h);
	h->length = h->capacity = argc;
	h->unused = 5;
	h->a = calloc(argc, sizeof *h->a);
	while (h->length)
		pop(h);
	for (int i = 0; i < argc; ++i)
		h->slot[i & 3] += i;
	return h->a[0] + h->slot[argc & 3] + h->capacity;
}
`
	for flag, want := range map[string]map[Member]int{
		"-O0": {{Name: "length"}: 0, {Name: "unused"}: 0, {Name: "a"}: 0, {Name: "slot", Element: true}: 0, {Name: "capacity"}: 0},
		"-O2": {{Name: "length"}: 5, {Name: "unused"}: 16, {Name: "", Element: true}: 0},
	} {
		s, main := built(t, text, "gcc", flag, "-g")
		for m, line := range want {
			_, got, ok := s.Elided(main, m, nil, Since{})
			if got != line || ok != (line > 0) {
				t.Errorf("%s: %+v is elided at line %d, want %d", flag, m, got, line)
			}
		}
	}
}

// TestElidedByMacro: a macro that stores nothing where a choice of the preprocessor has it so leaves nothing out; one that stores by each of its
// definitions does.
func TestElidedByMacro(t *testing.T) {
	const text = `#include <stdlib.h>
#if 0
#define CLEAR(n) ((n)->clear = 0)
#else
#define CLEAR(n) ((n)->other)
#endif
#ifdef CAREFUL
#define CHECK(n) ((n)->checked = 1)
#define MARK(n) ((n)->mark = 1)
#else
#define CHECK(n) ((void)0)
#define MARK(n) ((n)->mark = 2)
#endif
struct node { int clear, other, checked, mark; };
int main(int argc, char **argv)
{
	struct node *n = calloc(1, sizeof *n);
	int c = CLEAR(n);
	CHECK(n);
	MARK(n);
	return c + argc;
}
`
	for flag, want := range map[string]map[string]int{"-O0": {"clear": 0, "checked": 0, "mark": 0}, "-O2": {"clear": 0, "checked": 0, "mark": 20}} {
		s, main := built(t, text, "gcc", flag, "-g")
		for name, line := range want {
			if _, got, _ := s.Elided(main, Member{Name: name}, nil, Since{}); got != line {
				t.Errorf("%s: %s is elided at line %d, want %d", flag, name, got, line)
			}
		}
	}
}

// TestShared: a statement whose store the compiler leaves out, since memory holds the value already, is told beside
// the others of the member, and none that has a store, be it one of a static object's member.
func TestShared(t *testing.T) {
	const text = `#include <stdlib.h>
struct item { struct item *next; };
struct list { struct item *first; int length; } *list, spare;
static void put(struct list *l, struct item *i)
{
	i->next = l->first;
	l->first = i->next;
	l->length++;
	spare.first = i;
}
int main(int argc, char **argv)
{
	list = calloc(1, sizeof *list);
	put(list, malloc(sizeof(struct item)));
	return list->length + (list->first == NULL);
}
`
	for flag, want := range map[string][]int{"-O0": nil, "-O2": {7}} {
		s, main := built(t, text, "gcc", flag, "-g")
		var got []int
		for _, f := range s.Shared(main, Member{Name: "first"}, false, nil) {
			got = append(got, f.Line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: lines %v have no store of their own, want %v", flag, got, want)
		}
	}
}

// TestSharedCalls: what the operator= of a smart pointer stores without optimisation has a store, if in another function.
func TestSharedCalls(t *testing.T) {
	const text = `template<class T> struct owner {
	T *p;
	owner &operator=(T *q) { p = q; return *this; }
};
struct item { owner<item> next; item *plain; };
int main(int argc, char **argv)
{
	item *a = new item, *b = new item;
	a->next = b;
	a->plain = b;
	return a->next.p == b;
}
`
	s, main := built(t, text, "g++", "-O0", "-g")
	for _, f := range s.Shared(main, Member{Name: "next", Classes: "owner<item>"}, false, nil) {
		t.Errorf("line %d has no store of its own", f.Line)
	}
}

// TestPending: a field that an inlined function assigns is kept in a register until the loop around it
// ends, and is stored there, at its own line, that of the macro which says so: from the function on it is pending, and no more from there
// on. One that is stored in each round, or in some, or behind the function's own loop, never is.
func TestPending(t *testing.T) {
	clang := compilertest.Newest("clang")
	if clang == "" {
		t.Skip("no clang")
	}
	const text = `#include <stdlib.h>
#define GROW(l, f) ((l)->f += 1)
struct list { struct item *first; int count; };
struct item { struct item *next; int key; };
static inline void push(struct list *l, int key)
{
	struct item *i = malloc(sizeof *i), **at = &l->first;
	i->key = key;
	while (*at && (*at)->key < key)
		at = &(*at)->next;
	i->next = *at;
	*at = i;
	GROW(l,
	     count);
	if (key & 1)
		i->next = l->first;
	l->first = i;
}
int main(int argc, char **argv)
{
	struct list *l = calloc(1, sizeof *l);
	for (int i = 0; i < argc * 5; i++)
		push(l, i * 7 % 11);
	free(l->first);
	return l->count + l->first->key;
}
`
	s, main := built(t, text, clang, "-O2", "-g")
	at := func(line int) trace.Addr {
		for _, in := range slices.Backward(s.function(main).insts) {
			if len(in.frames) > 0 && in.frames[0].Line == line {
				return s.function(main).bias + trace.Addr(in.at)
			}
		}
		t.Fatalf("line %d has no code", line)
		return 0
	}
	for m, want := range map[Member]map[int]int{
		{Name: "count"}: {22: 13, 23: 13, 21: 0, 24: 0},
		{Name: "first"}: {22: 0, 23: 0, 24: 0},
		{Name: "next"}:  {22: 0, 23: 0, 24: 0},
		{Name: "key"}:   {22: 0, 23: 0, 24: 0},
	} {
		for line, want := range want {
			if _, got, _ := s.Pending(at(line), m, nil, Since{}); got != want {
				t.Errorf("%+v is pending at line %d: of %d, want %d", m, line, got, want)
			}
		}
	}
}

// TestOverdue: what a function that is inlined twice stores last is read by nobody, and not stored: overdue from
// the first time on. Built without optimisation nothing is.
func TestOverdue(t *testing.T) {
	const text = `#include <stdlib.h>
struct item { struct item *next; } items[2];
struct list { struct item *first; int count; };
static inline __attribute__((always_inline)) void put(struct list *l, struct item *i)
{
	i->next = l->first;
	l->first = i;
	l->count++;
}
__attribute__((noinline)) int show(struct list *l) { return l->first->next == l->first; }
int main(int argc, char **argv)
{
	struct list *l = malloc(sizeof *l);
	l->first = NULL;
	l->count = argc;
	put(l, items);
	int n = show(l);
	put(l, items + 1);
	n += l->count;
	free(l);
	return n;
}
`
	for flag, want := range map[string]int{"-O0": 0, "-O2": 7} {
		s, main := built(t, text, "gcc", flag, "-g")
		c := s.function(main)
		i := slices.IndexFunc(c.insts, func(in inst) bool {
			return in.store && len(in.frames) > 0 && in.frames[0].Line == 7
		})
		store := c.bias + trace.Addr(c.insts[i].at)
		second := func(pc trace.Addr) bool { // of the second instance
			return slices.ContainsFunc(s.Frames(pc), func(f objfile.Frame) bool { return f.Line == 18 })
		}
		for name, since := range map[string]Since{
			"nothing known": {},
			"all passed":    {Store: store, Passed: func(trace.Addr) bool { return true }},
			"passed once":   {Store: store, Passed: func(pc trace.Addr) bool { return !second(pc) }},
		} {
			want := want
			if name == "passed once" {
				want = 0
			}
			if _, got, _ := s.Overdue(store, Member{Name: "first"}, nil, since); got != want {
				t.Errorf("%s, %s: line %d is overdue, want %d", flag, name, got, want)
			}
		}
	}
}

// TestCame: what was left out ahead of a loop does not count once a store in the loop has run, and it does where nobody
// has written the member since, or where the function that it is in may have been entered anew, or have waited for a call
// that did the store; and of a statement of which there is nothing that has a place, it may always have been executed.
func TestCame(t *testing.T) {
	const text = `#include <stdlib.h>
struct list { long count; struct list *next; };
__attribute__((noinline)) void show(struct list *l) { __asm__ volatile("" : : "r"(l) : "memory"); }
static inline void begin(struct list *l, long n)
{
	l->count = 0;
	l->next = NULL;
	l->count = n;
}
__attribute__((noinline)) static long fill(long n, struct list *l)
{
	begin(l, n);
	for (long i = 0; i < n; i++) {
		l->count += i & 7;
		show(l);
	}
	return l->count;
}
int main(int argc, char **argv)
{
	struct list *l = malloc(sizeof *l);
	begin(l, argc);
	for (int i = 0; i < argc; i++) {
		show(l);
		l->count += i & 7;
	}
	return l->count + fill(argc, l);
}
`
	s, main := built(t, text, "gcc", "-O2", "-g")
	fill := s.function(main).bias
	for _, im := range s.Images {
		fill += trace.Addr(im.Obj.FuncsNamed("fill")[0].Addr)
	}
	all := func(trace.Addr) bool { return true }
	for _, c := range []struct {
		name  string
		entry trace.Addr
		line  int // of the store
		want  int
	}{
		{"main, in the loop", main, 25, 0},
		{"main, in the call ahead of it", main, 7, 6},
		{"main, elsewhere", main, 0, 6},
		{"fill, in the loop", fill, 14, 6},
		{"fill, called by main since", main, -14, 6},
	} {
		fn := s.function(c.entry)
		if c.line < 0 {
			fn, c.line = s.function(fill), -c.line
		}
		since := Since{Passed: all}
		for _, in := range fn.insts {
			if in.store && len(in.frames) > 0 && in.frames[0].Line == c.line {
				since.Store = fn.bias + trace.Addr(in.at)
			}
		}
		if c.line > 0 && since.Store == 0 {
			t.Fatalf("%s: no store at line %d", c.name, c.line)
		}
		if _, got, _ := s.Elided(c.entry, Member{Name: "count"}, nil, since); got != c.want {
			t.Errorf("%s: line %d was left out, want %d", c.name, got, c.want)
		}
	}
}

// TestPlaced: a call ahead of a loop has a place if it stores there, but for what the statement in question stores: then
// control can not have come to it since it was in the loop.
func TestPlaced(t *testing.T) {
	frame := func(line int) []objfile.Frame {
		return []objfile.Frame{{Function: "reset", File: "l.c", Line: 3, Declared: 1, Inlined: true}, {Function: "main", File: "l.c", Line: line, Declared: 9}}
	}
	for _, store := range []bool{false, true} {
		s, main := built(t, "int g; int main(void) { g = 1; for (;;) __asm__ volatile(\"nop\"); }", "gcc", "-O2", "-g")
		real := s.function(main)
		c := &function{entry: real.entry, obj: real.obj, flow: real.flow, parts: map[inlined]*part{}, outer: map[string][]int{}, targets: real.targets}
		first := real.insts[0].at
		c.add(inst{at: first, len: 1, frames: frame(11), store: store})
		for _, in := range real.insts[1:] {
			c.add(inst{at: in.at, len: in.len, frames: frame(12)[1:], branches: in.branches})
		}
		last := real.insts[len(real.insts)-1].at
		came := s.came(c, Since{Store: trace.Addr(last), Passed: func(trace.Addr) bool { return true }})
		if got := came(statement{"l.c", 3, "l.c:11:0 "}, nil); got == store {
			t.Errorf("a store there: %v; control may have come to it: %v", store, got)
		}
		if !came(statement{"l.c", 3, "l.c:11:0 "}, []uint64{first}) {
			t.Error("the statement's own store is no place of it")
		}
	}
}

// built is a program of one file with the entry of its main.
func built(t *testing.T, text, cc string, flags ...string) (*Table, trace.Addr) {
	t.Helper()
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "prog.c"), filepath.Join(dir, "prog")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, append(flags, "-o", bin, source)...).CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	f, err := objfile.Open(bin, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	lo, hi := f.LoadRange()
	s := New([]Image{{Module: trace.Module{Path: bin, Lo: trace.Addr(lo), Hi: trace.Addr(hi), Traced: true}, Obj: f}}, &Sources{})
	return s, trace.Addr(f.FuncsNamed("main")[0].Addr)
}

// TestElidedOfAnotherInstance: what a method of a template's instance does to its own object concerns no object of another instance, if
// the machine function has methods of the member's own. One that lies in another of the same template may be meant by either.
func TestElidedOfAnotherInstance(t *testing.T) {
	const text = `extern "C" long take(void *, long), show(long);
template <class T> struct stack
{
	T *low, *top;
	int n;
	void push(T x)
	{
		*this->top++ = x;
		++this->n;
	}
	void pop()
	{
		--this->n;
		show(this->n);
	}
};
int main(int argc, char **argv)
{
	int room[9];
	stack<int> spare = {room, room, argc};
	stack<long> *s = new stack<long>(*reinterpret_cast<stack<long> *>(argv));
	s->push(argc);
	spare.pop();
	spare.pop();
	return take(s, spare.n);
}
extern "C" __attribute__((noinline, noipa)) long take(void *s, long n) { return *static_cast<long *>(s) + n; }
extern "C" __attribute__((noinline, noipa)) long show(long n) { return n; }
`
	s, main := built(t, text, "g++", "-O2", "-g")
	for classes, line := range map[string]int{
		"":                                13,
		"stack<long>":                     0,
		"stack<int>":                      13,
		"box<int>":                        13,
		"stack<long>\nstack<stack<long>>": 13,
	} {
		if _, got, _ := s.Elided(main, Member{Name: "n", Classes: classes}, nil, Since{}); got != line {
			t.Errorf("%q: n is elided at line %d, want %d", classes, got, line)
		}
	}
	for function, want := range map[string]string{
		"std::vector<a::Node*>::push_back(a::Node* const&)": "std::vector<a::Node*>",
		"std::vector<int>& f<int>(int)":                     "",
		"Tree<int>::Node::set(int)":                         "Tree<int>",
		"f(std::vector<int>)":                               "",
	} {
		if _, got := instanceOf(function); got != want {
			t.Errorf("%s: of %q, want %q", function, got, want)
		}
	}
	long := &types.Type{Kind: types.Int, Size: 8}
	impl := &types.Type{Kind: types.Struct, Name: "Base<int>::Impl", Size: 16, Members: []types.Member{{Name: "n", Type: long, Offset: 8}}}
	base := &types.Type{Kind: types.Struct, Name: "Base<int>", Size: 16, Members: []types.Member{{Name: "impl", Type: impl}}}
	vector := &types.Type{Kind: types.Struct, Name: "vector<int, allocator<int> >", Size: 16, Members: []types.Member{{Type: base, Base: true}}}
	node := &types.Type{Kind: types.Struct, Name: "node", Size: 40, Members: []types.Member{{Name: "v", Type: &types.Type{Kind: types.Array, Elem: vector, Count: 2, Size: 32}}, {Name: "k", Type: long, Offset: 32}}}
	for off, want := range map[int64]string{24: "vector<int,allocator<int>>\nBase<int>", 32: ""} {
		if got := Instances(node, off); got != want {
			t.Errorf("at %d: %q, want %q", off, got, want)
		}
	}
}
