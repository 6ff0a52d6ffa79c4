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
