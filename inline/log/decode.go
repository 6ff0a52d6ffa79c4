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
		off += m.plain(t, b[off:], limit == math.MaxUint64, keep)
		if off == len(b) {
			break
		}
		if len(m.run.Recs) == batch {
			if err = m.flush(t); err != nil {
				break
			}
		}
		var n int
		n, st, err = m.one(t, b[off:], limit, keep)
		off += n
	}
	if err != nil {
		err = fmt.Errorf("log of thread %d at offset %#x: %w", t.id, s.at+uint64(off), err)
	}
	s.buf, s.at = b[off:], s.at+uint64(off)
	return st, err
}

// Sizes of the records with form 0: values of up to 4, and of up to 8 bytes.
const (
	shortRecord = layout.StoreValue + 4
	longRecord  = layout.StoreValue + 8
)

// plain collects unconditional stores without stamps, as long as there is
// nothing else in the way, and returns the bytes that they take. anyPlace: stamps
// do not matter either. This is where the time goes: where the next record begins
// should be known before this one's table entry is there, so the two sizes of
// most are two ways through the loop, which the processor foresees.
func (m *Merger) plain(t *thread, b []byte, anyPlace, keep bool) (off int) {
	recs, n, stores := m.run.Recs[:batch], len(m.run.Recs), m.table.stores
	lo, room := t.good.lo, t.good.inner()
	end, easy := len(b), uint8(formBase|formWide)
	if keep {
		end--
	}
	if anyPlace {
		easy |= formStamp
	}
	for n < len(recs) && off+longRecord <= end {
		r := (*[longRecord]byte)(b[off:])
		tag := binary.LittleEndian.Uint32(r[:])
		if uint64(tag) >= uint64(len(stores)) {
			break
		}
		f := &stores[tag]
		addr := binary.LittleEndian.Uint64(r[layout.StoreAddr:]) + f.disp
		if f.form&^easy != 0 || addr-lo >= room {
			break
		}
		rec := &recs[n]
		rec.Site, rec.Addr, rec.Base = tag, addr, 0
		switch {
		case f.form != 0:
			next := off + int(f.size)
			if next > end {
				m.run.Recs = recs[:n]
				return off
			}
			m.parts(t, f, b[off:next], rec)
			off = next
		case f.width > 4:
			rec.Value = binary.LittleEndian.Uint64(r[layout.StoreValue:]) & f.mask
			off += longRecord
		default:
			rec.Value = uint64(binary.LittleEndian.Uint32(r[layout.StoreValue:])) & f.mask
			off += shortRecord
		}
		n++
	}
	m.run.Recs = recs[:n]
	return off
}

// parts decodes value, base and stamp of the record r of a store.
func (m *Merger) parts(t *thread, f *storeForm, r []byte, rec *trace.StoreRec) {
	if f.form&formBase != 0 {
		rec.Base = binary.LittleEndian.Uint64(r[f.base:])
	}
	if f.form&formStamp != 0 {
		t.place = max(t.place, binary.LittleEndian.Uint64(r[f.stamp:]))
	}
	switch v := r[layout.StoreValue:]; {
	case f.form&formWide != 0:
		rec.Value = uint64(len(m.run.Wide))
		m.run.Wide = append(m.run.Wide, v[:f.width]...)
	case f.width > 4:
		rec.Value = binary.LittleEndian.Uint64(v) & f.mask
	default:
		rec.Value = uint64(binary.LittleEndian.Uint32(v)) & f.mask
	}
}

// one delivers one record and returns the bytes that it takes, 0 if it is not
// its turn yet.
func (m *Merger) one(t *thread, r []byte, limit uint64, keep bool) (int, state, error) {
	if len(r) < shortRecord {
		return 0, empty, fmt.Errorf("cut off: %d bytes", len(r))
	}
	tag := binary.LittleEndian.Uint32(r)
	if uint64(tag) >= uint64(len(m.table.stores)) {
		return m.special(t, tag, r, limit)
	}
	f := &m.table.stores[tag]
	n := int(f.size)
	if n > len(r) || n == 0 {
		return 0, empty, fmt.Errorf("record of store %d, of %d bytes in %d", tag, n, len(r))
	}
	place := t.place
	if f.form&formStamp != 0 {
		place = max(place, binary.LittleEndian.Uint64(r[f.stamp:]))
	}
	switch {
	case place > limit:
		t.next = place
		return 0, beyond, nil
	case keep && n == len(r):
		t.next = place
		return 0, waiting, nil
	}
	t.place = place
	addr := binary.LittleEndian.Uint64(r[layout.StoreAddr:]) + f.disp
	switch {
	case !t.wanted(addr, uint64(f.width)):
		m.stats.Filtered++
		return n, empty, nil
	case f.form&formFlags != 0 && binary.LittleEndian.Uint64(r[f.flags:])&zeroFlag == 0:
		m.stats.Failed++
		return n, empty, nil
	}
	rec := trace.StoreRec{Site: tag, Addr: addr}
	m.parts(t, f, r, &rec)
	m.run.Recs = append(m.run.Recs, rec)
	return n, empty, nil
}

// zeroFlag in RAX as lahf left it.
const zeroFlag = 1 << 14

// flush delivers the stores that were collected, all of thread t.
func (m *Merger) flush(t *thread) error {
	n := len(m.run.Recs)
	if n == 0 {
		return nil
	}
	m.run.Thread, m.run.Wall = t.id, t.wall
	m.stats.Stores += uint64(n)
	err := m.sink.Stores(&m.run)
	m.run.Recs, m.run.Wide = m.run.Recs[:0], m.run.Wide[:0]
	return err
}

// record returns the size of the record at the start of b and whether it is a
// store's; 0 if it is malformed.
func (t *Table) record(b []byte) (size int, store bool) {
	if len(b) < layout.StoreValue+4 {
		return 0, false
	}
	tag := binary.LittleEndian.Uint32(b)
	if uint64(tag) < uint64(len(t.stores)) {
		size, store = int(t.stores[tag].size), true
	} else {
		size, _ = specialSize(tag, b)
	}
	if size > len(b) {
		return 0, false
	}
	return size, store
}
