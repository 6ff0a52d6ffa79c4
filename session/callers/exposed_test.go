package callers

import (
	"slices"
	"strings"
	"testing"

	"mgtrace/trace"
)

const pointers = `static int *cell, *other;
static void set(int v) { *cell = v; }
static void only(int v) { set(v); }           // in only
static void hooked(int v) { *other = v;
#ifdef BACK
	only(v);
#endif
}
void (*hook)(int) = hooked;
void run(int v) { only(v);                    // in run
	hook(v); }
#ifdef CODE
void (*get(void))(int) { return only; }
#endif
#ifdef DATA
void (*table[])(int) = { only };
#endif
int main(int argc, char **argv) { int a; cell = other = &a; run(1); set(argc); return 0; }
`

// TestThroughPointer: a call through a pointer hides none of the calls of what no pointer can lead to. Where the address of a function is
// known, in code that is not reached or in data, or one whose is calls it, it may be by that.
func TestThroughPointer(t *testing.T) {
	for flags, want := range map[string][]string{
		"-pie -fPIE":           {"in only", "in run"},
		"-pie -fPIE -DBACK":    {"in only"},
		"-pie -fPIE -DCODE":    {"in only"},
		"-pie -fPIE -DDATA":    {"in only"},
		"-no-pie -fno-pie":     nil,
		"-pie -fPIE -rdynamic": {"in only", "in run"}, // main alone leads there
	} {
		g, f, c := compiled(t, pointers, append(strings.Fields(flags), "-O0")...)
		from, ok := g.symbols.Entry("run")
		if !ok {
			t.Fatal("no function run")
		}
		if got := comments(g.symbols, g.Between(from, bias+trace.Addr(slices.Max(f.LineAddrs(c, 2))))); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", flags, got, want)
		}
	}
}
