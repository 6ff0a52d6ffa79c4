package eval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/trace"
)

// TestSays: an equation says what each number in it is, if the rest is right.
func TestSays(t *testing.T) {
	for _, c := range []struct {
		body, want string
		a, b, c    uint64
	}{
		{"P.a == P.b", "a=7 b=5", 5, 7, 0},
		{"P.a == P.b + 1", "a=8 b=4", 5, 7, 0},
		{"2 * P.a == P.b", "a=4 b=10", 5, 8, 0},
		{"2 * P.a == P.b", "b=10", 5, 7, 0}, // there is no half of it
		{"P.a * 0 == P.b", "b=0", 5, 7, 0},
		{"P.a - 3 == P.b", "a=10 b=2", 5, 7, 0},
		{"10 - P.a == P.b", "a=3 b=5", 5, 7, 0},
		{"P.a + P.b == P.c", "a=2 b=4 c=12", 5, 7, 9},
		{"2 * (P.a - 1) == P.b", "a=5 b=-2", 0, 8, 0},
		{"P.a / 2 == P.b", "b=2", 5, 7, 0}, // more than one number would do
		{"P.a < P.b", "", 7, 5, 0},
	} {
		w := newWorld(t, "struct pair { long a; long b; long c; };\ntype pair;\neq: pair P; "+c.body+";\n")
		at := w.alloc("pair", 24, true)
		for i, v := range []uint64{c.a, c.b, c.c} {
			w.put8(at+trace.Addr(8*i), v)
		}
		found := w.all()
		if len(found) != 1 {
			t.Errorf("%s: %v", c.body, w.lines(found))
			continue
		}
		var got []string
		w.c.Says(found[0].Instance, w.h.At(w.h.Now()), func(addr trace.Addr, bits uint64) {
			got = append(got, fmt.Sprintf("%c=%d", 'a'+rune(addr-at)/8, int64(bits)))
		})
		slices.Sort(got)
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}
