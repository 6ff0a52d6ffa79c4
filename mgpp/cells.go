package mgpp

// The history of bytes. Memory is divided into words of 8 bytes; the versions
// of a word are a list of timestamps, whose operations hold the bytes.
//
// Invariant: every element of a cell's list wrote the whole cell. A word that
// is written in part is split into two cells of 4 bytes, those if need be into
// 2 and 1; what was written before the split stays in the list `older`, which
// lies below the lists of both halves. So the version of a byte at a time is
// found by binary search, however often its neighbours were written: a count
// beside a key costs the reader of the key nothing.
//
// A page that was written as a whole gets one element in the list of the page
// instead of 512.

const (
	pageBits  = 12
	pageSize  = 1 << pageBits
	pageMask  = pageSize - 1
	pageWords = pageSize / 8
	wordBits  = pageBits - 3
	granule   = 16 // bytes that share one list of owners (nodes.go)

	maxPages = 1 << (32 - wordBits) // a word's number has 32 bits
)

type split struct {
	older, lo, hi head
}

type page struct {
	number uint64 // address >> pageBits
	words  *[pageWords]head
	owners *[pageSize / granule]head
	whole  head // versions of the whole page
	owner  head // owners of the whole page
	shared bool // two live nodes have been in one granule
	image  *image
}

// image is what a page's bytes were before any operation.
type image struct {
	data  [pageSize]byte
	known [pageSize / 64]uint64
}

func (m *image) has(o uint64) bool { return m.known[o/64]&(1<<(o%64)) != 0 }

// memory is the paged address space.
type memory struct {
	index map[uint64]uint32 // page number → index in pages
	pages slab[page]
	*lists
	splits slab[split]
	cache  [cacheSize]cached // of the builder only: readers may be many
}

const cacheSize = 1 << 10

// cached remembers where a page is: number+1, since 0 is empty.
type cached struct {
	key  uint64
	page *page
	id   uint32
}

// lookup returns the page of addr, nil if it has no history.
func (m *memory) lookup(addr uint64) *page {
	i, ok := m.index[addr>>pageBits]
	if !ok {
		return nil
	}
	return m.pages.at(int(i))
}

// fast is lookup for the builder.
func (m *memory) fast(addr uint64) (*page, uint32) {
	n := addr >> pageBits
	c := &m.cache[n%cacheSize]
	if c.key == n+1 {
		return c.page, c.id
	}
	i, ok := m.index[n]
	if !ok {
		return nil, 0
	}
	*c = cached{n + 1, m.pages.at(int(i)), i}
	return c.page, i
}

// touch returns the page of addr, made if need be.
func (m *memory) touch(addr uint64) (*page, uint32) {
	if p, i := m.fast(addr); p != nil {
		return p, i
	}
	i := m.pages.add(page{number: addr >> pageBits})
	m.index[addr>>pageBits] = uint32(i)
	return m.pages.at(i), uint32(i)
}

// write records that the operation at time t wrote [addr, addr+n).
func (m *memory) write(addr, n uint64, t uint32) {
	for n > 0 {
		p, _ := m.touch(addr)
		o := addr & pageMask
		k := min(n, pageSize-o)
		if k == pageSize {
			p.whole = m.push(p.whole, t)
		} else {
			m.writePage(p, o, k, t)
		}
		addr += k
		n -= k
	}
}

func (m *memory) writePage(p *page, o, n uint64, t uint32) {
	if p.words == nil {
		p.words = new([pageWords]head)
	}
	for n > 0 {
		b := o & 7
		k := min(n, 8-b)
		w := &p.words[o>>3]
		if k == 8 && *w&(headInline|headSplit) != headSplit {
			*w = m.push(*w, t)
		} else {
			*w = m.writeCell(*w, 8, uint32(b), uint32(k), t)
		}
		o += k
		n -= k
	}
}

// writeCell records a write of [b, b+n) of the cell of the given width.
func (m *memory) writeCell(h head, width, b, n, t uint32) head {
	isSplit := h&(headInline|headSplit) == headSplit
	if n == width && !isSplit {
		return m.push(h, t)
	}
	if !isSplit {
		h = headSplit | head(m.splits.add(split{older: h}))
	}
	s := m.splits.at(int(h &^ headSplit))
	half := width / 2
	if b < half {
		s.lo = m.writeCell(s.lo, half, b, min(n, half-b), t)
	}
	if b+n > half {
		from := max(b, half)
		s.hi = m.writeCell(s.hi, half, from-half, b+n-from, t)
	}
	return h
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
	if h&(headInline|headSplit) != headSplit {
		v := max(floor, m.find(h, t))
		for i := range out {
			out[i] = v
		}
		return
	}
	s := m.splits.at(int(h &^ headSplit))
	floor = max(floor, m.find(s.older, t))
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
	if h&(headInline|headSplit) != headSplit {
		f(h)
		return
	}
	s := m.splits.at(int(h &^ headSplit))
	f(s.older)
	half := width / 2
	if b < half {
		m.overlapping(s.lo, half, b, min(n, half-b), f)
	}
	if b+n > half {
		from := max(b, half)
		m.overlapping(s.hi, half, from-half, b+n-from, f)
	}
}

// setImage records what bytes were before any operation; the first word on a
// byte counts.
func (m *memory) setImage(addr uint64, data []byte) {
	for len(data) > 0 {
		p, _ := m.touch(addr)
		if p.image == nil {
			p.image = new(image)
		}
		o := addr & pageMask
		k := min(uint64(len(data)), pageSize-o)
		for i := range k {
			if q := o + i; !p.image.has(q) {
				p.image.data[q] = data[i]
				p.image.known[q/64] |= 1 << (q % 64)
			}
		}
		data = data[k:]
		addr += k
	}
}

// imageByte returns the byte before any operation, if it is known.
func (m *memory) imageByte(addr uint64) (byte, bool) {
	p := m.lookup(addr)
	if p == nil || p.image == nil || !p.image.has(addr&pageMask) {
		return 0, false
	}
	return p.image.data[addr&pageMask], true
}

// pageCost is the memory that a page's record takes, lists aside.
func pageCost(p *page) uint64 {
	n := uint64(64)
	if p.words != nil {
		n += 4 * pageWords
	}
	if p.owners != nil {
		n += 4 * pageSize / granule
	}
	if p.image != nil {
		n += pageSize + pageSize/8
	}
	return n
}
