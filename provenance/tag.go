package provenance

// NodeID is a block's number in the order of births, from 1. 0: none.
type NodeID uint32

// Tag says what a value is an address of.
//
//	None                  of no heap block: a number, or an address of something else
//	Unknown               nobody knows
//	address(n, within)    of block n; see the constants below for what within says
//	difference(p, q)      an address of block p less one of block q; either may be 0
//	half(n)               the low 4 bytes of an address of block n, of which nothing is followed
//	                      but that two of them differ by a number
type Tag uint64

// The tags without a block.
const (
	None    Tag = 0
	Unknown Tag = 1
)

// What is known of an address besides its block.
const (
	anywhere uint32 = 0         // nothing
	atStart  uint32 = 1         // it is the block's first byte
	part     uint32 = 2         // part+off: it was computed from that of what begins off bytes behind the start
	guess    uint32 = 1 << 30   // guess+off: the program added so much and an index, and that may be what begins there
	array    uint32 = 1<<31 - 1 // it is one in the array with which the block begins, and not of the whole
	perhaps  uint32 = 1 << 31   // it is one of the block, or a number, or of something else: not judged
)

const isDifference Tag = 1 << 63

func address(n NodeID, within uint32) Tag {
	return Tag(n)<<32 | Tag(within)
}

// difference is p − q.
func difference(p, q NodeID) Tag {
	switch {
	case p == q:
		return None
	case q == 0:
		return address(p, anywhere)
	}
	return isDifference | Tag(q)<<32 | Tag(p)
}

// Node is the block that the value is an address of, 0 if it is of none.
func (t Tag) Node() NodeID {
	if t&isDifference != 0 {
		return 0
	}
	return NodeID(t >> 32)
}

// within says more of an address.
func (t Tag) within() uint32 { return uint32(t) }

// half is coded as the difference of n and no block, which as a whole is address(n, anywhere).
func half(n NodeID) Tag { return isDifference | Tag(n) }

func (t Tag) isHalf() bool {
	p, q := t.parts()
	return t&isDifference != 0 && p != 0 && q == 0
}

// parts takes a tag apart into p − q. It must not be Unknown.
func (t Tag) parts() (p, q NodeID) {
	if t&isDifference != 0 {
		return NodeID(uint32(t)), NodeID(t >> 32 &^ (1 << 31))
	}
	return NodeID(t >> 32), 0
}

// add is the tag of a + b.
func add(a, b Tag) Tag {
	switch {
	case a == None && b == None:
		return None
	case a == Unknown || b == Unknown:
		return Unknown
	case b == None:
		return a.moved()
	case a == None:
		return b.moved()
	}
	ap, aq := a.parts()
	bp, bq := b.parts()
	if a.isHalf() || b.isHalf() {
		if ap == bq && bp == aq {
			return None
		}
		return Unknown
	}
	// p1 − q1 + p2 − q2: what is on both sides goes.
	if ap == bq {
		ap, bq = 0, 0
	}
	if bp == aq {
		bp, aq = 0, 0
	}
	if ap != 0 && bp != 0 || aq != 0 && bq != 0 {
		return Unknown
	}
	return difference(ap|bp, aq|bq)
}

// moved is the tag of an address to which a number was added: from a block's start it
// may be the first array of a structure that is indexed.
func (t Tag) moved() Tag {
	if t.Node() != 0 && t.within() == atStart {
		return address(t.Node(), part)
	}
	return t
}

// indexed is the tag of a + i + n for an address a, where i is an index that nothing is known
// of. A compiler may have put a part of the offset of an array into i: gcc does with what is a
// multiple of 16, without optimisation.
func indexed(a Tag, n int64) Tag {
	switch {
	case a.within() != atStart && a.within() != part && a.within() != guess:
		return a
	case n < 2 || n >= int64(array-guess):
		return address(a.Node(), guess)
	}
	return address(a.Node(), guess+uint32(n))
}

// negate is the tag of −a.
func negate(a Tag) Tag {
	if a == None || a == Unknown {
		return a
	}
	p, q := a.parts()
	return difference(q, p)
}

// scale is the tag of a × n.
func scale(a Tag, n uint8) Tag {
	if n == 1 || a == None {
		return a
	}
	return Unknown
}

// mask is the tag of a & b for a number b: low bits are no address, and without them
// it still is one.
func mask(a Tag, b int64) Tag {
	switch {
	case a == None:
		return None
	case a.Node() != 0 && b < 0:
		return a.moved()
	case (a.Node() != 0 || a.isHalf()) && b >= 0 && b < 1<<16:
		return None
	}
	return Unknown
}

// mix is the tag of a | b and a ^ b: an address with bits in it, or taken out.
func mix(a, b Tag) Tag {
	switch {
	case a == None:
		a, b = b, a
		fallthrough
	case b == None:
		if a.Node() != 0 {
			return a.moved()
		}
	}
	if a == None && b == None {
		return None
	}
	return Unknown
}

// either is the tag of a value that is a or b.
func either(a, b Tag) Tag {
	switch {
	case a == b:
		return a
	case a.Node() != 0 && a.Node() == b.Node():
		if a.within() == perhaps || b.within() == perhaps {
			return address(a.Node(), perhaps)
		}
		return address(a.Node(), anywhere)
	case a.Node() != 0 && b == None:
		return address(a.Node(), perhaps)
	case a == None && b.Node() != 0:
		return address(b.Node(), perhaps)
	}
	return Unknown
}

// narrow is the tag of the low 4 bytes of a value.
func narrow(a Tag) Tag {
	if n := a.Node(); n != 0 {
		return half(n)
	}
	return a
}
