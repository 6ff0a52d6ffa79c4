package faultloc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mgtrace/trace"
)

// TestLone: of a statement of many stores, as a constructor is, the last one has none of its own behind it, and never had: nothing is missing
// there. Where another one has none behind it, something is.
func TestLone(t *testing.T) {
	const stores = 12
	for left, want := range map[int]bool{0: false, stores: true} {
		w := newWorld(t, "struct item { long f[12]; long more[5]; };\ntype item;\nall: item X; X.more[4] == 1;\n")
		construct := func(name string, left int) string {
			var b strings.Builder
			fmt.Fprintf(&b, "1000: %s = calloc item\n", name)
			for i := 1; i <= stores; i++ {
				if i != left {
					fmt.Fprintf(&b, "%d: %s.f[%d] = 1\n", 5000+i, name, i-1)
				}
			}
			for i := range 5 {
				fmt.Fprintf(&b, "%d: %s.more[%d] = 1\n", 6000+1000*i, name, i)
			}
			return b.String()
		}
		for i := range 8 {
			w.run(construct(fmt.Sprintf("x%d", i), 0) + "cpoint")
		}
		w.run(construct("last", left))
		in := w.input()
		in.Statement = func(pc trace.Addr) string { return strconv.Itoa(int(pc) / 1000) }
		h := learn(in)
		got := slices.ContainsFunc(h.breaches(nil), func(b breach) bool { return strings.HasSuffix(h.names[b.missing], "5") })
		if got != want {
			t.Errorf("without store %d of %d: one is missing: %t", left, stores, got)
		}
	}
}
