package patch

import (
	"math/bits"
	"slices"
)

const (
	pageBits = 12
	pageSize = 1 << pageBits
	// margin is left free at both ends of each free range, in bytes: what lies
	// there may grow.
	margin = 64 << 10
	// reach is the distance that a 32-bit displacement covers.
	reach = 1 << 31
	// small is a run of free bytes too short to look for.
	small = 32
	// line is what the processor fetches code by, bytes.
	line = 64
)

// space hands out the bytes of the free address ranges.
//
// Pages that hold something have a bitmap with a bit per byte. A range knows
// which of its pages are in use, and which of those have room.
type space struct {
	ranges []room
	pages  []*page
}

// room is one free range.
type room struct {
	lo, hi uint64         // half-open
	base   uint64         // number of the page that holds lo
	pages  uint64         // that it has, in part or whole
	index  []*[part]int32 // per page: 1 + its index in space.pages, or 0; nil: none of a part is in use
	open   []uint64       // bit per page: in use, with room
}

// part is how many pages' indices lie together. Of gigabytes of addresses some megabytes are used.
const part = 512

// at returns the index of page n in space.pages; -1 if it is not in use.
func (r *room) at(n int) int {
	if p := r.index[uint(n)/part]; p != nil {
		return int(p[uint(n)%part]) - 1
	}
	return -1
}

// use notes the index of page n.
func (r *room) use(n, i int) {
	p := &r.index[n/part]
	if *p == nil {
		*p = new([part]int32)
	}
	(*p)[n%part] = int32(i) + 1
}

type page struct {
	used [pageSize / 64]uint64
	run  int // no longer run of free bytes lies within the page
	tidy int // nothing longer finds room in it in as few lines as can be
}

// newSpace takes what of the free ranges lies within reach of the code.
func newSpace(free []Range, code []Code) *space {
	s := &space{}
	free = slices.Clone(free)
	slices.SortFunc(free, func(a, b Range) int { return compare(a.Lo, b.Lo) })
	for i := range free {
		free[i].Lo, free[i].Hi = free[i].Lo+margin, max(free[i].Hi, margin)-margin
	}
	for _, near := range reachable(code) {
		for _, f := range free {
			lo, hi := max(f.Lo, near.Lo), min(f.Hi, near.Hi)
			if lo >= hi {
				continue
			}
			r := room{lo: lo, hi: hi, base: lo >> pageBits}
			r.pages = (hi-1)>>pageBits - r.base + 1
			r.index, r.open = make([]*[part]int32, (r.pages+part-1)/part), make([]uint64, (r.pages+63)/64)
			s.ranges = append(s.ranges, r)
		}
	}
	return s
}

// reachable returns the addresses from which some code is reached, as disjoint
// ranges.
func reachable(code []Code) []Range {
	var out []Range
	for i := range code {
		c := &code[i]
		r := Range{c.Addr - min(c.Addr, reach), c.end() + reach}
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// from returns the index of the first range that ends behind addr.
func (s *space) from(addr uint64) int {
	lo, hi := 0, len(s.ranges)
	for lo < hi {
		if m := (lo + hi) / 2; s.ranges[m].hi > addr {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// next returns the first address in w where something could lie: in a page with room,
// or if fresh in any free page.
func (s *space) next(w window, fresh bool) (uint64, bool) {
	for i := s.from(w.lo); i < len(s.ranges) && s.ranges[i].lo <= w.hi; i++ {
		r := &s.ranges[i]
		lo := max(w.lo, r.lo)
		if fresh {
			return lo, true
		}
		if n, ok := nextBit(r.open, int(lo>>pageBits-r.base), int(min(w.hi, r.hi-1)>>pageBits-r.base)); ok {
			return max(lo, (r.base+uint64(n))<<pageBits), true
		}
	}
	return 0, false
}

// nextBit finds the first set bit in [a, b].
func nextBit(set []uint64, a, b int) (int, bool) {
	for a <= b {
		if w := set[a>>6] >> (a & 63); w != 0 {
			a += bits.TrailingZeros64(w)
			return a, a <= b
		}
		a = a&^63 + 64
	}
	return 0, false
}

// find returns an address in w where size bytes are free: in a page that is in
// use, or if fresh in any. tidy: where they reach into no more lines than they must.
func (s *space) find(w window, size int, fresh, tidy bool) (uint64, bool) {
	for i := s.from(w.lo); i < len(s.ranges) && s.ranges[i].lo <= w.hi; i++ {
		r := &s.ranges[i]
		if r.hi-r.lo < uint64(size) {
			continue
		}
		lo, hi := max(w.lo, r.lo), min(w.hi, r.hi-uint64(size))
		if lo > hi {
			continue
		}
		if fresh {
			if at, ok := s.first(r, lo, hi, size, tidy); ok {
				return at, true
			}
			continue
		}
		a, b := int(lo>>pageBits-r.base), int(hi>>pageBits-r.base)
		for n, ok := nextBit(r.open, a, b); ok; n, ok = nextBit(r.open, n+1, b) {
			if at, ok := s.inPage(r, n, lo, hi, size, tidy); ok {
				return at, true
			}
		}
	}
	return 0, false
}

// first is the first address in [lo, hi] where size bytes are free.
func (s *space) first(r *room, lo, hi uint64, size int, tidy bool) (uint64, bool) {
	for n := int(lo>>pageBits - r.base); n <= int(hi>>pageBits-r.base); n++ {
		if at, ok := s.inPage(r, n, lo, hi, size, tidy); ok {
			return at, true
		}
	}
	return 0, false
}

// lined returns the first address from x on, in or behind a page, from which size
// bytes reach into no more lines than they must.
func lined(x, size int) int {
	if x%line+size > (size+line-1)/line*line {
		x = (x + line - 1) / line * line
	}
	return x
}

// inPage looks for an address in [lo, hi] and the range's page n where size bytes
// are free; they may go on in the next pages.
func (s *space) inPage(r *room, n int, lo, hi uint64, size int, tidy bool) (uint64, bool) {
	base := (r.base + uint64(n)) << pageBits
	a, b := 0, pageSize-1
	if lo > base {
		a = int(lo - base)
	}
	if hi < base+pageSize-1 {
		b = int(hi - base)
	}
	i := r.at(n)
	if i < 0 {
		if tidy {
			a = lined(a, size)
		}
		return base + uint64(a), a <= b && (a+size <= pageSize || s.free(r, n+1, size-(pageSize-a)))
	}
	p := s.pages[i]
	whole := a == 0 && b == pageSize-1
	if whole && (p.run < size || tidy && p.tidy < size) {
		return 0, false
	}
	for x := a; ; {
		x = p.next(x, 0)
		if x > b {
			break
		}
		end := p.next(x, ^uint64(0))
		if tidy {
			x = lined(x, size)
		}
		if x > b {
			break
		}
		if end-x >= size || end == pageSize && s.free(r, n+1, size-(end-x)) {
			return base + uint64(x), true
		}
		x = end
	}
	if whole && tidy {
		p.tidy = size - 1
	} else if whole {
		p.run = size - 1
		if p.run < small {
			r.open[n>>6] &^= 1 << (n & 63)
		}
	}
	return 0, false
}

// next is the first byte from x on that is free (flip 0) or used (flip ^0).
func (p *page) next(x int, flip uint64) int {
	for x < pageSize {
		if w := ^(p.used[x>>6] ^ flip) >> (x & 63); w != 0 {
			return x + bits.TrailingZeros64(w)
		}
		x = x&^63 + 64
	}
	return pageSize
}

// free says that the first size bytes from page n on are free. The caller has
// seen to it that they lie in the range.
func (s *space) free(r *room, n, size int) bool {
	for ; size > 0; n, size = n+1, size-pageSize {
		if uint64(n) >= r.pages {
			return false
		}
		if i := r.at(n); i >= 0 && s.pages[i].next(0, ^uint64(0)) < min(size, pageSize) {
			return false
		}
	}
	return true
}

// take marks bytes as used.
func (s *space) take(at uint64, size int) { s.mark(at, size, true) }

// give makes them free again.
func (s *space) give(at uint64, size int) { s.mark(at, size, false) }

func (s *space) mark(at uint64, size int, used bool) {
	r := &s.ranges[s.from(at)]
	for size > 0 {
		n := int(at>>pageBits - r.base)
		off := int(at & (pageSize - 1))
		k := min(size, pageSize-off)
		i := r.at(n)
		if i < 0 {
			i = len(s.pages)
			s.pages = append(s.pages, &page{run: pageSize, tidy: pageSize})
			r.use(n, i)
			r.open[n>>6] |= 1 << (n & 63)
		}
		p := s.pages[i]
		if !used {
			p.run, p.tidy = pageSize, pageSize
			r.open[n>>6] |= 1 << (n & 63)
		}
		p.set(off, off+k, used)
		at, size = at+uint64(k), size-k
	}
}

// set marks bytes [a, b).
func (p *page) set(a, b int, used bool) {
	for a < b {
		k := min(b-a, 64-a&63)
		m := ^uint64(0) >> (64 - k) << (a & 63)
		if used {
			p.used[a>>6] |= m
		} else {
			p.used[a>>6] &^= m
		}
		a += k
	}
}

// inUse counts the pages that hold something.
func (s *space) inUse() int {
	n := 0
	for i := range s.pages {
		if s.pages[i].next(0, ^uint64(0)) < pageSize {
			n++
		}
	}
	return n
}

// A window is the closed range of addresses where a trampoline may begin.
type window struct{ lo, hi uint64 }

func (w window) and(v window) window { return window{max(w.lo, v.lo), min(w.hi, v.hi)} }

// Near is how far from its instruction everything lies that a trampoline must reach
// besides what the instruction refers to.
const Near = 1 << 24

// around is the window from which all of [lo, hi], and what is Near to it, is reached
// with a 32-bit displacement from anywhere in size bytes.
func around(lo, hi uint64, size int) window {
	w := window{0, lo + reach - Near - uint64(size)}
	if hi > reach-Near {
		w.lo = hi - reach + Near
	}
	return w
}

// rel is what is decided of the displacement of a jump: the bytes where fixed
// is 0xff must be those of value.
type rel struct {
	next         uint64 // the address that the displacement counts from
	fixed, value uint32
}

// window is the range of targets if byte i is the lowest decided one.
func (r *rel) window(value uint32, i int) window {
	lo := r.next + uint64(int64(int32(value)))
	return window{lo, lo + 1<<(8*i) - 1}
}

// search looks for free bytes that a jump can reach. A jump's free low bytes
// give a window of addresses; free bytes above fixed ones give many, which are
// tried from the highest byte down.
type search struct {
	jump   *rel
	w      window
	size   int
	fresh  bool
	tidy   bool
	leaves int // how many windows are looked at, at most
	// accept, if not nil, says whether an address will do, with the displacement
	// that leads there.
	accept func(at uint64, displacement uint32) bool
}

// match returns the first address that the search accepts.
func (s *space) match(q *search) (uint64, bool) {
	if j := q.jump; j.fixed&0xff != 0 && q.tidy {
		if x := int(uint8(j.next) + uint8(j.value)); lined(x, q.size) != x {
			return 0, false // wherever it leads in a line
		}
	}
	return s.matchByte(q, 3, 0)
}

func (s *space) matchByte(q *search, i int, value uint32) (uint64, bool) {
	j := q.jump
	low := bits.TrailingZeros32(j.fixed) / 8 // bytes below are free
	if i < low {
		v := j.window(value, low).and(q.w)
		if q.leaves--; v.lo > v.hi || q.leaves < 0 {
			return 0, false
		}
		at, ok := s.find(v, q.size, q.fresh, q.tidy)
		return at, ok && (q.accept == nil || q.accept(at, uint32(at-j.next)))
	}
	shift := 8 * i
	if j.fixed>>shift&0xff != 0 {
		return s.matchByte(q, i-1, value|j.value&(0xff<<shift))
	}
	if i == 1 && low == 0 {
		return s.column(q, value|j.value&0xff)
	}
	// First the addresses behind the jump: displacements are signed.
	halves := [2][2]uint32{{0, 127}, {128, 255}}
	if i < 3 {
		halves = [2][2]uint32{{0, 255}, {1, 0}}
	}
	for _, h := range halves {
		end := j.window(value|h[1]<<shift, i).hi
		for b := h[0]; b <= h[1]; b++ {
			v := window{j.window(value|b<<shift, i).lo, end}
			if v.lo > v.hi {
				v.lo = 0 // below it lies nothing
			}
			at, ok := s.next(v.and(q.w), q.fresh)
			if !ok {
				break
			}
			b = uint32(at-j.next) >> shift & 0xff
			if at, ok := s.matchByte(q, i-1, value|b<<shift); ok || q.leaves < 0 {
				return at, ok
			}
		}
	}
	return 0, false
}

// column is matchByte where byte 1 is the only one that is still to be chosen: it looks at
// addresses that lie 256 bytes apart.
func (s *space) column(q *search, value uint32) (uint64, bool) {
	const step = 256
	first := q.jump.window(value, 0).lo
	w := window{first, first + 255*step}.and(q.w)
	for {
		at, ok := s.next(w, q.fresh)
		at += (first - at) % step
		if !ok || at > w.hi {
			return 0, false
		}
		w.lo = at + step
		i := s.from(at)
		if i == len(s.ranges) || at < s.ranges[i].lo {
			continue
		}
		r := &s.ranges[i]
		n := at>>pageBits - r.base
		if !q.fresh && r.open[n>>6]>>(n&63)&1 == 0 {
			continue
		}
		for end := min((r.base+n+1)<<pageBits-1, w.hi); at <= end; at += step {
			if q.leaves--; q.leaves < 0 {
				return 0, false
			}
			if i := r.at(int(n)); i >= 0 && s.pages[i].has(int(at&(pageSize-1))) || at+uint64(q.size) > r.hi {
				continue
			}
			if _, ok := s.inPage(r, int(n), at, at, q.size, false); ok && (q.accept == nil || q.accept(at, uint32(at-q.jump.next))) {
				return at, true
			}
		}
		w.lo = at
	}
}

// has says whether a byte is used.
func (p *page) has(at int) bool { return p.used[at>>6]>>(at&63)&1 != 0 }
