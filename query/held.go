package query

import (
	"bytes"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Last says whether a cell lived to the end, and was last written at t or before.
func (n *Names) Last(c Cell, t mgpp.Timestamp) bool {
	if c.Node == 0 || c.Dead || c.Size > maxHeld || n.hist.Node(c.Node).Death != 0 {
		return false
	}
	return n.hist.LastWrite(c.Addr, c.Size, n.hist.Now()) <= t
}

// maxHeld bounds the cells that are compared, bytes: a field of the longest scalar type.
const maxHeld = 16

// Held names what real memory held of a cell at the end, if that is something else than the recorded
// changes have left there, and "" if not; of a cell that none has written if it is not zero. Of one that
// is written in part nothing is said, and nothing of locks: the C library writes them while nobody looks.
func (n *Names) Held(c Cell, data []byte) string {
	now := n.hist.Now()
	v := n.hist.At(now)
	b := mgpp.NewBytes(c.Size)
	if !v.Read(c.Addr, &b) {
		return ""
	}
	written := 0
	for i := range data {
		if b.Written[i] {
			written++
		}
	}
	if written > 0 && written < len(data) || written == 0 && !slices.ContainsFunc(data, func(x byte) bool { return x != 0 }) {
		return ""
	}
	if at := n.hist.LastWrite(c.Addr, c.Size, now); at > 0 && trace.Locks(n.hist.Op(at).Name) {
		return ""
	}
	s := c.as
	if s.Type == nil {
		if f, ok := n.FieldAt(v, c.Node, c.Addr); ok && f.Addr == c.Addr && f.Size == c.Size {
			s = f.scalar
		}
	}
	if s.Type != nil && s.Type.Kind != types.Pointer {
		is := types.Read(s, data).String()
		if written > 0 && types.Read(s, b.Data).String() == is { // of a bit-field others may differ
			return ""
		}
		return is
	}
	value := little(data)
	if written > 0 && bytes.Equal(b.Data, data) {
		return ""
	}
	if id, ok := v.NodeAt(trace.Addr(value)); ok && c.Size == 8 {
		return hex(trace.Addr(value)) + ", in " + n.Name(id)
	}
	if s.Type != nil && value == 0 {
		return "NULL"
	}
	return hex(trace.Addr(value))
}
