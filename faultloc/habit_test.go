package faultloc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
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

// generous tells of each operation that it may have touched all that is broken, as Touched is free to.
type generous struct {
	eval.Model
	end mgpp.Timestamp
}

func (g generous) Touched(mgpp.Timestamp) []eval.Instance { return g.Broken(g.View(g.end)) }

// TestConcerns: a store concerns what is broken if it is of what constraints with broken instances ask for, whatever else Touched names.
func TestConcerns(t *testing.T) {
	w := newWorld(t, "struct item { int size, depth; struct item *next; };\ntype item;\nsized: item X; X.next != NULL => X.size == X.next.size + 1;\n")
	w.run("1: a = calloc item\n1: b = calloc item\n2: b.size = 1\n2: a.size = 2\n2: a.next = b\ncpoint\n3: b.depth = 7\n4: b.size = 2\n5: a.depth = 4\n")
	in := w.input()
	in.Model = generous{in.Model, in.At}
	want := map[trace.Addr]bool{3: false, 4: true, 5: false}
	for at := in.Healthy + 1; at <= in.At; at++ {
		if pc := in.History.Op(at).PC; concerns(in, at) != want[pc] {
			t.Errorf("what %d did concerns what is broken: %t", pc, !want[pc])
		}
	}
}
