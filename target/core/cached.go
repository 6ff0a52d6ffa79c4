package core

import (
	"cmp"
	"math"
	"slices"

	"mgtrace/target/mem"
)

// words reads single words through a window.
type words struct {
	m      mem.Memory
	lo     uint64
	buf    []byte
	cached map[uint64]bool // chunks that are in a tcache or fastbin
	own    map[uint64]bool // chunks that are a tcache
}

const windowSize = 1 << 16

// word reads the word at addr; false if it cannot be read.
func (w *words) word(addr uint64) (uint64, bool) {
	if off := addr - w.lo; addr < w.lo || off+8 > uint64(len(w.buf)) || off > uint64(len(w.buf)) {
		if addr > math.MaxUint64-windowSize {
			return 0, false
		}
		if cap(w.buf) == 0 {
			w.buf = make([]byte, windowSize)
		}
		// Down to a page, so that words a little before are in it too.
		w.lo = addr &^ (pageSize - 1)
		n, _ := w.m.ReadMemory(w.buf[:windowSize], w.lo) // a short read is a short window
		w.buf = w.buf[:n]
	}
	off := addr - w.lo
	if off+8 > uint64(len(w.buf)) {
		return 0, false
	}
	return le.Uint64(w.buf[off:]), true
}

// struct malloc_state (malloc.c, glibc 2.26 and later).
const (
	fastbinsOffset = 0x10
	fastbins       = 10
	topOffset      = 0x60
	binsOffset     = 0x70
	bins           = 127 // pairs of pointers, each pair empty if it points at itself
)

// layout of struct tcache_perthread_struct, by the size of its chunk.
type tcacheLayout struct {
	counts  uint64 // bytes of one count; 0: the struct does not count what is in a list
	entries uint64 // offset of the list heads
	lists   uint64 // of one size each
}

func tcacheLayoutOf(size uint64) tcacheLayout {
	switch size {
	case 0x250:
		return tcacheLayout{counts: 1, entries: 64, lists: 64}
	case 0x290:
		return tcacheLayout{counts: 2, entries: 128, lists: 64}
	}
	return tcacheLayout{entries: 152, lists: 64} // 12 more lists hold blocks of several sizes
}

// findCached finds the blocks that were freed and are still marked as in use:
// those in the caches of threads and in the fastbins of arenas.
func (w *walker) findCached(maps []mem.Map) {
	w.cached, w.own = make(map[uint64]bool), make(map[uint64]bool)
	for _, r := range w.regions {
		for _, c := range r.chunks {
			if c.inUse && isTcacheSize(c.size) {
				w.readTcache(c)
			}
		}
	}
	for _, r := range w.regions {
		arena := r.arena
		if r.where == Main {
			arena = w.mainArena(maps, r.top)
		}
		if arena != 0 {
			w.readFastbins(arena)
		}
	}
}

// readTcache reads a chunk as a thread's cache, if each of its lists leads
// through chunks of the list's size to its end.
func (w *walker) readTcache(c chunk) {
	l := tcacheLayoutOf(c.size)
	base := c.addr + headerSize
	var all []uint64
	for i := range l.lists {
		head, ok := w.word(base + l.entries + 8*i)
		if !ok {
			return
		}
		list, ok := w.list(head, minChunk+16*i, 0)
		if !ok || l.counts != 0 && w.count(base, l, i) != uint64(len(list)) {
			return
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return // a block of zeros is no evidence
	}
	w.own[c.addr] = true
	for _, addr := range all {
		w.cached[addr] = true
	}
}

func (w *walker) count(base uint64, l tcacheLayout, i uint64) uint64 {
	at := base + l.counts*i
	v, _ := w.word(at &^ 7)
	return v >> (at & 7 * 8) & (1<<(8*l.counts) - 1)
}

// list follows a list of freed blocks whose chunks have the given size. Links
// point skip bytes before the block (fastbins: to the chunk). From glibc 2.32 a
// link is masked with its own address shifted by a page.
func (w *walker) list(link, size, skip uint64) (chunks []uint64, ok bool) {
	seen := make(map[uint64]bool)
	for block := link; block != 0; {
		c := block + skip - headerSize
		if seen[c] || !w.isChunk(c, size) {
			return nil, false
		}
		seen[c] = true
		chunks = append(chunks, c)
		at := c + headerSize
		stored, readable := w.word(at)
		masked := stored ^ at>>12
		switch {
		case !readable:
			return nil, false
		case masked == 0 || w.isChunk(masked+skip-headerSize, size):
			block = masked
		default:
			block = stored
		}
	}
	return chunks, true
}

// isChunk reports whether a chunk of that size was found at addr.
func (w *walker) isChunk(addr, size uint64) bool {
	c, found := w.chunkAt(addr)
	return found && c.size == size
}

// inRegion reports whether addr is a chunk of any size.
func (w *walker) inRegion(addr uint64) bool {
	_, found := w.chunkAt(addr)
	return found
}

// chunkAt is the chunk that was found at addr.
func (w *walker) chunkAt(addr uint64) (chunk, bool) {
	for _, r := range w.regions {
		i, found := slices.BinarySearchFunc(r.chunks, addr, func(c chunk, addr uint64) int { return cmp.Compare(c.addr, addr) })
		if found {
			return r.chunks[i], true
		}
	}
	return chunk{}, false
}

// mainArena finds libc's main_arena by its pointer to the top chunk, in the
// variables of some module (which are never shared, as a database's gigabytes are),
// and by its bins. 0: not found.
func (w *walker) mainArena(maps []mem.Map, top uint64) uint64 {
	for i, m := range maps {
		variables := m.Write && !m.Shared && (m.File() || i > 0 && maps[i-1].File() && maps[i-1].Hi == m.Lo)
		if !variables {
			continue
		}
		for at := m.Lo; at+8 <= m.Hi; at += 8 {
			v, ok := w.word(at)
			if !ok {
				at |= pageSize - 8 // on with the next page
				continue
			}
			if v == top && at-topOffset >= m.Lo && w.isArena(at-topOffset) {
				return at - topOffset
			}
		}
	}
	return 0
}

// isArena reports whether each bin is empty or holds chunks that were found.
func (w *walker) isArena(arena uint64) bool {
	for i := range uint64(bins) {
		self := arena + binsOffset + 16*i - headerSize
		for _, at := range [...]uint64{self + 16, self + 24} {
			if v, ok := w.word(at); !ok || v != self && !w.inRegion(v) {
				return false
			}
		}
	}
	return true
}

func (w *walker) readFastbins(arena uint64) {
	for i := range uint64(fastbins) {
		head, ok := w.word(arena + fastbinsOffset + 8*i)
		if !ok {
			return
		}
		list, ok := w.list(head, minChunk+16*i, headerSize)
		if !ok {
			w.problem("the list of freed blocks of %d bytes in the arena at %#x is broken", minChunk+16*i-8, arena)
		}
		for _, addr := range list {
			w.cached[addr] = true
		}
	}
}
