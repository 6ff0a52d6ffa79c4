package mgpp

// A head is one uint32 that stands for an ascending sequence of 31-bit numbers
// (timestamps). Most sequences have one element, which lies in the head
// itself; the rest lie in blocks of one shared slab, so that a history of
// hundreds of millions of versions is a handful of Go objects.
//
//	0          empty
//	1xxx…      the one element xxx…
//	01xx…      a cell split in two (cells.go): index in cells.splits
//	00xx…      a block: index of its header in lists.slab
type head uint32

const (
	headInline = 1 << 31
	headSplit  = 1 << 30

	maxTime  = headInline - 1
	maxIndex = headSplit - 1

	slabBits = 18 // words of a slab chunk: 1 MB
	slabMask = 1<<slabBits - 1

	// A block's header word holds its class and its length.
	classShift = 24
	lenMask    = 1<<classShift - 1
	classBig   = 255 // the block's one word indexes lists.big
)

// blockWords is the size of a block by class, header included. Growth by about
// 1.4 keeps the unused part small; freed blocks are used again.
var blockWords = [...]uint32{3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}

// lists holds the blocks of all heads.
type lists struct {
	slab [][]uint32
	next uint32                  // first unused word of the slab
	free [len(blockWords)]uint32 // first free block by class, linked through their first item
	big  [][]uint32              // sequences longer than the largest block
}

func newLists() *lists {
	return &lists{next: 1} // 0 is the empty head
}

// full reports that less than the given number of words is left.
func (l *lists) full(words uint64) bool {
	return uint64(l.next)+words > maxIndex
}

func (l *lists) bytes() uint64 {
	n := uint64(len(l.slab)) << (slabBits + 2)
	for _, b := range l.big {
		n += uint64(cap(b)) * 4
	}
	return n
}

// block returns the words of the block at i, header first.
func (l *lists) block(i, words uint32) []uint32 {
	o := i & slabMask
	return l.slab[i>>slabBits][o : o+words]
}

func (l *lists) alloc(class int) uint32 {
	if i := l.free[class]; i != 0 {
		l.free[class] = l.block(i, 2)[1]
		return i
	}
	words := blockWords[class]
	if l.next&slabMask+words > 1<<slabBits { // does not fit in this chunk
		l.next = (l.next>>slabBits + 1) << slabBits
	}
	if int(l.next>>slabBits) >= len(l.slab) {
		l.slab = append(l.slab, make([]uint32, 1<<slabBits))
	}
	i := l.next
	l.next += words
	return i
}

func (l *lists) release(i uint32, class int) {
	l.block(i, 2)[1] = l.free[class]
	l.free[class] = i
}

// push appends v, which is not below the last element, and returns the new head.
// v equal to the last element changes nothing.
func (l *lists) push(h head, v uint32) head {
	switch {
	case h == 0:
		return head(headInline | v)
	case h&headInline != 0:
		old := uint32(h &^ headInline)
		if old == v {
			return h
		}
		i := l.alloc(0)
		b := l.block(i, 3)
		b[0], b[1], b[2] = 2, old, v
		return head(i)
	}
	i := uint32(h)
	hdr := &l.slab[i>>slabBits][i&slabMask]
	class := int(*hdr >> classShift)
	if class == classBig {
		big := &l.big[l.slab[i>>slabBits][i&slabMask+1]]
		if s := *big; s[len(s)-1] != v {
			*big = append(s, v)
		}
		return h
	}
	n := *hdr & lenMask
	b := l.block(i, blockWords[class])
	if b[n] == v {
		return h
	}
	if n+1 < blockWords[class] {
		b[n+1] = v
		*hdr++
		return h
	}
	return l.grow(i, class, b[1:], v)
}

// grow moves the full block i to the next class and appends v.
func (l *lists) grow(i uint32, class int, items []uint32, v uint32) head {
	if class+1 == len(blockWords) {
		j := l.alloc(0)
		b := l.block(j, 2)
		b[0], b[1] = classBig<<classShift, uint32(len(l.big))
		s := make([]uint32, len(items), 2*len(items))
		copy(s, items)
		l.big = append(l.big, append(s, v))
		l.release(i, class)
		return head(j)
	}
	j := l.alloc(class + 1)
	b := l.block(j, blockWords[class+1])
	n := uint32(len(items))
	b[0] = uint32(class+1)<<classShift | (n + 1)
	copy(b[1:], items)
	b[n+1] = v
	l.release(i, class)
	return head(j)
}

// items returns the elements of a block head (neither empty, inline nor split).
func (l *lists) items(h head) []uint32 {
	i := uint32(h)
	c := l.slab[i>>slabBits]
	o := i & slabMask
	hdr := c[o]
	if hdr>>classShift == classBig {
		return l.big[c[o+1]]
	}
	return c[o+1 : o+1+hdr&lenMask]
}

// find returns the newest element at or below t; 0 if there is none. The head
// is not split.
func (l *lists) find(h head, t uint32) uint32 {
	if h&headInline != 0 {
		if v := uint32(h &^ headInline); v <= t {
			return v
		}
		return 0
	}
	if h == 0 {
		return 0
	}
	s := l.items(h)
	if v := s[len(s)-1]; v <= t { // now, the commonest question
		return v
	}
	if i := after(s, t); i > 0 {
		return s[i-1]
	}
	return 0
}

// findNext returns the oldest element above t; 0 if there is none. The head is
// not split.
func (l *lists) findNext(h head, t uint32) uint32 {
	if h&headInline != 0 {
		if v := uint32(h &^ headInline); v > t {
			return v
		}
		return 0
	}
	if h == 0 {
		return 0
	}
	s := l.items(h)
	if i := after(s, t); i < len(s) {
		return s[i]
	}
	return 0
}

// after returns the index of the first element above t.
func after(s []uint32, t uint32) int {
	lo, hi := 0, len(s)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if s[m] <= t {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}
