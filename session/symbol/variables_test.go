package symbol

import (
	"testing"

	"mgtrace/trace"
)

// TestOfVariable: what a statement assigns in a structure that is a variable is not missing in the block into which this was copied. It
// may be where nothing has written the member there, where the copy is made again and again, and where a pointer of the name assigns it.
func TestOfVariable(t *testing.T) {
	const text = `#include <stdlib.h>
#include <string.h>
struct map { long *slots, count; };
__attribute__((noinline)) long *get(long n) { return calloc(n, sizeof(long)); }
__attribute__((noinline)) struct map *once(long n)
{
	struct map o = {0}, *made;
	o.slots = get(n);
	if (!o.slots)
		return 0;
	o.count = n;
	made = malloc(sizeof o);
	if (made)
		memcpy(made, &o, sizeof o);
	return made;
}
__attribute__((noinline)) struct map *often(long n, struct map **all)
{
	struct map o = {0}, *made = 0;
	while (n--) {
		o.slots = get(n);
		o.count = n;
		made = all[n] = malloc(sizeof o);
		*made = o;
	}
	return made;
}
int main(int argc, char **argv)
{
	struct map *all[99];
	return once(argc) == often(argc, all);
}
`
	s, _ := built(t, text, "gcc", "-O2", "-g")
	f := s.Images[0].Obj
	for _, c := range []struct {
		function string
		written  bool
		want     int
	}{{"once", true, 0}, {"once", false, 8}, {"often", true, 21}} {
		fn := s.function(s.Images[0].Bias + trace.Addr(f.FuncsNamed(c.function)[0].Addr))
		stored := map[trace.Addr][]string{}
		since := Since{Written: c.written}
		for _, in := range fn.insts {
			if in.store && len(in.frames) > 0 && (in.frames[0].Line == 14 || in.frames[0].Line == 24) {
				since.Store = fn.bias + trace.Addr(in.at)
				stored[since.Store] = []string{"slots", "count"}
			} else if in.store {
				stored[fn.bias+trace.Addr(in.at)] = nil
			}
		}
		if since.Store == 0 {
			t.Fatalf("%s has no store of the copy", c.function)
		}
		if _, line, _ := s.Elided(fn.bias+trace.Addr(fn.entry), Member{Name: "slots"}, stored, since); line != c.want {
			t.Errorf("%s, written: %v: line %d is left out, want %d", c.function, c.written, line, c.want)
		}
	}
}
