package capture

import (
	"cmp"
	"math"
	"slices"

	"mgtrace/probe"
	"mgtrace/trace"
)

// Declared allocators divide larger blocks, chunks, into those that they give out, pieces.
// A chunk that the program took before, as an arena's own malloc does, was told as a block; it
// is none any more once a piece of it is given out. One that is taken inside of the allocator's
// call, and of which that gives out a piece, is told to nobody. When a chunk is freed, or moves, its pieces are freed.

// dividedBlocks are the chunks.
type dividedBlocks struct {
	sizes   map[uint64]uint64 // by address, of those of which it is known where they begin
	taken   []takenChunk      // of the others, by piece
	largest uint64            // size of one of these
}

// takenChunk is a chunk that was taken in the call that gave out a piece. Where it begins is
// known when it is freed.
type takenChunk struct{ piece, size uint64 }

// divide notes of what chunk a declared allocator gives out a piece.
func (a *Assembler) divide(h *Hit, c *allocCall, piece uint64) {
	if !a.plan.Funcs[c.fn].Declared {
		return
	}
	d := &a.divided
	switch {
	case !divides(c):
	case c.from != 0:
		d.note(c.from, c.chunk)
	default:
		d.largest = max(d.largest, c.chunk)
		i, found := slices.BinarySearchFunc(d.taken, piece, byPiece)
		if found {
			d.taken[i].size = c.chunk
		} else {
			d.taken = slices.Insert(d.taken, i, takenChunk{piece, c.chunk})
		}
	}
	chunk, in, ok := a.live.holding(piece)
	if !ok || in.by == c.fn || in.size <= c.size || piece+c.size > chunk+in.size {
		return // no piece of it: a free was missed
	}
	d.note(chunk, in.size)
	a.memory(h, trace.KindUnmap, chunk, in.size) // what it holds is no block's now
}

// took tells that a declared allocator has taken a block of which what it gives out is a part: what was freed there before is no
// more, and what the program writes there beside pieces, as to a descriptor in front of one, is no use of it.
func (a *Assembler) took(h *Hit, c *allocCall, piece uint64) {
	if a.live != nil && c.from != 0 && (divides(c) || c.from != piece) {
		a.memory(h, trace.KindUnmap, c.from, c.chunk)
	}
}

// note keeps where a chunk begins.
func (d *dividedBlocks) note(chunk, size uint64) {
	if d.sizes == nil {
		d.sizes = map[uint64]uint64{}
	}
	d.sizes[chunk] = size
}

// place finds out in which block, of those that were given out inside of the call, its piece lies. Where the largest is among
// these, and the piece in none, that is a block of its own, as where a container's table grows, and its elements lie elsewhere.
func (c *allocCall) place(given []innerBlock, piece uint64) {
	for i := range given {
		if g := &given[i]; g.call.known && piece-g.block < g.call.size {
			c.chunk, c.from = g.call.size, g.block
			return
		}
	}
	if slices.ContainsFunc(given, func(g innerBlock) bool { return g.call.known && g.call.size == c.chunk }) {
		c.chunk = 0
	}
}

// divides: what a call took from another allocator is more than room for what it gives out.
func divides(c *allocCall) bool { return c.chunk >= 2*max(c.size, 1) }

// maxHeader bounds what a declared allocator puts before a piece that it takes a block for, bytes.
const maxHeader = 64

func byPiece(t takenChunk, piece uint64) int { return cmp.Compare(t.piece, piece) }

// end forgets the chunk that begins at an address, and returns its size; 0: there is none.
func (d *dividedBlocks) end(addr uint64) (size uint64) {
	size = d.sizes[addr]
	delete(d.sizes, addr)
	i, _ := slices.BinarySearchFunc(d.taken, addr, byPiece)
	for ; i < len(d.taken) && d.taken[i].piece-addr < d.largest; i++ {
		if t := d.taken[i]; t.piece-addr < t.size {
			d.taken = slices.Delete(d.taken, i, i+1)
			return max(size, t.size)
		}
	}
	return size
}

// endChunk frees the pieces of a chunk that another allocator's call frees or moves, and returns
// its size; 0: it is none.
func (a *Assembler) endChunk(h *Hit, c *allocCall) (size uint64) {
	if a.live == nil || a.plan.Funcs[c.fn].Declared {
		return 0
	}
	if b, ok := a.live.at[c.ptr]; ok && a.divided.sizes[c.ptr] == 0 && !a.plan.Funcs[b.by].Declared {
		return 0 // a block like any other
	}
	for header := uint64(0); header <= maxHeader && size == 0; header += 8 {
		if b := a.live.at[c.ptr+header]; b.whole && header == 0 {
			return 0 // a block like any other, for the program
		} else if b.whole {
			size = header + b.size
		}
	}
	if size == 0 {
		size = a.divided.end(c.ptr)
	}
	for _, piece := range a.live.within(c.ptr, size) {
		if piece == c.ptr && a.plan.Funcs[c.fn].Role == probe.RoleFree {
			continue // the free's own
		}
		e := a.allocEvent(h, c, trace.KindFree)
		e.Addr, e.Size = trace.Addr(piece), 0
		a.live.remove(piece)
		a.send(e)
	}
	return size
}

// freedLater reports the end of all pieces of a chunk from a mark on; where the chunk is not known, as of static
// memory, of all that lie behind it.
func (a *Assembler) freedLater(h *Hit, c *allocCall) {
	for _, piece := range a.live.within(c.ptr, a.divided.behind(c.ptr)) {
		if !a.plan.Funcs[a.live.at[piece].by].Declared {
			continue
		}
		e := a.allocEvent(h, c, trace.KindFree)
		e.Addr, e.Size = trace.Addr(piece), 0
		a.live.remove(piece)
		a.send(e)
	}
}

// behind is how much of its chunk lies behind an address.
func (d *dividedBlocks) behind(addr uint64) (size uint64) {
	for chunk, n := range d.sizes {
		if addr-chunk <= n {
			return n - (addr - chunk)
		}
	}
	i, found := slices.BinarySearchFunc(d.taken, addr, byPiece)
	if !found {
		i--
	}
	for ; i >= 0; i-- {
		if t := d.taken[i]; addr-t.piece <= t.size {
			return t.size - (addr - t.piece)
		}
	}
	return math.MaxUint64 - addr
}
