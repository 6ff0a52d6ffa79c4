package capture

import (
	"maps"
	"slices"
)

// blocks is the set of live allocations. Small ones are indexed by the pages
// that they touch; large ones are few, and are searched one by one: what a block
// costs must not depend on a size that is not to be trusted.
type blocks struct {
	at    map[uint64]block    // by address
	pages map[uint64][]uint64 // addresses of the small blocks that touch a page
	large []uint64            // addresses of the others
}

type block struct {
	size  uint64
	by    int  // what gave it out: index in Plan.Funcs
	whole bool // a declared allocator took another one's block for it alone
}

const (
	pageShift = 12
	maxPages  = 256 // of a small block
)

func newBlocks() *blocks {
	return &blocks{at: make(map[uint64]block), pages: make(map[uint64][]uint64)}
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
	b.at[addr] = block{size: size, by: by}
	lo, hi, large := pagesOf(addr, size)
	if large {
		b.large = append(b.large, addr)
		return
	}
	for p := lo; p <= hi; p++ {
		b.pages[p] = append(b.pages[p], addr)
	}
}

// whole says that a block is all of what was taken for it.
func (b *blocks) whole(addr uint64) {
	w := b.at[addr]
	w.whole = true
	b.at[addr] = w
}

func (b *blocks) remove(addr uint64) {
	gone, ok := b.at[addr]
	if !ok {
		return
	}
	delete(b.at, addr)
	lo, hi, large := pagesOf(addr, gone.size)
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
	var found []uint64
	lo, hi, large := pagesOf(addr, size)
	if large {
		found = slices.Collect(maps.Keys(b.at))
	} else {
		found = append(found, b.large...)
		for p := lo; p <= hi; p++ {
			found = append(found, b.pages[p]...)
		}
	}
	found = slices.DeleteFunc(found, func(x uint64) bool { return x-addr >= size })
	slices.Sort(found)
	return slices.Compact(found) // one on two pages is found twice
}

// contains says whether addr lies in a live block. A nil set holds nothing.
func (b *blocks) contains(addr uint64) bool {
	_, _, ok := b.holding(addr)
	return ok
}

// holding returns the live block in which addr lies, and where that begins.
func (b *blocks) holding(addr uint64) (start uint64, in block, ok bool) {
	if b == nil {
		return 0, block{}, false
	}
	holds := func(x uint64) bool { return addr-x < b.at[x].size }
	list := b.pages[addr>>pageShift]
	i := slices.IndexFunc(list, holds)
	if i < 0 {
		list = b.large
		i = slices.IndexFunc(list, holds)
	}
	if i < 0 {
		return 0, block{}, false
	}
	return list[i], b.at[list[i]], true
}
