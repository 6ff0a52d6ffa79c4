package log

import (
	"encoding/binary"
	"fmt"

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
func (m *Merger) segment(t *thread, s *segment, limit uint64, keep bool) (state, error) {
	b, off, stores := s.buf, 0, m.table.stores
	recs := m.run.Recs
	st := empty
	var err error
	for off < len(b) {
		r := b[off:]
		if len(r) < layout.StoreValue+4 {
			err = fmt.Errorf("cut off: %d bytes", len(r))
			break
		}
		tag := binary.LittleEndian.Uint32(r)
		if uint64(tag) >= uint64(len(stores)) {
			m.run.Recs = recs
			var n int
			n, st, err = m.special(t, tag, r, limit)
			recs = m.run.Recs
			if n == 0 {
				break
			}
			off += n
			continue
		}
		f := &stores[tag]
		if int(f.size) > len(r) || f.size == 0 {
			err = fmt.Errorf("record of store %d, of %d bytes in %d", tag, f.size, len(r))
			break
		}
		if keep && int(f.size) == len(r) {
			st, t.next = waiting, t.place
			if f.form&formStamp != 0 {
				t.next = max(t.place, binary.LittleEndian.Uint64(r[f.stamp:]))
			}
			if t.next > limit {
				st = beyond
			}
			break
		}
		rec := trace.StoreRec{Site: tag, Addr: binary.LittleEndian.Uint64(r[layout.StoreAddr:])}
		if f.form != 0 {
			var ok bool
			if rec, ok = m.other(t, f, r, rec, limit); !ok {
				st = beyond
				break
			}
		} else if f.size >= layout.StoreValue+8 && len(r) >= layout.StoreValue+8 {
			rec.Value = binary.LittleEndian.Uint64(r[layout.StoreValue:]) & f.mask
		} else {
			rec.Value = uint64(binary.LittleEndian.Uint32(r[layout.StoreValue:])) & f.mask
		}
		off += int(f.size)
		if o := rec.Addr - t.good.lo; o >= t.good.n || t.good.n-o < uint64(f.width) {
			if !t.wanted(rec.Addr, uint64(f.width)) {
				m.stats.Filtered++
				continue
			}
		}
		if f.form&formFlags != 0 && binary.LittleEndian.Uint64(r[f.flags:])&zeroFlag == 0 {
			m.stats.Failed++
			continue
		}
		if f.form&formWide != 0 {
			rec.Value = uint64(len(m.run.Wide))
			m.run.Wide = append(m.run.Wide, r[layout.StoreValue:layout.StoreValue+int(f.width)]...)
		}
		recs = append(recs, rec)
		if len(recs) == batch {
			m.run.Recs = recs
			err = m.flush(t)
			recs = m.run.Recs
			if err != nil {
				break
			}
		}
	}
	m.run.Recs = recs
	if err != nil {
		err = fmt.Errorf("log of thread %d at offset %#x: %w", t.id, s.at+uint64(off), err)
	}
	s.buf, s.at = b[off:], s.at+uint64(off)
	return st, err
}

// zeroFlag in RAX as lahf left it.
const zeroFlag = 1 << 14

// other decodes the record of a store that has more than an address and a
// value of 8 bytes. It is false if its place is beyond the limit.
func (m *Merger) other(t *thread, f *storeForm, r []byte, rec trace.StoreRec, limit uint64) (trace.StoreRec, bool) {
	if f.form&formStamp != 0 {
		place := max(t.place, binary.LittleEndian.Uint64(r[f.stamp:]))
		if place > limit {
			t.next = place
			return rec, false
		}
		t.place = place
	}
	if f.form&formBase != 0 {
		rec.Base = binary.LittleEndian.Uint64(r[f.base:])
	}
	switch {
	case f.form&formWide != 0:
	case f.width > 4:
		rec.Value = binary.LittleEndian.Uint64(r[layout.StoreValue:]) & f.mask
	default:
		rec.Value = uint64(binary.LittleEndian.Uint32(r[layout.StoreValue:])) & f.mask
	}
	return rec, true
}

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
