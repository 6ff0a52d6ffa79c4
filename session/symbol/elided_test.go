package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mgtrace/objfile"
	"mgtrace/trace"
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
	return h->a[0] + h->slot[argc & 3] + h->capacity;
}
`
	for flag, want := range map[string]map[Member]int{
		"-O0": {{"length", false}: 0, {"unused", false}: 0, {"a", false}: 0, {"slot", true}: 0, {"capacity", false}: 0},
		"-O2": {{"length", false}: 5, {"unused", false}: 16},
	} {
		dir := t.TempDir()
		source, bin := filepath.Join(dir, "heap.c"), filepath.Join(dir, "heap")
		if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", flag, "-g", "-o", bin, source).CombinedOutput(); err != nil {
			t.Skipf("%v\n%s", err, out)
		}
		f, err := objfile.Open(bin, objfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lo, hi := f.LoadRange()
		s := New([]Image{{Module: trace.Module{Path: bin, Lo: trace.Addr(lo), Hi: trace.Addr(hi), Traced: true}, Obj: f}}, &Sources{})
		main := trace.Addr(f.FuncsNamed("main")[0].Addr)
		for m, line := range want {
			_, got, ok := s.Elided(main, m, nil, true)
			if got != line || ok != (line > 0) {
				t.Errorf("%s: %+v is elided at line %d, want %d", flag, m, got, line)
			}
		}
	}
}
