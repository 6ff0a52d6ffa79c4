package capture

import "slices"

// blocks is the set of live allocations. Small ones are indexed by the pages
// that they touch; large ones are few, and are searched one by one: what a block
// costs must not depend on a size that is not to be trusted.
type blocks struct {
	size  map[uint64]uint64   // by address
	pages map[uint64][]uint64 // addresses of the small blocks that touch a page
	large []uint64            // addresses of the others
}

const (
	pageShift = 12
	maxPages  = 256 // of a small block
)

func newBlocks() *blocks {
	return &blocks{size: make(map[uint64]uint64), pages: make(map[uint64][]uint64)}
}

// pagesOf returns the first and last page of a range; large ones have none.
func pagesOf(addr, size uint64) (lo, hi uint64, large bool) {
	lo = addr >> pageShift
	hi = lo
	if size > 0 {
		hi = (addr + size - 1) >> pageShift
	}
	return lo, hi, hi < lo || hi-lo >= maxPages
}

func (b *blocks) add(addr, size uint64) {
	b.remove(addr)
	b.size[addr] = size
	lo, hi, large := pagesOf(addr, size)
	if large {
		b.large = append(b.large, addr)
		return
	}
	for p := lo; p <= hi; p++ {
		b.pages[p] = append(b.pages[p], addr)
	}
}

func (b *blocks) remove(addr uint64) {
	size, ok := b.size[addr]
	if !ok {
		return
	}
	delete(b.size, addr)
	lo, hi, large := pagesOf(addr, size)
	if large {
		b.large = without(b.large, addr)
		return
	}
	for p := lo; p <= hi; p++ {
		if list := without(b.pages[p], addr); len(list) > 0 {
			b.pages[p] = list
		} else {
			delete(b.pages, p)
		}
	}
}

// without removes addr from a list whose order does not matter.
func without(list []uint64, addr uint64) []uint64 {
	if i := slices.Index(list, addr); i >= 0 {
		list[i] = list[len(list)-1]
		list = list[:len(list)-1]
	}
	return list
}

// removeRange removes the blocks that begin in [addr, addr+size).
func (b *blocks) removeRange(addr, size uint64) {
	var gone []uint64
	lo, hi, large := pagesOf(addr, size)
	if large {
		for x := range b.size {
			gone = append(gone, x)
		}
	} else {
		gone = append(gone, b.large...)
		for p := lo; p <= hi; p++ {
			gone = append(gone, b.pages[p]...)
		}
	}
	for _, x := range gone {
		if x-addr < size {
			b.remove(x)
		}
	}
}

// contains says whether addr lies in a live block. A nil set holds nothing.
func (b *blocks) contains(addr uint64) bool {
	if b == nil {
		return false
	}
	in := func(x uint64) bool { return addr-x < b.size[x] }
	return slices.ContainsFunc(b.pages[addr>>pageShift], in) || slices.ContainsFunc(b.large, in)
}
