package trace

import (
	"encoding/binary"
	"fmt"
)

// cursor reads coded values. After bad input it returns zeros, and bad is set.
type cursor struct {
	buf  []byte
	prev uint64
	bad  bool
	gone bool // the column is missing: it holds zeros
}

func (c *cursor) plain() uint64 {
	if c.gone {
		return 0
	}
	if len(c.buf) > 0 && c.buf[0] < 0x80 {
		v := c.buf[0]
		c.buf = c.buf[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.bad, c.buf = true, nil
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

func (c *cursor) delta() uint64 {
	if c.gone {
		return 0
	}
	c.prev += unzigzag(c.plain())
	return c.prev
}

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.buf)) {
		c.bad = true
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// count reads a number of things that take at least size bytes each.
func (c *cursor) count(size uint64) uint64 {
	n := c.plain()
	if n > uint64(len(c.buf))/size {
		c.bad = true
		return 0
	}
	return n
}

// events decodes the events of one block.
type events struct {
	left    uint64
	kinds   []byte
	columns [NumKinds][numFields]cursor
	args    []uint64
}

// load takes a block of events, which it refers to.
func (x *events) load(raw []byte) error {
	x.left, x.kinds = 0, nil
	for k := range x.columns {
		for f := range x.columns[k] {
			x.columns[k][f] = cursor{gone: true}
		}
	}
	c := cursor{buf: raw}
	n := c.plain()
	for !c.bad && len(c.buf) > 0 {
		head := c.take(2)
		if head == nil {
			break
		}
		data := c.take(c.plain())
		switch k, f := head[0], field(head[1]); {
		case k == 0 && f == fieldKind:
			x.kinds = data
		case int(k) < NumKinds && f < numFields:
			x.columns[k][f] = cursor{buf: data}
		default:
			c.bad = true
		}
	}
	if c.bad || n != uint64(len(x.kinds)) {
		return fmt.Errorf("%w: a block of events", ErrCorrupt)
	}
	for i := range x.columns { // an empty column of bytes is empty, not zeros
		x.columns[i][fieldBytes].gone = false
	}
	x.left = n
	return nil
}

// count is how many of the rows that are left are events.
func (x *events) count() uint64 {
	n := uint64(0)
	for _, k := range x.kinds {
		if k != kindRun {
			n++
		}
	}
	return n
}

// next decodes one row: an event, with the tables of t, or a run, whose Thread,
// Wall and number of stores (Size) it sets.
func (x *events) next(e *Event, t *Reader) (isRun bool, err error) {
	k := Kind(x.kinds[0])
	x.kinds = x.kinds[1:]
	x.left--
	if k == kindRun {
		c := &x.columns[0]
		*e = Event{Thread: ThreadID(c[fieldThread].delta()), Wall: int64(c[fieldWall].delta()), Size: c[fieldRun].plain()}
		if c[fieldThread].bad || c[fieldWall].bad || c[fieldRun].bad {
			return true, fmt.Errorf("%w: a run of stores", ErrCorrupt)
		}
		return true, nil
	}
	if !k.valid() {
		return false, fmt.Errorf("%w: an event of unknown kind %d", ErrCorrupt, k)
	}
	return false, x.nextEvent(k, e, t)
}

// instants decodes those of the next n stores of runs; none if they have none.
func (x *events) instants(n int, to []Instant) ([]Instant, error) {
	c := &x.columns[0][fieldInstants]
	if c.gone {
		return to, nil
	}
	for range n {
		to = append(to, Instant(c.delta()))
	}
	if c.bad {
		return nil, fmt.Errorf("%w: the instants of a run of stores", ErrCorrupt)
	}
	return to, nil
}

func (x *events) nextEvent(k Kind, e *Event, t *Reader) error {
	c := &x.columns[k]
	*e = Event{
		Kind:    k,
		Thread:  ThreadID(x.columns[0][fieldThread].delta()),
		Wall:    int64(x.columns[0][fieldWall].delta()),
		Instant: Instant(x.columns[0][fieldInstant].delta()),
		Flags:   Flags(c[fieldFlags].delta()),
		PC:      Addr(c[fieldPC].delta()),
	}
	bad := false
	fs := kindSpecs[k].fields
	if fs.has(fieldData) {
		if n := c[fieldData].plain(); n > 0 {
			e.Data = c[fieldBytes].take(n)
		}
		bad = c[fieldData].bad || c[fieldBytes].bad
	}
	if fs.has(fieldAddr) {
		e.Addr = Addr(c[fieldAddr].delta())
	}
	if fs.has(fieldSize) {
		e.Size = c[fieldSize].delta() + uint64(len(e.Data))
	}
	if fs.has(fieldBase) {
		e.Base = Addr(decodeBase(uint64(e.Addr), c[fieldBase].plain()))
	}
	if fs&rare != 0 {
		bad = x.nextRare(e, c, fs, t) || bad
	}
	if bad || x.columns[0][fieldThread].bad || x.columns[0][fieldWall].bad || x.columns[0][fieldInstant].bad || c[fieldFlags].bad ||
		c[fieldPC].bad || c[fieldAddr].bad || c[fieldSize].bad || c[fieldBase].bad {
		return fmt.Errorf("%w: an event of kind %s", ErrCorrupt, k)
	}
	return nil
}

func (x *events) nextRare(e *Event, c *[numFields]cursor, fs fieldSet, t *Reader) (bad bool) {
	if fs.has(fieldAux) {
		e.Aux = c[fieldAux].delta()
	}
	if fs.has(fieldSP) {
		e.SP = Addr(c[fieldSP].delta())
	}
	if fs.has(fieldRet) {
		e.Ret = c[fieldRet].delta()
	}
	if fs.has(fieldName) {
		name, ok := t.name(c[fieldName].plain())
		e.Name = name
		bad = bad || !ok
	}
	if fs.has(fieldStack) {
		switch i := c[fieldStack].plain(); {
		case t.plain:
		case i < uint64(len(t.stacks)):
			e.Stack = t.stacks[i]
		default:
			bad = true
		}
	}
	if fs.has(fieldArgs) {
		if n := c[fieldArgs].count(1); n > 0 {
			x.args = x.args[:0]
			for range n {
				x.args = append(x.args, c[fieldArgs].plain())
			}
			e.Args = x.args
		}
	}
	return bad || c[fieldAux].bad || c[fieldSP].bad || c[fieldRet].bad || c[fieldName].bad || c[fieldStack].bad || c[fieldArgs].bad
}
