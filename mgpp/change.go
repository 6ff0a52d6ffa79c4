package mgpp

import (
	"bytes"
	"slices"

	"mgtrace/trace"
)

// Change is what one operation did to a range of bytes.
type Change struct {
	Addr     trace.Addr
	Old, New Bytes
}

// Same reports whether the bytes are what they were: such an operation
// contributes to nothing. Bytes that are unknown before or after differ, unless
// they were and are unwritten.
func (c *Change) Same() bool {
	return bytes.Equal(c.Old.Data, c.New.Data) && slices.Equal(c.Old.Written, c.New.Written)
}

// Change returns what the operation at t changed: its whole extent in one
// piece; a realloc's are the bytes that it carried over. Operations that write
// no bytes (births, deaths, resizes, memberships) give nil. Old bytes outside
// all nodes are those of the dead node that was there, else unwritten.
func (h *History) Change(t Timestamp) []Change {
	if t == 0 || t > h.Now() {
		return nil
	}
	addr, size := h.extent(uint32(t))
	if size == 0 {
		return nil
	}
	return []Change{h.changed(uint32(t), addr, size)}
}

// changed returns what the operation at t changed of [addr, addr+size), a part of its extent.
func (h *History) changed(t uint32, addr, size uint64) Change {
	c := Change{Addr: trace.Addr(addr), Old: NewBytes(size), New: NewBytes(size)}
	c.New.Newest = Timestamp(t)
	h.fetch(t, addr, &c.New, 0, int(size))
	if h.ops.site(t).kind != OpMove { // a new block held nothing
		h.readLoose(addr, &c.Old, t-1)
	}
	return c
}

// compared is how many bytes of a change are looked at together: a change may be of gigabytes.
const compared = 64 << 10

// SameValue reports whether the operation at t stored what was there already.
func (h *History) SameValue(t Timestamp) bool {
	if t == 0 || t > h.Now() {
		return false
	}
	addr, size := h.extent(uint32(t))
	for off := uint64(0); off < size; off += compared {
		if c := h.changed(uint32(t), addr+off, min(size-off, compared)); !c.Same() {
			return false
		}
	}
	return size > 0
}

// NewBytes returns room for n bytes, none of them written.
func NewBytes[N ~int | ~int64 | ~uint64](n N) Bytes {
	return Bytes{Data: make([]byte, n), Written: make([]bool, n)}
}

// readLoose fills b at t across nodes, dead nodes and the space between.
func (h *History) readLoose(addr uint64, b *Bytes, t uint32) {
	if h.read(addr, b, t, nil, nil) {
		return
	}
	var part Bytes
	for i := 0; i < len(b.Data); {
		a := addr + uint64(i)
		id := h.formerAt(a, t)
		if id == 0 {
			i++
			continue
		}
		// The bytes that follow in the same granule are the same node's, or
		// asked for in the next round.
		k := 1
		for i+k < len(b.Data) && (a+uint64(k))%granule != 0 && h.formerAt(a+uint64(k), t) == id {
			k++
		}
		part.Data = b.Data[i : i+k]
		h.readNode(id, a-h.nodes.at(id).start, &part, t, nil, nil)
		copy(b.Written[i:], part.Written)
		b.Newest = max(b.Newest, part.Newest)
		i += k
	}
}

// Cursor walks the history one operation at a time, at the cost of that
// operation. The graph on either side of it is History.At.
type Cursor struct {
	h *History
	t Timestamp
}

// Cursor returns a cursor that stands behind the operation at t.
func (h *History) Cursor(t Timestamp) *Cursor { return &Cursor{h, Timestamp(h.clip(t))} }

// Time returns the time of the graph at the cursor.
func (c *Cursor) Time() Timestamp { return c.t }

// View returns the graph at the cursor.
func (c *Cursor) View() View { return c.h.At(c.t) }

// Step is what a cursor passed over.
type Step struct {
	Op      Op
	Changes []Change // always as old → new in the order of time
	Born    NodeID   // 0 if none
	Died    NodeID
}

// Forward moves over the next operation. It reports false at the end.
func (c *Cursor) Forward() (Step, bool) {
	if c.t >= c.h.Now() {
		return Step{}, false
	}
	c.t++
	return c.h.step(c.t), true
}

// Back moves back over the operation before the cursor. It reports false at
// time 0.
func (c *Cursor) Back() (Step, bool) {
	if c.t == 0 {
		return Step{}, false
	}
	c.t--
	return c.h.step(c.t + 1), true
}

func (h *History) step(t Timestamp) Step {
	s := Step{Op: h.Op(t), Changes: h.Change(t)}
	switch s.Op.Kind {
	case OpBirth:
		s.Born = s.Op.Node
	case OpDeath:
		s.Died = s.Op.Node
	case OpMove:
		s.Died, s.Born = s.Op.Node, s.Op.Other
	}
	return s
}
