package graph

import (
	"math"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What a program stores may be any number: places are asked for up to the last address.
func TestOver(t *testing.T) {
	var p places
	p.put(1, 0x1000, 0x1020, func(ObjID) bool { return true })
	p.put(2, 0x1020, 0x1040, func(ObjID) bool { return true })
	for _, c := range []struct {
		addr trace.Addr
		size uint64
		want ObjID
		sure bool
	}{
		{0x1000, 0x20, 1, true},
		{0x101f, 1, 1, true},
		{0x1018, 0x10, 0, false},
		{0x1020, 1, 2, true},
		{0x1030, 0, 0, true},
		{0x2000, 8, 0, true},
		{math.MaxUint64, 1, 0, true},
		{math.MaxUint64 - 1, 1, 0, true},
		{math.MaxUint64 - 1, 8, 0, true},
		{0x1000, 1 << 40, 0, false},
	} {
		if o, sure := p.over(c.addr, c.size); o != c.want || sure != c.sure {
			t.Errorf("%#x, %d bytes: object %d, %v; want %d, %v", c.addr, c.size, o, sure, c.want, c.sure)
		}
	}
}

// Pieces of memory that are remembered at the same place are told apart.
func TestManyLeaves(t *testing.T) {
	var p places
	const leaf = trace.Addr(1) << leafShift
	alive := func(ObjID) bool { return true }
	for k := range trace.Addr(3 * recentLeaves) {
		p.put(ObjID(k+1), k*leaf+0x40, k*leaf+0x60, alive)
	}
	for round := range trace.Addr(2) {
		for k := range trace.Addr(3 * recentLeaves) {
			at := (k*(7+round)%(3*recentLeaves))*leaf + 0x40
			if o, sure := p.over(at+8, 8); o != ObjID(at/leaf+1) || !sure {
				t.Errorf("at %#x lies %d, %v", at, o, sure)
			}
			if o, sure := p.over(at+0x1c, 8); o != 0 || sure {
				t.Errorf("half behind %#x lies %d, %v", at, o, sure)
			}
			if o, sure := p.over(at-0x40, 8); o != 0 || !sure {
				t.Errorf("before %#x lies %d, %v", at, o, sure)
			}
		}
	}
	if o, sure := p.over(3*recentLeaves*leaf+0x40, 8); o != 0 || !sure {
		t.Errorf("where nothing ever was lies %d, %v", o, sure)
	}
}

func TestBlocks(t *testing.T) {
	var b blocks
	if b.has(0) || b.has(1000) {
		t.Error("an empty set has blocks")
	}
	b.add(3)
	b.add(1000)
	for _, id := range []mgpp.NodeID{0, 2, 4, 999, 1001, 5000} {
		if b.has(id) {
			t.Errorf("the set has %d", id)
		}
	}
	if !b.has(3) || !b.has(1000) {
		t.Error("what was added is not in the set")
	}
}
