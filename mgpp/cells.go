package mgpp

import "slices"

// The history of bytes. Memory is divided into words of 8 bytes. A word that is
// written in part is split into two cells of 4 bytes, those if need be into 2
// and 1; `whole` has the writes of the whole cell, before the split and after.
//
// Invariant: every version in a chain wrote the whole cell of that chain. So
// the version of a byte at a time is the newest of at most four, one in each
// cell that contains it, and however often its neighbours were written it is
// found without looking at them: a count beside a key costs the reader of the
// key nothing.
//
// A page that was written as a whole gets one version, in the chain of the page,
// instead of 512.

type split struct {
	whole, lo, hi head
}

const splitBytes = 12

// memory is the history of all bytes.
type memory struct {
	pageIndex
	chains
	splits slab[split]
}

// write records that the operation at time t wrote [addr, addr+n).
func (m *memory) write(addr, n uint64, t uint32) {
	for n > 0 {
		p := m.touch(addr)
		o := addr & pageMask
		k := min(n, pageSize-o)
		if k == pageSize {
			m.push(&p.whole, t)
		} else {
			m.writePage(p, o, k, t)
		}
		addr += k
		n -= k
	}
}

func (m *memory) writePage(p *page, o, n uint64, t uint32) {
	if b := o & 7; b != 0 {
		k := min(n, 8-b)
		m.writeWord(p.word(o), uint32(b), uint32(k), t)
		o, n = o+k, n-k
	}
	if n >= 8 {
		p.word(o)
		m.writeWords(p.words[o>>3:][:n>>3], t)
	}
	if k := n & 7; k != 0 {
		m.writeWord(p.word(o+n-k), 0, uint32(k), t)
	}
}

// writeWords records a write of whole words. To those that the same was written to before, as to most of what is cleared at
// once, the same is written now.
func (m *memory) writeWords(words []head, t uint32) {
	for i := 0; i < len(words); {
		before := words[i]
		m.writeWord(&words[i], 0, 8, t)
		now := words[i]
		for i++; now < splitTag && i < len(words) && words[i] == before; i++ {
			words[i] = now
		}
	}
}

// word returns the head of the word at offset o.
func (p *page) word(o uint64) *head {
	if p.words == nil {
		p.words = new([pageWords]head)
	}
	return &p.words[o>>3]
}

// writeWord records a write of [b, b+n) of a word.
func (m *memory) writeWord(w *head, b, n, t uint32) {
	if n == 8 && !w.split() {
		m.push(w, t)
		return
	}
	m.writeCell(w, 8, b, n, t)
}

// writeCell records a write of [b, b+n) of the cell of the given width.
func (m *memory) writeCell(h *head, width, b, n, t uint32) {
	for { // down to the cell that is written as a whole
		if n == width {
			if h.split() {
				h = &m.splits.at(int(*h &^ tagMask)).whole
			}
			m.push(h, t)
			return
		}
		if !h.split() {
			*h = splitTag | head(m.splits.add(split{whole: *h}))
		}
		s := m.splits.at(int(*h &^ tagMask))
		width /= 2
		switch {
		case b+n <= width:
			h = &s.lo
		case b >= width:
			h = &s.hi
			b -= width
		default:
			m.writeCell(&s.lo, width, b, width-b, t)
			h = &s.hi
			b, n = 0, b+n-width
		}
	}
}

// times fills out with the newest version at or before t of each byte from
// addr on; 0 where there is none.
func (m *memory) times(addr uint64, out []uint32, t uint32) {
	for len(out) > 0 {
		o := addr & pageMask
		k := min(uint64(len(out)), pageSize-o)
		m.pageTimes(m.lookup(addr), o, out[:k], t)
		out = out[k:]
		addr += k
	}
}

func (m *memory) pageTimes(p *page, o uint64, out []uint32, t uint32) {
	if p == nil {
		clear(out)
		return
	}
	floor := m.find(p.whole, t)
	for len(out) > 0 {
		b := uint32(o & 7)
		k := min(uint32(len(out)), 8-b)
		var h head
		if p.words != nil {
			h = p.words[o>>3]
		}
		m.cellTimes(h, 8, b, out[:k], t, floor)
		out = out[k:]
		o += uint64(k)
	}
}

// cellTimes fills out for the bytes from b on of a cell. floor is a version
// that is known already to cover them.
func (m *memory) cellTimes(h head, width, b uint32, out []uint32, t, floor uint32) {
	if !h.split() {
		v := max(floor, m.find(h, t))
		for i := range out {
			out[i] = v
		}
		return
	}
	s := m.splits.at(int(h &^ tagMask))
	floor = max(floor, m.find(s.whole, t))
	half, n := width/2, uint32(len(out))
	if b < half {
		k := min(n, half-b)
		m.cellTimes(s.lo, half, b, out[:k], t, floor)
	}
	if b+n > half {
		from := max(b, half)
		m.cellTimes(s.hi, half, from-half, out[from-b:], t, floor)
	}
}

// single returns the newest version at or before t of n bytes in one word, n at most 8,
// if all of them have the same; 0 if they have not, or it is not easily seen.
func (m *memory) single(addr uint64, n, t uint32) uint32 {
	return m.singleIn(m.lookup(addr), addr, n, t)
}

// singleIn is single in the page of addr, nil if there is none.
func (m *memory) singleIn(p *page, addr uint64, n, t uint32) uint32 {
	b := uint32(addr & 7)
	if p == nil || p.words == nil || b+n > 8 {
		return 0
	}
	h, v := p.words[addr&pageMask>>3], m.find(p.whole, t)
	for width := uint32(8); h.split(); {
		s := m.splits.at(int(h &^ tagMask))
		v = max(v, m.find(s.whole, t))
		width /= 2
		switch {
		case b+n <= width:
			h = s.lo
		case b >= width:
			h = s.hi
			b -= width
		case m.newest(s.lo, t) > v || m.newest(s.hi, t) > v:
			return 0
		default:
			return v // written as a whole since its parts were
		}
	}
	return max(v, m.find(h, t))
}

// newest returns the newest version at or before t of any byte of a cell, 0 if there is none.
func (m *memory) newest(h head, t uint32) uint32 {
	if !h.split() {
		return m.find(h, t)
	}
	s := m.splits.at(int(h &^ tagMask))
	return max(m.find(s.whole, t), m.newest(s.lo, t), m.newest(s.hi, t))
}

// last returns the newest version at or before t of any byte of [addr, addr+n).
func (m *memory) last(addr, n uint64, t uint32) (v uint32) {
	m.eachCell(addr, n, func(h head) {
		v = max(v, m.find(h, t))
	})
	return v
}

// following returns the oldest version after t of any byte of [addr, addr+n).
func (m *memory) following(addr, n uint64, t uint32) (v uint32) {
	m.eachCell(addr, n, func(h head) {
		if x := m.findNext(h, t); x != 0 && (v == 0 || x < v) {
			v = x
		}
	})
	return v
}

// versions returns the versions after t of all bytes of [addr, addr+n), in order of time.
func (m *memory) versions(addr, n uint64, t uint32) []uint32 {
	var all []uint32
	m.eachCell(addr, n, func(h head) { all = m.after(all, h, t) })
	slices.Sort(all)
	return slices.Compact(all)
}

// eachCell calls f with every list that covers a byte of the range.
func (m *memory) eachCell(addr, n uint64, f func(head)) {
	for n > 0 {
		o := addr & pageMask
		k := min(n, pageSize-o)
		if p := m.lookup(addr); p != nil {
			f(p.whole)
			for q := o; p.words != nil && q < o+k; q = q&^7 + 8 {
				b := uint32(q & 7)
				m.overlapping(p.words[q>>3], 8, b, min(uint32(o+k-q), 8-b), f)
			}
		}
		addr += k
		n -= k
	}
}

func (m *memory) overlapping(h head, width, b, n uint32, f func(head)) {
	if !h.split() {
		f(h)
		return
	}
	s := m.splits.at(int(h &^ tagMask))
	f(s.whole)
	half := width / 2
	if b < half {
		m.overlapping(s.lo, half, b, min(n, half-b), f)
	}
	if b+n > half {
		from := max(b, half)
		m.overlapping(s.hi, half, from-half, b+n-from, f)
	}
}
