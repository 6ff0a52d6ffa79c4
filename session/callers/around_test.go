package callers

import (
	"slices"
	"strings"
	"testing"

	"mgtrace/trace"
)

const around = `static int *cell, *other;
static void set(int v) { *cell = v; }
static void helper(int v) { set(v);           // in helper
	if (v) set(v + 1); }                  // again in helper
static void hooked(int v) { *other = v;
#ifdef BACK
	helper(v);
#endif
}
void (*hook)(int) = hooked;
void top(int v) { *other = 2; helper(v); }    // in top
void deep(int v) { top(v); }                  // in deep
void either(int v) { top(v);                  // in either
	helper(v); }                          // again in either
void down(int v) { if (v) down(v - 1);        // down again
	else helper(v); }                     // in down
void pointed(int v) { top(v);                 // in pointed
	hook(v); }
#ifdef TAKEN
void (*get(void))(int) { return top; }
#endif
int main(int argc, char **argv) { int a; cell = other = &a; deep(1); either(1); down(1); pointed(1); return 0; }
`

// TestAround: where a function was called from is not known, but all ways to it begin with the same calls. Where they part at once nothing
// is said.
func TestAround(t *testing.T) {
	for _, test := range []struct {
		flags, from string
		want        []string
	}{
		{"-pie -fPIE", "top", []string{"in top"}},
		{"-pie -fPIE", "deep", []string{"in top", "in deep"}},
		{"-pie -fPIE", "either", nil},
		{"-pie -fPIE", "down", nil}, // which of its activations is the last nobody knows
		{"-pie -fPIE", "pointed", []string{"in top", "in pointed"}},
		{"-pie -fPIE -DBACK", "pointed", nil}, // by the pointer as well
		{"-pie -fPIE -DTAKEN", "pointed", nil},
		{"-pie -fPIE -DTAKEN", "deep", []string{"in top", "in deep"}}, // it follows no pointer
		{"-no-pie -fno-pie", "deep", nil},
	} {
		g, f, c := compiled(t, around, append(strings.Fields(test.flags), "-O0")...)
		from, ok := g.symbols.Entry(test.from)
		if !ok {
			t.Fatalf("no function %s", test.from)
		}
		pc := bias + trace.Addr(slices.Max(f.LineAddrs(c, 2)))
		if stack := g.Between(from, pc); len(stack) > 0 {
			t.Errorf("%s: %q", test.from, comments(g.symbols, stack))
		}
		if got := comments(g.symbols, g.Around(from, pc, nil)); !slices.Equal(got, test.want) {
			t.Errorf("%s %s: got %q, want %q", test.flags, test.from, got, test.want)
		}
	}
}

// TestFromMain: what main alone leads to was come to from there, and what a thread begins with as well may not.
func TestFromMain(t *testing.T) {
	for flags, want := range map[string][]string{
		"-pie -fPIE":           {"in top", "in deep", "in main"},
		"-pie -fPIE -DBEGINS":  nil,
		"-pie -fPIE -DBEFORE":  nil,
		"-no-pie -fno-pie":     nil,
		"-pie -fPIE -DANOTHER": {"in top", "in deep", "in main"}, // it leads elsewhere
	} {
		g, f, c := compiled(t, fromMain, append(strings.Fields(flags), "-O0", "-pthread")...)
		pc := bias + trace.Addr(slices.Max(f.LineAddrs(c, 2)))
		if got := comments(g.symbols, g.FromMain(pc)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", flags, got, want)
		}
	}
}

const fromMain = `static int *cell, *other;
static void set(int v) { *cell = v; }
static void helper(int v) { set(v);           // in helper
	if (v) set(v + 1); }                  // again in helper
void top(int v) { *other = 2; helper(v); }    // in top
void deep(int v) { top(v); }                  // in deep
#include <pthread.h>
static void *begin(void *p) {
#ifdef BEGINS
	helper(1);
#endif
	return p; }
#ifdef BEFORE
__attribute__((constructor)) static void before(void) { helper(2); }
#endif
int main(void) { int a; pthread_t t; cell = other = &a;
#if defined BEGINS || defined ANOTHER
	pthread_create(&t, 0, begin, 0);
#endif
	deep(1);                              // in main
	return 0; }
`
