package trace

import (
	"errors"
	"fmt"
	"io"
)

// batchStores is the longest run that NextBatch returns: it fits a processor's
// first caches.
const batchStores = piece

// Next reads the next event into e, whose slices are valid until the next
// call. Stores of runs are read one by one. It returns io.EOF at the end of a
// whole trace; ErrTruncated, wrapped with how far it came, at the end of one
// that was cut off; ErrCorrupt at damage.
func (t *Reader) Next(e *Event) error {
	if t.at == len(t.run.Recs) {
		s, err := t.batch(e, batchStores)
		if err != nil {
			return err
		}
		if s == nil {
			t.read++
			return nil
		}
	}
	t.run.Event(t.at, t.sites.sites, e)
	if t.plain {
		e.Stack = nil
	}
	t.at++
	t.read++
	return nil
}

// NextBatch reads what comes next: a run of stores, or, if it returns nil, one
// event into e, which what a call wrote is too. Both are valid until the next call. A run
// is returned in pieces if it is long. Errors are those of Next.
func (t *Reader) NextBatch(e *Event) (*Stores, error) {
	if t.at == len(t.run.Recs) {
		if s, err := t.batch(e, batchStores); s == nil {
			if err == nil {
				t.read++
			}
			return nil, err
		}
	}
	at, n := t.at, len(t.run.Recs)-t.at
	if t.run.Calls > 0 {
		n = untilCall(t.run.Recs[at:], t.sites.sites)
	}
	if n == 0 {
		return nil, t.Next(e)
	}
	t.at += n
	t.read += uint64(n)
	t.part.Thread, t.part.Wall, t.part.Recs, t.part.Wide = t.run.Thread, t.run.Wall, t.run.Recs[at:t.at], t.run.Wide
	t.part.Instants = nil
	if len(t.run.Instants) > 0 {
		t.part.Instants = t.run.Instants[at:t.at]
	}
	return &t.part, nil
}

// Sites are the store instructions and calls of the trace as far as it has been read:
// those of all stores that Next and NextBatch have returned. Do not change them.
func (t *Reader) Sites() []StoreSite { return t.sites.sites }

// batch decodes an event, or up to n stores into t.run, of which t.at says that
// none has been returned.
func (t *Reader) batch(e *Event, n uint64) (*Stores, error) {
	t.run.Recs, t.at = t.run.Recs[:0], 0
	for t.inRun == 0 {
		for t.events.left == 0 {
			if err := t.advance(); err != nil {
				return nil, err
			}
		}
		isRun, err := t.events.next(e, t)
		if err != nil {
			return nil, t.fail(err)
		}
		if !isRun {
			return nil, nil
		}
		t.run.Thread, t.run.Wall, t.inRun = e.Thread, e.Wall, e.Size
		if t.inRun > uint64(t.stores.left) {
			return nil, t.fail(fmt.Errorf("%w: a run of %d stores where %d are left", ErrCorrupt, t.inRun, t.stores.left))
		}
	}
	n = min(n, t.inRun, batchStores)
	if t.buffer == nil {
		t.buffer = make([]StoreRec, batchStores)
	}
	recs := t.buffer[:n]
	var err error
	t.stores.calls = 0
	if t.run.Wide, err = t.stores.next(recs, t.run.Wide[:0]); err != nil {
		return nil, t.fail(err)
	}
	t.run.Recs, t.run.Calls = recs, t.stores.calls
	t.inRun -= n
	if t.run.Instants, err = t.events.instants(int(n), t.instants[:0]); err != nil {
		return nil, t.fail(err)
	}
	t.instants = t.run.Instants[:0]
	return &t.run, nil
}

// advance takes in the next block.
func (t *Reader) advance() error {
	if t.failed != nil || t.next >= t.blocks.len() {
		return t.atEnd()
	}
	if t.stores.left > 0 {
		return t.fail(fmt.Errorf("%w: %d stores of no run", ErrCorrupt, t.stores.left))
	}
	b, err := t.blocks.get(t.next)
	if err != nil {
		return t.fail(err)
	}
	t.next++
	switch b.kind {
	case blockTables, blockSites, blockCalls, blockAllocs, blockSegment:
		if t.learned < t.next { // unless Seek went back
			t.learned = t.next
			err = t.takeKnowledge(t.next-1, b.kind == blockTables)
		}
	case blockStores:
		var raw []byte
		if raw, err = t.payload(b, &t.columns); err == nil {
			err = t.stores.load(raw)
		}
		if err == nil { // its events follow
			err = t.loadEvents()
		}
	case blockEvents:
		t.next--
		err = t.loadEvents()
	}
	if err != nil {
		return t.fail(err)
	}
	return nil
}

// loadEvents takes in a block of events, which is next.
func (t *Reader) loadEvents() error {
	if t.next >= t.blocks.len() {
		t.forget()
		return nil // cut off between the two
	}
	b, err := t.blocks.get(t.next)
	if err != nil {
		return err
	}
	if b.kind != blockEvents {
		return fmt.Errorf("%w: a block of stores before one of type %d", ErrCorrupt, b.kind)
	}
	t.next++
	raw, err := t.payload(b, &t.current)
	if err == nil {
		err = t.events.load(raw)
	}
	if err == nil && t.events.count()+uint64(t.stores.left) != uint64(b.count) {
		err = fmt.Errorf("%w: the count of a block of events", ErrCorrupt)
	}
	return err
}

// takeKnowledge takes in block i, which knows something: tables, or something else.
func (t *Reader) takeKnowledge(i int, tables bool) error {
	if t.plain && tables {
		t.pending = append(t.pending, i)
		return nil
	}
	b, err := t.blocks.get(i)
	if err != nil {
		return err
	}
	if b.kind == blockSegment {
		t.strings, t.stacks, t.pending = []string{""}, [][]Addr{nil}, nil
		t.sites.sites, t.sites.forms = nil, nil
		return nil
	}
	raw, err := t.payload(b, &t.other)
	if err != nil {
		return err
	}
	strings, stacks, sites := len(t.strings), len(t.stacks), len(t.sites.sites)
	switch b.kind {
	case blockTables:
		err = t.takeTables(raw)
	case blockCalls:
		err = t.takeCalls(raw)
	case blockAllocs:
		err = t.takeAllocs(raw)
	default:
		err = t.takeSites(raw)
	}
	if err != nil { // all or nothing: numbers count on
		t.strings, t.stacks = t.strings[:strings], t.stacks[:stacks]
		t.sites.sites, t.sites.forms = t.sites.sites[:sites], t.sites.forms[:sites]
	}
	return err
}

func (t *Reader) takeTables(raw []byte) error {
	c := cursor{buf: raw}
	for n := c.count(1); n > 0 && !c.bad; n-- {
		s := c.take(c.plain())
		c.bad = c.bad || len(s) == 0 // it is not stored, and would need more memory than it has bytes
		t.strings = append(t.strings, string(s))
	}
	if t.plain && !c.bad {
		return nil
	}
	for n := c.count(1); n > 0 && !c.bad; n-- {
		s := make([]Addr, c.count(1))
		c.bad = c.bad || len(s) == 0
		for i := range s {
			s[i] = Addr(c.delta())
		}
		c.prev = 0
		t.stacks = append(t.stacks, s)
	}
	if c.bad || len(c.buf) > 0 {
		return fmt.Errorf("%w: a block of tables", ErrCorrupt)
	}
	return nil
}

func (t *Reader) takeSites(raw []byte) error {
	c := cursor{buf: raw}
	for n := c.count(5); n > 0; n-- {
		s := StoreSite{PC: Addr(c.delta())}
		s.Width = c.byte()
		s.Flags = Flags(c.plain())
		s.Base = BaseForm(c.byte())
		s.Disp = int64(unzigzag(c.plain()))
		if c.bad || s.check() != nil {
			return fmt.Errorf("%w: a block of sites", ErrCorrupt)
		}
		t.sites.add(s)
	}
	if c.bad || len(c.buf) > 0 {
		return fmt.Errorf("%w: a block of sites", ErrCorrupt)
	}
	return nil
}

func (t *Reader) takeCalls(raw []byte) error {
	c := cursor{buf: raw}
	name := "" // of the call before: few functions write
	for n := c.count(4); n > 0; n-- {
		pc := Addr(c.delta())
		width := c.byte()
		if s := c.take(c.plain()); string(s) != name {
			name = string(s)
		}
		s := CallSite(name, pc, width)
		if c.bad || name == "" || s.check() != nil {
			return fmt.Errorf("%w: a block of calls", ErrCorrupt)
		}
		t.sites.add(s)
	}
	if c.bad || len(c.buf) > 0 {
		return fmt.Errorf("%w: a block of calls", ErrCorrupt)
	}
	return nil
}

func (t *Reader) takeAllocs(raw []byte) error {
	c := cursor{buf: raw}
	name := "" // of the call before
	for n := c.count(5); n > 0; n-- {
		pc := Addr(c.delta())
		kind, flags, stack := Kind(c.byte()), Flags(c.plain()), c.plain()
		if s := c.take(c.plain()); string(s) != name {
			name = string(s)
		}
		s := AllocSite(kind, flags, name, pc, nil)
		if c.bad || kind == 0 || s.check() != nil || !t.plain && stack >= uint64(len(t.stacks)) {
			return fmt.Errorf("%w: a block of allocators", ErrCorrupt)
		}
		if !t.plain {
			s.Stack = t.stacks[stack]
		}
		t.sites.add(s)
	}
	if c.bad || len(c.buf) > 0 {
		return fmt.Errorf("%w: a block of allocators", ErrCorrupt)
	}
	return nil
}

// fail ends the reading: what follows may need what could not be read.
func (t *Reader) fail(err error) error {
	t.failed = err
	t.forget()
	return t.atEnd()
}

// forget drops what has been taken in of the current chunk.
func (t *Reader) forget() {
	t.events.left, t.stores.left, t.inRun, t.at = 0, 0, 0, 0
	t.run.Recs = t.run.Recs[:0]
}

func (t *Reader) atEnd() error {
	why := t.failed
	if why == nil {
		why = t.damage
	}
	switch {
	case why == nil && t.trailer != nil:
		return io.EOF
	case why == nil || errors.Is(why, ErrTruncated):
		return fmt.Errorf("%w: %d events in %d of its %d bytes are whole", ErrTruncated, t.read, t.end, t.size)
	}
	return fmt.Errorf("%w (after %d events)", why, t.read)
}
