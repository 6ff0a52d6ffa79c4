package index

import (
	"math/rand/v2"
	"testing"

	"mgtrace/mgpp"
)

// TestKnownNodes: what is known of a node is what was found of it last, however many others have
// been found since.
func TestKnownNodes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var k knownNodes
	last := map[mgpp.NodeID]uint64{}
	for i := range uint64(20000) {
		id := mgpp.NodeID(1 + rnd.IntN(3*knownPlaces))
		k.add(node{id: id, size: i})
		last[id] = i
		if n := k.find(id); n == nil || n.size != i {
			t.Fatalf("node %d was found, and is not known", id)
		}
	}
	if len(k.list) != mostKnown {
		t.Errorf("%d are known, want %d", len(k.list), mostKnown)
	}
	found := 0
	for id, want := range last {
		if n := k.find(id); n != nil {
			if found++; n.id != id || n.size != want {
				t.Errorf("node %d: %+v, want size %d", id, n, want)
			}
		}
	}
	if found > mostKnown || found < mostKnown/2 {
		t.Errorf("%d of %d are found", found, mostKnown)
	}
	if k.find(0) != nil {
		t.Error("there is a node 0")
	}
}
