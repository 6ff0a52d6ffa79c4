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
		easy |= formStamp | formOld
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
// appended to wide, which has the capacity for as many as recs has room for. The number of
// forms is a power of two. It returns the bytes that it has read, the stores that are
// wanted, and the records.
func gather(b []byte, end int, forms []plainForm, zones *[numZones]zone, recs []trace.StoreRec, wide *[]byte) (off, n, read int) {
	if end < 0 {
		return 0, 0, 0
	}
	most := uintptr(min(len(recs), end/plainSize+1)) * recSize
	o := others{zones: zones, wide: unsafe.Pointer(unsafe.SliceData(*wide)), used: uintptr(len(*wide))}
	start := unsafe.Pointer(unsafe.SliceData(b))
	to, table, mask := unsafe.Pointer(unsafe.SliceData(recs)), unsafe.Pointer(unsafe.SliceData(forms)), uintptr(len(forms)-1)*formSize
	var r unsafe.Pointer
	var at, left uintptr
	if assembled { // and no variable for which: o would be on the heap
		r, at, left = commonAssembled(start, to, most, table, mask, &o)
	} else {
		r, at, left = common(start, to, most, table, mask, &o)
	}
	*wide = (*wide)[:o.used]
	return int(uintptr(r) - uintptr(start)), int(at / recSize), int((at + most - left) / recSize)
}

// others is what common needs for the less common records.
type others struct {
	none  zone // empty
	zones *[numZones]zone
	wide  unsafe.Pointer // where values of 16 bytes go
	used  uintptr        // bytes of that
}

// common is gather's loop. It decodes at most so many records, counted in bytes of what it makes of
// them, from r on to what lies behind to. It returns where it has stopped, the bytes that it
// has written, and most less what was not wanted.
//
// This is where the time goes. Where the next record begins hangs on the tag of this one:
// that would have the processor wait for each in turn. So it is told by a jump, which it
// predicts, as it does that most stores go where the one before went. The one check of at
// bounds all that is read of any record, which is why that is done with pointers. On x86-64
// commonAssembled does the same.
func common(r, to unsafe.Pointer, most uintptr, forms unsafe.Pointer, mask uintptr, o *others) (on unsafe.Pointer, at, left uintptr) {
	near := &o.none // the zone of the last store that is wanted
	for at < most {
		tag := load32(r)
		f := formOf(forms, mask, tag)
		if f.tag != tag {
			break
		}
		addr := load64(unsafe.Add(r, addrAt)) + uint64(int64(f.disp))
		if addr-near.lo >= near.room {
			z := &o.zones[zoneOf(addr)]
			if addr-z.lo >= z.room {
				break
			}
			if !z.wanted {
				r = unsafe.Add(r, uintptr(4*(tag&wordsMask)))
				most -= recSize
				continue
			}
			near = z
		}
		rec := (*trace.StoreRec)(unsafe.Add(to, at))
		at += recSize
		rec.Site, rec.Addr, rec.Base = tag>>siteShift, addr, 0
		rec.Value = load64(unsafe.Add(r, valueAt)) & f.mask
		if tag&wordsMask == usualWords {
			r = unsafe.Add(r, 4*usualWords)
			continue
		}
		r = unsafe.Add(r, uintptr(4*(tag&wordsMask)))
		if tag&wordsMask > usualWords { // a base, behind all else, or a value of 16 bytes
			if f.mask != 0 {
				rec.Base = load64(unsafe.Add(r, -8))
				continue
			}
			rec.Value = uint64(o.used)
			*(*[pair]byte)(unsafe.Add(o.wide, o.used)) = *(*[pair]byte)(unsafe.Add(r, -pair))
			o.used += pair
		}
	}
	return r, at, most
}

// formOf is the form of a store with this tag, if it has the same; mask is one less than the
// number of forms, in bytes.
func formOf(forms unsafe.Pointer, mask uintptr, tag uint32) *plainForm {
	return (*plainForm)(unsafe.Add(forms, uintptr(tag>>(siteShift-formShift))&mask))
}

const (
	recSize   = unsafe.Sizeof(trace.StoreRec{})
	formShift = 4 // of formSize
	formSize  = unsafe.Sizeof(plainForm{})

	addrAt     = layout.StoreAddr
	valueAt    = layout.StoreValue
	siteShift  = layout.WordsBits
	wordsMask  = layout.Words
	usualWords = (layout.StoreValue + 8) / 4 // of a record with a value of 5 to 8 bytes
)

// load32 and load64 read a number of the log.
func load32(p unsafe.Pointer) uint32 { return binary.LittleEndian.Uint32((*[4]byte)(p)[:]) }
func load64(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }
