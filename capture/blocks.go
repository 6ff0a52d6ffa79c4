package capture

// blocks is the set of live allocations, indexed by the pages that they touch.
type blocks struct {
	size  map[uint64]uint64   // by address
	pages map[uint64][]uint64 // addresses of the blocks that touch a page
}

const pageShift = 12

func newBlocks() *blocks {
	return &blocks{size: make(map[uint64]uint64), pages: make(map[uint64][]uint64)}
}

// maxPages bounds what one block may cost: the engine's word for a size is not
// to be trusted with memory.
const maxPages = 1 << 20

func pagesOf(addr, size uint64) (lo, hi uint64) {
	lo = addr >> pageShift
	hi = lo
	if size > 0 {
		hi = (addr + size - 1) >> pageShift
	}
	if hi < lo || hi-lo > maxPages {
		hi = lo + maxPages
	}
	return lo, hi
}

func (b *blocks) add(addr, size uint64) {
	b.remove(addr)
	b.size[addr] = size
	lo, hi := pagesOf(addr, size)
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
	lo, hi := pagesOf(addr, size)
	for p := lo; p <= hi; p++ {
		list := b.pages[p]
		for i, x := range list {
			if x == addr {
				list[i] = list[len(list)-1]
				list = list[:len(list)-1]
				break
			}
		}
		if len(list) == 0 {
			delete(b.pages, p)
		} else {
			b.pages[p] = list
		}
	}
}

// removeRange removes the blocks that begin in [addr, addr+size).
func (b *blocks) removeRange(addr, size uint64) {
	lo, hi := pagesOf(addr, size)
	for p := lo; p <= hi; p++ {
		for _, x := range append([]uint64(nil), b.pages[p]...) {
			if x-addr < size {
				b.remove(x)
			}
		}
	}
}

// contains says whether addr lies in a live block. A nil set holds nothing.
func (b *blocks) contains(addr uint64) bool {
	if b == nil {
		return false
	}
	for _, x := range b.pages[addr>>pageShift] {
		if addr-x < b.size[x] {
			return true
		}
	}
	return false
}
