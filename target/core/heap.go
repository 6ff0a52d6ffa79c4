package core

import (
	"cmp"
	"fmt"
	"slices"

	"mgtrace/target/mem"
)

// Block is a block of memory that glibc's malloc manages.
type Block struct {
	Addr  uint64 // as malloc returned it
	Size  uint64 // usable bytes (malloc_usable_size): up to 24 more than were asked for
	State State
	Where Where
}

// State tells whether a block is allocated.
type State uint8

// The states.
const (
	InUse  State = iota // allocated by the program, or by libc for itself
	Free                // in a bin, or the top of an arena
	Cached              // freed, and kept for the next request of its size (tcache, fastbin)
	Own                 // malloc's own: a thread's cache
)

// Where tells how a block came from the kernel.
type Where uint8

// The places.
const (
	Main   Where = iota // the heap at the program break
	Arena               // a heap of another arena
	Mapped              // a mapping of its own
)

// Heap is what was found of glibc's malloc.
type Heap struct {
	Blocks []Block // in address order
	// Problems are places where the chain of blocks is broken: a header was
	// overwritten, or is missing in the core file. Blocks may be missing there.
	Problems []string
}

// InUse returns the allocated blocks.
func (h *Heap) InUse() []Block {
	var used []Block
	for _, b := range h.Blocks {
		if b.State == InUse {
			used = append(used, b)
		}
	}
	return used
}

// A chunk of glibc's malloc (malloc.c, struct malloc_chunk) begins with the
// previous chunk's size and its own; the block is what follows. A chunk in use
// has the first word of the next one too. The lowest bits of the size are flags.
const (
	prevInUse   = 1
	isMapped    = 2
	notMain     = 4
	flagMask    = 15
	headerSize  = 16
	minChunk    = 32
	fence       = 16 // size of the chunks that end a heap that could not be extended
	pageSize    = 4096
	arenaAlign  = 64 << 20  // HEAP_MAX_SIZE: heaps of other arenas are aligned to it
	mapMinimum  = 128 << 10 // M_MMAP_THRESHOLD, where nothing else tells a mapped chunk
	firstSearch = 64 << 10  // where the first chunk of a heap may be: static programs keep their TLS before it
	resyncLimit = 1 << 20   // bytes that are searched for a header behind a broken one
	maxBlocks   = 1 << 28
	maxSearch   = 1 << 30 // bytes of one mapping that are searched for chunks of their own
	maxHeaps    = 1 << 14 // arena heaps in one mapping
	userEnd     = 1 << 56 // no user address is above it, whatever the page tables
)

// tcacheSizes are the sizes of a thread's cache (struct tcache_perthread_struct)
// as a chunk: glibc 2.26 to 2.29, 2.30 to 2.41, and from 2.42.
var tcacheSizes = [...]uint64{0x250, 0x290, 0x300}

func isTcacheSize(size uint64) bool { return slices.Contains(tcacheSizes[:], size) }

// chunk is a chunk with its flags; inUse is told by the next one.
type chunk struct {
	addr, size uint64
	inUse      bool
}

// region is a stretch of memory that consists of chunks, ending with a top
// chunk or a fence.
type region struct {
	where  Where
	chunks []chunk
	top    uint64 // address of the last chunk
	arena  uint64 // address of its struct malloc_state; 0 not known
}

// Usable is the size of the block that malloc gives to an object of a size: 16n + 8 bytes, at
// least 24 (glibc, malloc.c, request2size).
func Usable(size uint64) uint64 { return max(24, (size+8+15)&^15-8) }

// Blocks finds the blocks of glibc's malloc in a program's memory: by following
// the chunk headers of the main heap and of the heaps of other arenas, and by
// looking for chunks with mappings of their own. The layouts are those of glibc
// 2.26 and later. maps must be in address order.
//
// What is found is inferred from memory that a faulty program may have
// overwritten; Problems says where that shows.
func Blocks(m mem.Memory, maps []mem.Map) *Heap {
	w := &walker{words: words{m: m}, heap: &Heap{}}
	list := slices.DeleteFunc(slices.Clone(maps), func(mp mem.Map) bool {
		return !mp.Write || !mp.Read || mp.Hi > userEnd || mp.File() || mp.Path != "" && mp.Path != "[heap]"
	})
	for len(list) > 0 {
		mp, n := w.joined(list)
		list = list[n:]
		if !w.arenaHeaps(mp) && !w.mainHeap(mp) {
			w.mappedChunks(mp)
		}
	}
	w.findCached(maps)
	w.emit()
	return w.heap
}

// joined is the first mapping, and how many it is: the kernel does not join what a process has from before a fork with what it had
// since, so a heap may be several that touch.
func (w *walker) joined(maps []mem.Map) (all mem.Map, n int) {
	all, n = maps[0], 1
	for ; n < len(maps) && maps[n].Lo == all.Hi && maps[n].Path == all.Path; n++ {
		all.Hi = maps[n].Hi
	}
	if n == 1 || all.Path == "[heap]" {
		return all, n
	}
	whole := func(mp mem.Map) bool {
		_, ok := w.firstChunk(mp.Lo, mp.Hi, firstSearch, 0, 2)
		return ok
	}
	if whole(maps[0]) || !whole(all) {
		return maps[0], 1
	}
	return all, n
}

// walker collects the regions.
type walker struct {
	words
	heap    *Heap
	regions []region
	mapped  []chunk
}

func (w *walker) problem(format string, args ...any) {
	w.heap.Problems = append(w.heap.Problems, fmt.Sprintf(format, args...))
}

// mainHeap reads a mapping as the heap at the program break, if it is that: a
// chain of chunks leads exactly to its end, or it is known by name or by the
// cache of the first thread that lies first.
func (w *walker) mainHeap(mp mem.Map) bool {
	start, whole := w.firstChunk(mp.Lo, mp.Hi, firstSearch, 0, 2)
	if !whole {
		size, ok := w.word(mp.Lo + 8)
		if !ok || mp.Path != "[heap]" && !(isTcacheSize(size&^flagMask) && size&flagMask == prevInUse) {
			return false
		}
		start = mp.Lo
	}
	w.addRegion(region{where: Main}, start, mp.Hi, 0)
	return true
}

// arenaHeaps reads the heaps of other arenas in a mapping: at multiples of
// 64 MB, struct heap_info (ar_ptr, prev, size, mprotect_size), then the arena in
// the first of its heaps, then chunks up to size.
func (w *walker) arenaHeaps(mp mem.Map) bool {
	found := false
	first := (mp.Lo + arenaAlign - 1) &^ (arenaAlign - 1)
	for base := first; base < min(mp.Hi, first+maxHeaps*arenaAlign); base += arenaAlign {
		arena, ok1 := w.word(base)
		size, ok2 := w.word(base + 16)
		if !ok1 || !ok2 || arena == 0 || arena&7 != 0 || size%pageSize != 0 || size == 0 || size > arenaAlign || size > mp.Hi-base {
			continue
		}
		end := base + size
		start, whole := w.firstChunk(base+0x20, end, 0x1000, notMain, 1)
		if !whole {
			if start = w.guessArena(base); start == 0 {
				continue
			}
		}
		w.addRegion(region{where: Arena, arena: arena}, start, end, notMain)
		found = true
	}
	return found
}

// guessArena is where the first chunk of a broken arena heap lies: glibc before
// and from 2.35, whose heap_info has 0x20 and 0x30 bytes, with and without the
// arena (0x898 bytes) before it. It is told by the cache of the thread.
func (w *walker) guessArena(base uint64) uint64 {
	for _, off := range [...]uint64{0x8c0, 0x8d0, 0x20, 0x30} {
		if size, ok := w.word(base + off + 8); ok && size&flagMask == notMain|prevInUse && isTcacheSize(size&^flagMask) {
			return base + off
		}
	}
	return 0
}

// firstChunk looks in the first limit bytes of [lo, hi) for a chunk from which
// the chain leads to hi exactly, over at least so many chunks.
func (w *walker) firstChunk(lo, hi, limit, flag uint64, atLeast int) (start uint64, whole bool) {
	dead := make(map[uint64]bool) // chunks from which it does not
	for at := lo; at < min(hi, lo+limit); at += headerSize {
		size, ok := w.word(at + 8)
		if ok && size&prevInUse != 0 && w.leads(at, hi, flag, atLeast, dead) {
			return at, true
		}
	}
	return 0, false
}

// leads reports whether the chain from at leads to end. Chunks that lead
// elsewhere are added to dead, so that a search is linear.
func (w *walker) leads(at, end, flag uint64, atLeast int, dead map[uint64]bool) bool {
	var path []uint64
	for len(path) < maxBlocks {
		if at == end && len(path) >= atLeast {
			return true
		}
		if dead[at] {
			break
		}
		size, last, ok := w.chunkSize(at, end, flag)
		if last {
			return len(path) >= atLeast
		}
		path = append(path, at)
		if !ok {
			break
		}
		at += size
	}
	for _, p := range path {
		dead[p] = true
	}
	return false
}

// chunkSize reads a chunk's size; ok is false if it cannot be one. last: it is
// the second fence, the end of a heap. flag is what may be set besides
// prevInUse: free chunks of other arenas have lost their notMain.
func (w *walker) chunkSize(at, end, flag uint64) (size uint64, last, ok bool) {
	if at >= end || end-at < headerSize {
		return 0, false, false
	}
	head, ok := w.word(at + 8)
	if !ok {
		return 0, false, false
	}
	size = head &^ flagMask
	if end-at == headerSize && (size == 0 || size == fence) {
		return 0, true, true
	}
	good := size >= minChunk && head&(isMapped|8|notMain&^flag) == 0 || size == fence
	return size, false, good && size <= end-at
}

// addRegion follows the chunks from start to end. Behind a broken header it
// goes on at the next place from where the chain leads to the end.
func (w *walker) addRegion(r region, start, end, flag uint64) {
	for at := start; at < end; {
		size, last, ok := w.chunkSize(at, end, flag)
		if last {
			break
		}
		if !ok {
			head, readable := w.word(at + 8)
			next, found := w.firstChunk(at+headerSize, end, resyncLimit, flag, 1)
			if readable && head == 0 && !found && at%pageSize == 0 {
				break // what the program break was moved to, and malloc has yet to take: the process was met there
			}
			switch {
			case !readable:
				w.problem("the header of the block at %#x cannot be read", at+headerSize)
			default:
				w.problem("the header of the block at %#x holds %#x, which is no size: it was overwritten", at+headerSize, head)
			}
			if n := len(r.chunks); n > 0 {
				r.chunks[n-1].inUse = true // nothing says otherwise
			}
			if !found {
				w.problem("blocks between %#x and %#x were not found", at, end)
				break
			}
			at = next
			continue
		}
		head, _ := w.word(at + 8)
		if n := len(r.chunks); n > 0 && r.chunks[n-1].addr+r.chunks[n-1].size == at {
			r.chunks[n-1].inUse = head&prevInUse != 0
		}
		r.chunks = append(r.chunks, chunk{addr: at, size: size})
		at += size
	}
	if n := len(r.chunks); n > 0 {
		r.top = r.chunks[n-1].addr
	}
	w.regions = append(w.regions, r)
}

// mappedChunks looks for chunks that are mappings of their own: they begin on a
// page, with the mapped flag and a size in pages. The kernel joins mappings that
// touch, so one may follow another.
func (w *walker) mappedChunks(mp mem.Map) {
	expected := true // by what lies before it
	for at := mp.Lo; at < mp.Hi; {
		before, ok1 := w.word(at)
		head, ok2 := w.word(at + 8)
		size := head &^ flagMask
		if ok1 && ok2 && before == 0 && head&flagMask == isMapped && size%pageSize == 0 &&
			size > 0 && size <= mp.Hi-at && (expected || size >= mapMinimum) {
			w.mapped = append(w.mapped, chunk{addr: at, size: size, inUse: true})
			at, expected = at+size, true
			continue
		}
		if at, expected = at+pageSize, false; at-mp.Lo > maxSearch {
			w.problem("the mapping at %#x was searched for blocks only in its first %d bytes of %d", mp.Lo, at-mp.Lo, mp.Size())
			return
		}
	}
}

// emit turns chunks into blocks.
func (w *walker) emit() {
	h := w.heap
	for _, r := range w.regions {
		for i, c := range r.chunks {
			b := Block{Addr: c.addr + headerSize, Size: c.size - 8, Where: r.where, State: Free}
			switch {
			case c.size == fence:
				continue
			case w.cached[c.addr]:
				b.State = Cached
			case w.own[c.addr] || i == 0 && isTcacheSize(c.size):
				b.State = Own
			case c.inUse:
				b.State = InUse
			case c.addr == r.top:
				b.Size = c.size - headerSize
			}
			h.Blocks = append(h.Blocks, b)
		}
	}
	for _, c := range w.mapped {
		h.Blocks = append(h.Blocks, Block{Addr: c.addr + headerSize, Size: c.size - headerSize, Where: Mapped})
	}
	slices.SortFunc(h.Blocks, func(a, b Block) int { return cmp.Compare(a.Addr, b.Addr) })
}
