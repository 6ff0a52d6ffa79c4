package capture

import (
	"maps"
	"slices"
)

// blocks is the set of live allocations. Small ones are indexed by the pages
// that they touch; large ones are few, and are searched one by one: what a block
// costs must not depend on a size that is not to be trusted.
type blocks struct {
	size  map[uint64]uint64   // by address
	by    map[uint64]int      // what gave them out, by address: index in Plan.Funcs
	pages map[uint64][]uint64 // addresses of the small blocks that touch a page
	large []uint64            // addresses of the others
}

const (
	pageShift = 12
	maxPages  = 256 // of a small block
)

func newBlocks() *blocks {
	return &blocks{size: make(map[uint64]uint64), by: make(map[uint64]int), pages: make(map[uint64][]uint64)}
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

func (b *blocks) add(addr, size uint64, by int) {
	b.remove(addr)
	b.size[addr], b.by[addr] = size, by
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
	delete(b.by, addr)
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
	for _, x := range b.within(addr, size) {
		b.remove(x)
	}
}

// within returns the addresses of the blocks that begin in [addr, addr+size), in order.
func (b *blocks) within(addr, size uint64) []uint64 {
	found := map[uint64]bool{}
	note := func(x uint64) {
		if x-addr < size {
			found[x] = true
		}
	}
	lo, hi, large := pagesOf(addr, size)
	if large {
		for x := range b.size {
			note(x)
		}
	} else {
		for _, x := range b.large {
			note(x)
		}
		for p := lo; p <= hi; p++ {
			for _, x := range b.pages[p] {
				note(x)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// contains says whether addr lies in a live block. A nil set holds nothing.
func (b *blocks) contains(addr uint64) bool {
	_, _, _, ok := b.holding(addr)
	return ok
}

// holding returns the live block in which addr lies, and what gave it out.
func (b *blocks) holding(addr uint64) (start, size uint64, by int, ok bool) {
	if b == nil {
		return 0, 0, 0, false
	}
	in := func(x uint64) bool { return addr-x < b.size[x] }
	list := b.pages[addr>>pageShift]
	i := slices.IndexFunc(list, in)
	if i < 0 {
		list = b.large
		i = slices.IndexFunc(list, in)
	}
	if i < 0 {
		return 0, 0, 0, false
	}
	return list[i], b.size[list[i]], b.by[list[i]], true
}
