package log

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// plain collects unconditional stores without stamps, as long as there is
// nothing else in the way, and returns the bytes that they take. anyPlace: stamps
// do not matter either. It leaves the last records of b to others.
func (m *Merger) plain(t *thread, b []byte, anyPlace, keep bool) (off int) {
	end := len(b) - longest
	if keep {
		end-- // the last record may be taken back
	}
	recs, n := m.run.Recs[:batch], len(m.run.Recs)
	forms, zones := m.table.plain, t.known()
	easy := uint8(formBase | formWide)
	if anyPlace {
		easy |= formStamp
	}
	for n < batch && off <= end {
		m.run.Wide = slices.Grow(m.run.Wide, pair*(batch-n))
		used, kept, read := gather(b[off:], end-off, forms, zones, recs[n:], &m.run.Wide)
		n += kept
		off += used
		m.stats.Filtered += uint64(read - kept)
		if n == batch || off > end {
			break
		}
		// One that is not in the simplest form, or at an address of which it is
		// not known yet whether it is wanted.
		r := b[off:]
		tag := binary.LittleEndian.Uint32(r)
		f, size := m.table.store(tag)
		if size == 0 || f.form&^easy != 0 {
			break
		}
		off += size
		open := true
		if f.form&formStamp != 0 {
			var stamp uint64
			stamp, open = layout.Stamped(binary.LittleEndian.Uint64(r[f.stamp:]))
			t.place = max(t.place, stamp)
		}
		rec := &recs[n]
		rec.Addr = binary.LittleEndian.Uint64(r[layout.StoreAddr:]) + f.disp
		if !open || !t.Wanted(rec.Addr, uint64(f.width)) {
			m.stats.Filtered++
			continue
		}
		n++
		rec.Site = tag >> layout.WordsBits
		rec.Base = 0
		if f.form&formBase != 0 {
			rec.Base = binary.LittleEndian.Uint64(r[f.base:])
		}
		rec.Value = binary.LittleEndian.Uint64(r[layout.StoreValue:]) & f.mask
		if f.form&formWide != 0 {
			rec.Value = m.wide(f, r)
		}
	}
	m.run.Recs = recs[:n]
	return off
}

// gather decodes records of stores that have a plainForm, to addresses that are told by
// zones, to recs. It stops at any other, before one begins beyond b[end], which has
// at least longest bytes behind it, and when recs may be full. Values of 16 bytes are
// appended to wide, which has the capacity for as many as recs has room for. It returns
// the bytes that it has read, the stores that are wanted, and the records.
//
// This is where the time goes. Where the next record begins hangs on the tag of this one:
// that would have the processor wait for each in turn. So it is told by a jump, which it
// predicts, as it does that most stores go where the one before went. The one check of r
// bounds all that is read of any record, which is why that is done with pointers; and few
// variables live here, so that most are in registers.
func gather(b []byte, end int, forms []plainForm, zones *[numZones]zone, recs []trace.StoreRec, wide *[]byte) (off, n, read int) {
	if end < 0 {
		return 0, 0, 0
	}
	start, to := unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(unsafe.SliceData(recs))
	r := start
	most := min(len(recs), end/plainSize+1)
	left := most
	var lo, room uint64 // of the zone of the last store that is wanted
	for ; left > 0; left-- {
		tag := load32(r)
		site := tag >> layout.WordsBits
		if uint64(site) >= uint64(len(forms)) {
			break
		}
		f := &forms[site]
		if f.tag != tag {
			break
		}
		addr := load64(unsafe.Add(r, layout.StoreAddr)) + uint64(int64(f.disp))
		if addr-lo >= room {
			z := &zones[zoneOf(addr)]
			if addr-z.lo >= z.room {
				break
			}
			if !z.wanted {
				r = unsafe.Add(r, uintptr(4*(tag&layout.Words)))
				continue
			}
			lo, room = z.lo, z.room
		}
		rec := (*trace.StoreRec)(unsafe.Add(to, uintptr(n)*unsafe.Sizeof(trace.StoreRec{})))
		n++
		rec.Site, rec.Addr, rec.Base = site, addr, 0
		rec.Value = load64(unsafe.Add(r, layout.StoreValue)) & f.mask
		const words = (layout.StoreValue + 8) / 4 // with a value of 5 to 8 bytes
		if tag&layout.Words == words {
			r = unsafe.Add(r, 4*words)
			continue
		}
		r = unsafe.Add(r, uintptr(4*(tag&layout.Words)))
		if tag&layout.Words > words { // a base, behind all else, or a value of 16 bytes
			if f.mask != 0 {
				rec.Base = load64(unsafe.Add(r, -8))
				continue
			}
			at := len(*wide)
			rec.Value = uint64(at)
			*wide = (*wide)[:at+pair]
			*(*[pair]byte)((*wide)[at:]) = *(*[pair]byte)(unsafe.Add(r, -pair))
		}
	}
	return int(uintptr(r) - uintptr(start)), n, most - left
}

// load32 and load64 read a number of the log.
func load32(p unsafe.Pointer) uint32 { return binary.LittleEndian.Uint32((*[4]byte)(p)[:]) }
func load64(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }
