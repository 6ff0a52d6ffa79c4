package mgpp

import "mgtrace/trace"

// The paged address space. A page of 4 KB that was ever touched has one head
// per word of 8 bytes (cells.go) and one owner per granule of 16 (owners.go).

const (
	pageBits  = 12
	pageSize  = 1 << pageBits
	pageMask  = pageSize - 1
	pageWords = pageSize / 8
	wordBits  = pageBits - 3
	granule   = 16 // bytes that share one owner

	maxPages = 1 << (32 - wordBits) // a word's number has 32 bits

	leafBits  = 10 // pages of a leaf of the index: 4 MB
	leafPages = 1 << leafBits
)

type page struct {
	number uint64 // address >> pageBits
	words  *[pageWords]head
	owners *granules
	image  *image
	id     uint32 // index in pageIndex.pages
	whole  head   // versions of the whole page
	owner  uint32 // of the whole page
	alive  bool   // the whole page lies in a live node now
	shared bool   // two live nodes have been in one granule
}

// granules are a page's parts that can belong to different nodes.
type granules struct {
	owner [pageSize / granule]uint32 // owners.go
	alive [pageSize / granule]uint8  // so many bytes from its first on lie in one live node now
}

// inside reports that [addr, addr+size) surely lies in one granule and in one live node now: what the
// builder asks of nearly every store, answered without a look at the node. p may be nil.
func (p *page) inside(addr, size uint64) bool {
	if p == nil {
		return false
	}
	end := addr%granule + size
	return p.owners != nil && end <= uint64(p.owners.alive[addr&pageMask/granule]) || p.alive && end <= granule
}

// wordNumber returns the number of the word at addr, which lies in the page.
func (p *page) wordNumber(addr uint64) uint32 {
	return p.id<<wordBits | uint32(addr&pageMask>>3)
}

// image is what a page's bytes were before any operation.
type image struct {
	data  [pageSize]byte
	known [pageSize / 64]uint64
}

func (m *image) has(o uint64) bool { return m.known[o/64]&(1<<(o%64)) != 0 }

type leaf [leafPages]*page

// pageIndex finds the page of an address: a hash table of leaves, of which even
// a large program has few, and in the leaf an array. Looking up changes
// nothing: readers may be many.
type pageIndex struct {
	slots  []leafSlot // a power of two, at most half full
	leaves int
	pages  slab[page]
}

type leafSlot struct {
	key  uint64 // address >> (pageBits+leafBits), plus 1; 0: empty
	leaf *leaf
}

func newPageIndex() pageIndex { return pageIndex{slots: make([]leafSlot, 1<<6)} }

// slot returns the slot of the leaf with the key, or that where it would be.
func (x *pageIndex) slot(key uint64) *leafSlot {
	mask := uint64(len(x.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 40; ; i++ {
		if s := &x.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// lookup returns the page of addr, nil if it has no history.
func (x *pageIndex) lookup(addr uint64) *page {
	l := x.slot(addr>>(pageBits+leafBits) + 1).leaf
	if l == nil {
		return nil
	}
	return l[addr>>pageBits%leafPages]
}

// touch returns the page of addr, made if need be.
func (x *pageIndex) touch(addr uint64) *page {
	key := addr>>(pageBits+leafBits) + 1
	s := x.slot(key)
	if s.leaf == nil {
		if 2*x.leaves >= len(x.slots) {
			x.grow()
			s = x.slot(key)
		}
		x.leaves++
		*s = leafSlot{key, new(leaf)}
	}
	p := &s.leaf[addr>>pageBits%leafPages]
	if *p == nil {
		i := x.pages.add(page{number: addr >> pageBits})
		*p = x.pages.at(i)
		(*p).id = uint32(i)
	}
	return *p
}

func (x *pageIndex) grow() {
	old := x.slots
	x.slots = make([]leafSlot, 2*len(old))
	for _, s := range old {
		if s.leaf != nil {
			*x.slot(s.key) = s
		}
	}
}

// bytes is the memory that pages and their index take, chains aside.
func (x *pageIndex) bytes() uint64 {
	n := uint64(len(x.slots))*16 + uint64(x.leaves)*leafPages*8
	for i := range x.pages.len() {
		p := x.pages.at(i)
		n += 64
		if p.words != nil {
			n += 4 * pageWords
		}
		if p.owners != nil {
			n += 5 * pageSize / granule
		}
		if p.image != nil {
			n += pageSize + pageSize/8
		}
	}
	return n
}

// setImage records what bytes were before any operation; the first word on a
// byte counts.
func (x *pageIndex) setImage(addr uint64, data []byte) {
	for len(data) > 0 {
		p := x.touch(addr)
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
func (x *pageIndex) imageByte(addr uint64) (byte, bool) {
	p := x.lookup(addr)
	if p == nil || p.image == nil || !p.image.has(addr&pageMask) {
		return 0, false
	}
	return p.image.data[addr&pageMask], true
}

// Image fills b with what is known of the bytes at addr before any operation.
func (h *History) Image(addr trace.Addr, b *Bytes) {
	for i := range b.Data {
		b.Data[i], b.Written[i] = h.mem.imageByte(uint64(addr) + uint64(i))
	}
}
