package graph

import (
	"math"

	"mgtrace/constraints/check"
	"mgtrace/mgpp/coded"
	"mgtrace/types"
)

// layout is where the pointers of a type lie. Besides the edge cells it lists
// every other pointer of the type, for constraints may follow those too.
type layout struct {
	typ   *check.NodeType
	cells []cell
	fixed int // slots of the cells with a fixed number of elements
	flex  bool
	fills bool // some cell says which elements of an array are in use

	conditional bool // some cells count only sometimes

	at []int32 // by word of 8 bytes: the slot of the only cell that lies there, if its pointer is stored as it is

	some   bool     // only some bytes matter (reads.go)
	narrow bool     // cells are missing that are read if a pointer leads into the middle of an object
	bytes  []uint64 // by byte, a bit: it matters
}

// cell is a pointer cell, or array of them, with the place of its elements
// among an object's slots.
type cell struct {
	*check.EdgeCell
	edge   bool // one of NodeType.Edges; else a pointer that is no edge
	counts bool // it is an edge by default
	plain  bool // it is in use whatever it, and what is around it, holds
	slot   int  // of element 0; flexible cells: among the flexible slots, see slotOf
}

// maxHidden bounds the pointers of a type that are not edges. A type with more
// has arrays of pointers to undeclared things; nothing follows those.
const maxHidden = 1 << 12

func newLayout(t *check.NodeType) *layout {
	l := &layout{typ: t}
	for i := range t.Edges {
		l.add(&t.Edges[i], true)
	}
	switch {
	case t.Array && t.Elem != nil:
		l.addHiddenOf(t.Elem)
	case t.Layout != nil && !t.Array:
		l.addHidden(t.Layout)
	}
	l.lay()
	return l
}

// addHiddenOf adds the pointers of an array's elements that are not among the edges: what is read through them is found
// by them as well.
func (l *layout) addHiddenOf(elem *types.Type) {
	if elem.Size <= 0 {
		return
	}
	covered := map[int64]bool{}
	for i := range l.cells {
		for off := l.cells[i].Offset; off < elem.Size; off += l.cells[i].Stride {
			covered[off] = true
		}
	}
	for _, s := range elem.PointerFields() {
		if !covered[s.Offset] && len(l.cells) < maxHidden {
			covered[s.Offset] = true
			c := check.HiddenCell(s)
			c.Count, c.Stride = -1, elem.Size
			l.add(c, false)
		}
	}
}

// maxAt bounds the words of a type whose slots are found by where they lie.
const maxAt = 1 << 12

const free, shared = -1, -2 // in layout.at

// lay notes which slots lie where.
func (l *layout) lay() {
	for i := range l.cells {
		c := &l.cells[i]
		for e := range c.Count { // none of a flexible cell
			l.put(c.Offset+e*c.Stride, int32(c.slot)+int32(e), c.Coded == coded.Plain)
		}
	}
	for i := range l.cells {
		if c := &l.cells[i]; c.Count < 0 {
			l.at = l.at[:max(0, min(c.Offset>>3, int64(len(l.at))))]
		}
	}
}

func (l *layout) put(off int64, slot int32, plain bool) {
	for w := off >> 3; off >= 0 && w <= (off+7)>>3 && w < maxAt; w++ {
		for int(w) >= len(l.at) {
			l.at = append(l.at, free)
		}
		if l.at[w] == free && off&7 == 0 && plain {
			l.at[w] = slot
		} else {
			l.at[w] = shared
		}
	}
}

// slotAt returns the slot of the cell at an offset, below 0 if that is not known.
func (l *layout) slotAt(off int64) int32 {
	if off < 0 || off&7 != 0 || off>>3 >= int64(len(l.at)) {
		return free
	}
	return l.at[off>>3]
}

// untyped is the layout of a global of no declared type.
func untyped(t *types.Type) *layout {
	l := &layout{}
	if t != nil {
		l.addHidden(t)
	}
	return l
}

func (l *layout) add(c *check.EdgeCell, edge bool) {
	if c.Stride <= 0 && c.Count != 1 || len(l.cells) > math.MaxUint16 {
		return // a malformed cell has no elements; nor has any type as many fields: inRef.cell
	}
	k := cell{EdgeCell: c, edge: edge, slot: l.fixed, counts: edge && Counts(l.typ, c, nil)}
	k.plain = !c.Conditional() && c.Own == (check.Span{}) && (l.typ == nil || !l.typ.Array)
	if c.Count < 0 {
		k.slot = 0
		l.flex = true
	} else {
		l.fixed += int(c.Count)
	}
	l.fills = l.fills || c.Fills != nil
	l.conditional = l.conditional || c.Conditional()
	l.cells = append(l.cells, k)
}

// addHidden adds the pointers of t that are not among the edges.
func (l *layout) addHidden(t *types.Type) {
	covered := map[int64]bool{}
	for i := range l.cells {
		c := &l.cells[i]
		for e := int64(0); e < max(c.Count, 1); e++ {
			covered[c.Offset+e*c.Stride] = true
		}
	}
	fields := t.PointerFields()
	if len(fields) > maxHidden {
		fields = fields[:maxHidden]
	}
	for _, s := range fields {
		if !covered[s.Offset] {
			covered[s.Offset] = true
			l.add(check.HiddenCell(s), false)
		}
	}
}

// maxElems bounds the elements of a cell that can be edges, for each has a slot: a block of a wrong
// size may be larger than all memory, of which it uses little.
const maxElems = 1 << 24

// elems returns the number of elements of a cell that lie in an object of the given size.
func elems(c *check.EdgeCell, size uint64) int64 {
	room := int64(size) - c.Offset - 8
	if room < 0 {
		return 0
	}
	n := int64(1)
	if c.Stride > 0 {
		n = room/c.Stride + 1
	}
	if c.Count >= 0 {
		n = min(n, c.Count)
	}
	return min(n, maxElems)
}

// slots returns how many slots an object of the size has.
func (l *layout) slots(size uint64) int {
	n := l.fixed
	if l.flex {
		for i := range l.cells {
			if l.cells[i].Count < 0 {
				n += int(elems(l.cells[i].EdgeCell, size))
			}
		}
	}
	return n
}

// slotOf returns the slot of an element in an object of the size.
func (l *layout) slotOf(ci int, elem int64, size uint64) int {
	c := &l.cells[ci]
	if c.Count >= 0 {
		return c.slot + int(elem)
	}
	at := l.fixed
	for i := 0; i < ci; i++ {
		if l.cells[i].Count < 0 {
			at += int(elems(l.cells[i].EdgeCell, size))
		}
	}
	return at + int(elem)
}

// Overlap returns the elements [a, b) of a cell of an object of the size that the bytes
// [lo, hi) of the object touch.
func Overlap(c *check.EdgeCell, lo, hi int64, size uint64) (a, b int64) {
	n := elems(c, size)
	if n == 0 || hi <= c.Offset {
		return 0, 0
	}
	if n == 1 {
		if lo < c.Offset+8 {
			return 0, 1
		}
		return 0, 0
	}
	// Element e covers [Offset+e*Stride, +8).
	if first := lo - c.Offset - 7; first > 0 {
		a = (first + c.Stride - 1) / c.Stride
	}
	b = min(n, (hi-1-c.Offset)/c.Stride+1)
	if a > b {
		a = b
	}
	return a, b
}
