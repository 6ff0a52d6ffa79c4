package eval

import (
	"math/rand/v2"
	"testing"

	"mgtrace/constraints/graph"
)

// TestListed adds bindings to deltas, short and long ones in turn, and compares with a map: the table serves again, and what
// it had before is not there any more.
func TestListed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := &delta{}
	for range 200 {
		d.list = d.list[:0]
		seen := map[binding]bool{}
		for range r.IntN(1 + r.IntN(300)) {
			b := binding{constraint: r.IntN(5) - 1}
			for i := range 1 + r.IntN(2) {
				b.nodes[i] = graph.ObjID(r.IntN(40))
			}
			if d.listed(&b) != seen[b] {
				t.Fatalf("%v is listed among %d: %v", b, len(d.list), !seen[b])
			}
			d.add(b)
			seen[b] = true
			if !d.listed(&b) || len(d.list) != len(seen) {
				t.Fatalf("%d bindings are listed, and %d were added", len(d.list), len(seen))
			}
		}
	}
}
