package log

import (
	"encoding/binary"
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
	stores, zones := m.table.stores, t.known()
	easy := uint8(formBase | formWide)
	if anyPlace {
		easy |= formStamp
	}
	for n < batch && off <= end {
		used, kept, read := gather(b[off:], end-off, stores, zones, recs[n:])
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
		if f.form&formStamp != 0 {
			t.place = max(t.place, binary.LittleEndian.Uint64(r[f.stamp:]))
		}
		rec := &recs[n]
		rec.Addr = binary.LittleEndian.Uint64(r[layout.StoreAddr:]) + f.disp
		if !t.Wanted(rec.Addr, uint64(f.width)) {
			m.stats.Filtered++
			continue
		}
		n++
		rec.Site = tag >> layout.WordsBits
		rec.Base = binary.LittleEndian.Uint64(r[f.base:]) & f.baseMask
		rec.Value = binary.LittleEndian.Uint64(r[layout.StoreValue:]) & f.mask
		if f.form&formWide != 0 {
			rec.Value = m.wide(f, r)
		}
	}
	m.run.Recs = recs[:n]
	return off
}

// gather decodes records of stores that have an address, a value of at most 8
// bytes, perhaps a base, and no more, to addresses that are told by zones, to
// recs. It stops at any other, at the first that begins beyond b[end], which has
// at least longest bytes behind it, and when recs are full. It returns the bytes
// that it has read, the stores that are wanted, and the records.
//
// This is where the time goes. Where the next record begins hangs on the tag
// alone, and whether a store is wanted is a number and no branch, so the processor
// works on several records at once. The one check of r bounds all that is read of
// any record, which is why that is done with pointers; and few variables live here,
// so that most are in registers.
func gather(b []byte, end int, stores []storeForm, zones *[numZones]zone, recs []trace.StoreRec) (off, n, read int) {
	if end < 0 || len(recs) == 0 {
		return 0, 0, 0
	}
	start, known := unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(zones)
	to, count := unsafe.Pointer(unsafe.SliceData(recs)), uint64(0)
	r := start
	last := uintptr(start) + uintptr(end)
	for uint32(count) < uint32(len(recs)) && uintptr(r) <= last {
		tag := load32(r)
		site := tag >> layout.WordsBits
		if uint64(site) >= uint64(len(stores)) {
			break
		}
		f := (*storeForm)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(stores)), uintptr(site)*unsafe.Sizeof(storeForm{})))
		if uint32(f.simple) != tag&layout.Words {
			break
		}
		addr := load64(unsafe.Add(r, layout.StoreAddr)) + f.disp
		z := (*zone)(unsafe.Add(known, zoneOf(addr)*unsafe.Sizeof(zone{})))
		if addr-z.lo >= z.room {
			break
		}
		rec := (*trace.StoreRec)(unsafe.Add(to, uintptr(uint32(count))*unsafe.Sizeof(trace.StoreRec{})))
		rec.Site, rec.Addr = site, addr
		rec.Base = load64(unsafe.Add(r, f.base)) & f.baseMask
		rec.Value = load64(unsafe.Add(r, layout.StoreValue)) & f.mask
		count += z.count
		r = unsafe.Add(r, uintptr(4*(tag&layout.Words)))
	}
	return int(uintptr(r) - uintptr(start)), int(uint32(count)), int(count >> 32)
}

// load32 and load64 read a number of the log.
func load32(p unsafe.Pointer) uint32 { return binary.LittleEndian.Uint32((*[4]byte)(p)[:]) }
func load64(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }
