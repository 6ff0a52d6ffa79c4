package infer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/trace"
)

// joined shows joints as the addresses of their parts, with ! and the instant where one was
// merged, and / and the instant of what became of it.
func joined(all []Joint) string {
	var out []string
	for _, j := range all {
		var parts []string
		for _, p := range j.Parts {
			s := fmt.Sprintf("%x+%d", p.Start, p.Size)
			if p.Merged != nil {
				s += fmt.Sprintf("!%d", p.Merged.At)
			}
			if p.Next != nil {
				s += fmt.Sprintf("/%d", p.Next.At)
			}
			parts = append(parts, s)
		}
		out = append(out, "["+strings.Join(parts, " ")+"]")
	}
	return strings.Join(out, " ")
}

// TestJoints has two nodes become a cluster, which another one joins, which is split, and
// becomes one again.
func TestJoints(t *testing.T) {
	g := New(Options{Allocator: true, Heap: heap})
	at(g,
		func() { g.Offset(1, 0x1000, 0x1008, 8) },
		func() { g.Touch(1, 0x1010, 8) },
		func() { g.Offset(1, 0x1000, 0x1010, 8) }, // 3: merges
		func() { g.Touch(1, 0x1018, 8) },
		func() { g.Offset(1, 0x1010, 0x1018, 8) },   // 5: the third
		func() { g.Store(1, 0x1000, 8, 0x1010, 0) }, // 6: splits
		func() { g.Offset(1, 0x2000, 0x2008, 8) },   // one that is never several
		func() { g.Offset(1, 0x1000, 0x1018, 8) },   // 8: and again one
	)
	s := g.Stretches()
	for at, want := range []string{
		"", "", "",
		3: "[1000+16!3 1010+8!3/6]",
		4: "[1000+16!3 1010+8!3/6]",
		5: "[1000+16!3 1010+8!3/6 1018+8!5/6]",
		6: "[1010+8/8 1018+8/8]",
		7: "[1010+8/8 1018+8/8]",
		8: "[1000+16!3 1010+8!8 1018+8!8]",
	} {
		if got := joined(Joints(s, trace.Instant(at))); got != want {
			t.Errorf("at %d\n got %s\nwant %s", at, got, want)
		}
	}
}

// At any time a stretch is of the node that has its addresses, and all that are of it then
// and are not of it always are stretches.
func TestStretches(t *testing.T) {
	for seed := range uint64(100) {
		g := New(Options{Allocator: seed%2 == 0, Heap: heap})
		var ends []Timestamp
		for i, s := range random(seed) {
			g.Present(trace.Instant(i+1), 1)
			s(g)
			ends = append(ends, g.Now())
		}
		all := g.Stretches()
		for i, end := range ends {
			now := trace.Instant(i + 1)
			for _, n := range g.At(end).Nodes {
				for _, a := range n.Addrs {
					k := slices.IndexFunc(all, func(s Stretch) bool { return s.Start <= a && a < s.Start+trace.Addr(s.Size) })
					if k < 0 {
						if x := g.Node(n.Node); x.Cluster() || x.Source != 0 {
							t.Fatalf("seed %d at %d: %x of node %d is in no stretch", seed, now, a, n.Node)
						}
						continue
					}
					owner := NodeID(0)
					for _, o := range all[k].Owners {
						if o.At <= now {
							owner = o.Node
						}
					}
					if owner != n.Node {
						t.Fatalf("seed %d at %d: %x is of node %d, its stretch %+v of %d", seed, now, a, n.Node, all[k], owner)
					}
				}
			}
		}
	}
}
