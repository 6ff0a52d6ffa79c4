package log

import (
	"encoding/binary"
	"fmt"
	"math"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// state says why deliver has stopped.
type state uint8

const (
	empty   state = iota // everything was delivered
	beyond               // the next record has a place beyond the limit: thread.next
	waiting              // the last record, at place thread.next, may be taken back
	unclear              // whether the next record, at place thread.next, is, the next cut will tell
	moved                // what others wait for has come
)

// deliver delivers the records of a thread with places up to limit. Stores of
// the last run are left for flush.
func (m *Merger) deliver(t *thread, limit uint64) (state, error) {
	for i := range t.segments {
		s := &t.segments[i]
		if place := max(t.place, s.floor); place > limit {
			t.next = place
			t.segments = t.segments[:copy(t.segments, t.segments[i:])]
			return beyond, nil
		} else {
			t.place = place
		}
		var st state
		var err error
		if s.hit != nil {
			err = m.event(t, s.hit)
		} else {
			st, err = m.segment(t, s, limit, t.keep && i == len(t.segments)-1)
		}
		if err != nil {
			return st, err
		}
		if st != empty {
			t.segments = t.segments[:copy(t.segments, t.segments[i:])]
			return st, nil
		}
	}
	clear(t.segments)
	t.segments = t.segments[:0]
	return empty, nil
}

// segment delivers the records of one piece of log and cuts them off it. keep:
// not the last one, if it is a store's.
func (m *Merger) segment(t *thread, s *segment, limit uint64, keep bool) (st state, err error) {
	b, off := s.buf, 0
	for off < len(b) && st == empty && err == nil {
		if t.place <= limit && len(b)-off >= shortest && binary.LittleEndian.Uint32(b[off:]) < layout.Special {
			if len(m.run.Recs) == 0 {
				m.run.Recs = m.room(batch)
			}
			off += m.plain(t, b[off:], limit == math.MaxUint64, keep)
			if off == len(b) {
				break
			}
			if len(m.run.Recs) == batch {
				if err = m.flush(t); err != nil {
					break
				}
				continue
			}
		}
		var n int
		n, st, err = m.one(t, b[off:], limit, keep)
		off += n
	}
	if err != nil && !m.refused {
		err = fmt.Errorf("log of thread %d at offset %#x: %w", t.id, s.at+uint64(off), err)
	}
	s.buf, s.at = b[off:], s.at+uint64(off)
	return st, err
}

// one delivers one record and returns the bytes that it takes, 0 if it is not
// its turn yet.
func (m *Merger) one(t *thread, r []byte, limit uint64, keep bool) (int, state, error) {
	if len(r) < shortest {
		return 0, empty, fmt.Errorf("cut off: %d bytes", len(r))
	}
	tag := binary.LittleEndian.Uint32(r)
	if tag >= layout.Special {
		return m.special(t, tag, r, limit)
	}
	f, n := m.table.store(tag)
	switch {
	case n == 0:
		return 0, empty, fmt.Errorf("no such record: tag %#x", tag)
	case n > len(r):
		return 0, empty, fmt.Errorf("record of store %d, of %d bytes in %d", tag>>layout.WordsBits, n, len(r))
	}
	place, open := t.place, true
	if f.form&formStamp != 0 {
		var stamp uint64
		stamp, open = layout.Stamped(binary.LittleEndian.Uint64(r[f.stamp:]))
		place = max(place, stamp)
	}
	st, behind := empty, place // where the thread is then
	var x exchange
	exchanged := false
	if f.form&formOld != 0 && len(m.threads) > 1 {
		x, exchanged = t.exchangeOf(f, r, t.place), f.wrote(r)
		if exchanged {
			place = x.since
		}
		switch {
		case place > limit:
			st = beyond
		case exchanged:
			place, st = m.turn(t, &x)
		}
		if st != empty {
			m.retain(t, &x)
			t.next = place
			return 0, st, nil
		}
	}
	switch {
	case place > limit:
		t.next = place
		return 0, beyond, nil
	case keep && n == len(r) && f.form&formOld == 0: // the record of an exchange is written behind it
		t.next = place
		return 0, waiting, nil
	}
	if len(t.private) > 0 {
		if err := m.publish(t); err != nil {
			return 0, empty, err
		}
	}
	t.place = behind
	if exchanged && m.left(&x, place) {
		t.next, st = behind, moved
	}
	addr := binary.LittleEndian.Uint64(r[layout.StoreAddr:]) + f.disp
	switch {
	case !open, !t.Wanted(addr, uint64(f.width)):
		m.stats.Filtered++
		return n, st, nil
	case !f.wrote(r):
		m.stats.Failed++
		return n, st, nil
	}
	rec := trace.StoreRec{Site: tag >> layout.WordsBits, Addr: addr}
	if f.form&formBase != 0 {
		rec.Base = binary.LittleEndian.Uint64(r[f.base:])
	}
	if f.form&formWide != 0 {
		rec.Value = m.wide(f, r)
	} else {
		var word [8]byte
		copy(word[:], r[layout.StoreValue:][:f.width])
		rec.Value = binary.LittleEndian.Uint64(word[:])
	}
	m.run.Recs = append(m.run.Recs, rec)
	return n, st, nil
}

// wide keeps the value of a record, of more than 8 bytes, for the run.
func (m *Merger) wide(f *storeForm, r []byte) (at uint64) {
	at = uint64(len(m.run.Wide))
	m.run.Wide = append(m.run.Wide, r[layout.StoreValue:][:f.width]...)
	return at
}

// zeroFlag in RAX as lahf left it.
const zeroFlag = 1 << 14

// given takes note of an error of the sink's, which says nothing of the log.
func (m *Merger) given(err error) error {
	m.refused = m.refused || err != nil
	return err
}

// flush delivers the stores that were collected, all of thread t.
func (m *Merger) flush(t *thread) error {
	n := len(m.run.Recs)
	if n == 0 {
		return nil
	}
	if err := m.calls.announce(); err != nil {
		return err
	}
	m.run.Thread, m.run.Wall = t.id, t.wall
	m.stats.Stores += uint64(n - m.run.Calls)
	m.stats.Hits += uint64(m.run.Calls)
	err := m.given(m.sink.Stores(&m.run))
	m.run.Recs, m.run.Wide, m.run.Calls, m.run.Allocs = m.run.Recs[:0], m.run.Wide[:0], 0, m.run.Allocs[:0]
	return err
}

// record returns the size of the record at the start of b, 0 if it is malformed, and its form if
// it is a store's, else nil.
func (t *Table) record(b []byte) (size int, f *storeForm) {
	if len(b) < shortest {
		return 0, nil
	}
	tag := binary.LittleEndian.Uint32(b)
	if tag < layout.Special {
		f, size = t.store(tag)
	} else {
		size, _ = specialSize(tag, b)
	}
	if size > len(b) {
		return 0, nil
	}
	return size, f
}

// wrote says whether a store of which this is the record has written: a conditional one may not have.
func (f *storeForm) wrote(r []byte) bool {
	return f.form&formFlags == 0 || binary.LittleEndian.Uint64(r[f.flags:])&zeroFlag != 0
}
