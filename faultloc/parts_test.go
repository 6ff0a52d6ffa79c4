package faultloc

import "testing"

func TestParts(t *testing.T) {
	leaf := Part{Path: "leaf", Count: 1}
	n := Part{Path: "n", Offset: 1, Count: 7}
	sign := Part{Path: "sign", Offset: 1, Count: 2, Signed: true}
	if leaf.Mask() != 1 || n.Mask() != 0xfe || n.Of(0x85) != 0x42 || leaf.Of(0x85) != 1 || sign.Of(0x06) != -1 || sign.Of(0x02) != 1 {
		t.Errorf("masks %#x %#x, values %d %d %d %d", leaf.Mask(), n.Mask(), n.Of(0x85), leaf.Of(0x85), sign.Of(0x06), sign.Of(0x02))
	}
	c := Cell{Parts: []Part{leaf, n}}
	if !c.inOnePart(4, 5) || !c.inOnePart(3, 5) || c.inOnePart(2, 5) {
		t.Error("a repair of a bit-field may change one of them, and only one")
	}
	if whole := (Cell{}); !whole.inOnePart(2, 5) {
		t.Error("a number is changed as a whole")
	}
}
