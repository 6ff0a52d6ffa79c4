package index

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// fewWords is how many words of a range are looked up one by one; of a longer one
// all rows are read.
const fewWords = 64

// LastWrite returns the newest operation at or before t that wrote a byte of
// [addr, addr+size), a realloc that carried bytes there included; 0 if none.
func (x *Index) LastWrite(addr trace.Addr, size uint64, t mgpp.Timestamp) mgpp.Timestamp {
	a, at := uint64(addr), uint64(min(t, x.d.Now))
	if a >= 1<<57 || size == 0 || at == 0 {
		return 0
	}
	size = min(size, 1<<32, 1<<57-a)
	found := max(x.lastWord(a, size, at), x.lastLong(a, size, at))
	return mgpp.Timestamp(max(found, x.carried(a, size, found, at)))
}

// lastWord is the newest of the writes that are taken down word by word. One that is older
// than a long write may be left out.
func (x *Index) lastWord(addr, size, t uint64) uint64 {
	if p := x.decoded(t); p != nil {
		if found := p.last(addr, size, t); found != 0 {
			return found
		}
	}
	chunk := x.chunkOf(t)
	if found := x.lastIn(chunk, addr, size, t); found != 0 {
		return found
	}
	return x.lastBefore(addr, size, chunk)
}

// lastIn returns the newest write of a chunk, at or before t.
func (x *Index) lastIn(chunk int, addr, size, t uint64) (found uint64) {
	lo, hi := addr>>3, (addr+size-1)>>3
	look := hi-lo >= fewWords
	for w := lo; w <= hi && !look; w++ {
		c, ok := x.leftIn(w, chunk)
		want := rangeMask(w<<3, addr, addr+size)
		switch {
		case !ok || c.touched&want == 0:
		case c.time <= t && c.touched&^want == 0:
			found = max(found, c.time)
		default:
			look = true
		}
	}
	if look {
		found = x.part(chunk, t).last(addr, size, t)
	}
	return found
}

// left is what a chunk left in a word: a row of the table of cells.
type left struct {
	word                uint64
	chunk               int
	time                uint64 // of the newest of the bytes
	value               uint64
	touched, own, known uint8 // as in cell
}

func (x *Index) left(r *row) (c left) {
	if r[1] >= uint64(x.chunks.len()) {
		x.fail(fmt.Errorf("%w: a word of chunk %d", ErrCorrupt, r[1]))
		return left{}
	}
	c.word, c.chunk, c.value = r[0], int(r[1]), r[3]
	c.time = x.chunks.ops(c.chunk) + r[2]
	c.touched, c.own, c.known = unpackMasks(r[4])
	return c
}

// leftIn is what a chunk left in a word; false if it did not write there.
func (x *Index) leftIn(word uint64, chunk int) (left, bool) {
	r, _, ok, err := x.table(tabCells).before(word, uint64(chunk)+1)
	if x.fail(err) || !ok || r[1] != uint64(chunk) {
		return left{}, false
	}
	return x.left(&r), true
}

// lastBefore returns the newest write of the chunks before one.
func (x *Index) lastBefore(addr, size uint64, before int) uint64 {
	newest, time := -1, uint64(0) // the chunk that wrote last, and when, at the latest
	exact := true
	take := func(c *left) {
		want := rangeMask(c.word<<3, addr, addr+size)
		if c.touched&want == 0 || c.chunk < newest || c.chunk >= before {
			return
		}
		if c.chunk > newest {
			newest, time, exact = c.chunk, 0, true
		}
		time = max(time, c.time)
		exact = exact && c.touched&^want == 0
	}
	lo, hi := addr>>3, (addr+size-1)>>3
	if hi-lo < fewWords {
		for w := lo; w <= hi; w++ {
			x.leftBefore(w, before, func(c left) bool {
				had := newest
				take(&c)
				return newest == had && c.chunk > newest // they are given newest first
			})
		}
	} else {
		x.scan(tabCells, x.search(tabCells, lo, 0), func(r *row) bool {
			if r[0] > hi {
				return false
			}
			c := x.left(r)
			take(&c)
			return true
		})
	}
	if newest < 0 || exact {
		return time
	}
	return x.lastIn(newest, addr, size, uint64(x.d.Now))
}

// leftBefore gives what the chunks before one left in a word, newest first, until f
// returns false.
func (x *Index) leftBefore(word uint64, before int, f func(left) bool) {
	x.eachBefore(tabCells, word, uint64(before), func(r row) bool { return f(x.left(&r)) })
}

// carried returns the newest move after a time, at or before t, that carried bytes
// to the range; 0 if there is none.
func (x *Index) carried(addr, size, after, t uint64) (at uint64) {
	if x.d.Moves == 0 {
		return 0
	}
	x.eachOwnerIn(addr, size, t, math.MaxInt, func(n node, from uint64) bool {
		if from <= max(after, at) {
			return false
		}
		if n.birth > max(after, at) && n.is(bitMoved) {
			if k := x.carriedSize(&n); k > 0 && n.start < addr+size && n.start+k > addr {
				at = n.birth
				return false
			}
		}
		return true
	})
	return at
}

// carriedSize is how many bytes a realloc carried to a node.
func (x *Index) carriedSize(n *node) uint64 {
	old, ok := x.node(x.moved(n))
	if !ok {
		return 0
	}
	return min(x.sizeAt(&old, n.birth-1), x.bornSize(n))
}

// written adds the nodes that operations in (a, b] wrote to. It goes by address, so that
// what tells of one piece of memory is read once.
func (x *Index) written(a, b uint64, seen mgpp.Touches) {
	var order []int
	for c := x.chunkOf(a + 1); c <= x.chunkOf(b); c++ {
		p := x.part(c, b)
		from, to := p.by(a), p.by(b)
		order = slices.Grow(order[:0], to-from)
		for i := from; i < to; i++ {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, k int) int { return cmp.Or(cmp.Compare(p.words[i], p.words[k]), i-k) })
		x.foreseeOwners(p, order)
		for _, i := range order {
			base, t := p.words[i]<<3, uint64(p.recs[i].time)
			for mask := p.recs[i].mask; mask != 0; {
				addr := base + uint64(bits.TrailingZeros8(mask))
				n, ok := x.liveAt(addr, t)
				if !ok {
					mask &= mask - 1
					continue
				}
				if x.overlapped(&n) {
					x.writtenFixed(addr, t, seen)
					mask &= mask - 1
					continue
				}
				in := mask & rangeMask(base, addr, n.start+x.sizeAt(&n, t))
				seen.Write(n.id, addr-n.start, base+uint64(bits.Len8(in))-n.start)
				mask &^= in
			}
		}
	}
	x.writtenLong(a, b, seen)
}

// foreseeOwners foresees that it is asked whose memory some writes were made to, which are in
// order of address. Of 16 bytes behind 16 others the owner is mostly known then.
func (x *Index) foreseeOwners(p *part, order []int) {
	var keys []key
	last := uint64(0) // the last 16 bytes that were written to, plus 1
	for _, i := range order {
		if g := p.words[i]/2 + 1; g != last {
			if g != last+1 || last == 0 {
				keys = append(keys, key{coverKey(0, p.words[i]<<3), uint64(p.recs[i].time) + 1})
			}
			last = g
		}
	}
	x.fail(x.table(tabCover).foresee(keys))
}

// writtenFixed adds the objects in static memory that have a byte which was written at t.
func (x *Index) writtenFixed(addr, t uint64, seen mgpp.Touches) {
	x.eachOwner(addr, t, func(n node, _ uint64) bool {
		if n.is(bitFixed) && n.alive(t) && x.holds(&n, addr, t) {
			seen.Write(n.id, addr-n.start, addr-n.start+1)
		}
		return true
	})
}

// AtWall returns the last operation at or before a time since recording began, in
// nanoseconds.
func (x *Index) AtWall(ns int64) mgpp.Timestamp {
	chunks := x.r.Chunks()
	i := sort.Search(len(chunks), func(i int) bool {
		first, _, ok := chunks[i].Wall()
		return ok && first > ns
	})
	for i--; i >= 0; i-- {
		if x.chunks.ops(i) == uint64(x.d.Now) {
			continue // it has none, and perhaps could not be read
		}
		at := uint64(0)
		x.fail(x.eachOp(i, func(ev *trace.Event, run *trace.Stores, _ int, first, last uint64) bool {
			wall := int64(-1)
			if run != nil {
				wall = run.Wall
			} else {
				wall = ev.Wall
			}
			if last >= first && wall >= 0 && wall <= ns {
				at = last
			}
			return true
		}))
		if at > 0 {
			return mgpp.Timestamp(at)
		}
	}
	return 0
}

// Nth returns operation n, from 1, of those that some statements made, of n 0 the
// last, and how many there are.
func (x *Index) Nth(pcs []trace.Addr, n uint64) (t mgpp.Timestamp, count uint64) {
	perChunk := make([]uint64, x.chunks.len())
	wanted := map[trace.Addr]bool{}
	for _, pc := range pcs {
		wanted[pc] = true
		x.scan(tabPCs, x.search(tabPCs, uint64(pc), 0), func(r *row) bool {
			if r[0] != uint64(pc) {
				return false
			}
			if r[1] < uint64(len(perChunk)) {
				perChunk[r[1]] += r[2]
				count += r[2]
			}
			return true
		})
	}
	if n > count || count == 0 {
		return 0, count
	}
	if n == 0 {
		n = count
	}
	for c, k := range perChunk {
		if n > k {
			n -= k
			continue
		}
		x.fail(x.eachOp(c, func(ev *trace.Event, run *trace.Stores, i int, first, last uint64) bool {
			pc := trace.Addr(0)
			if run != nil {
				pc = x.r.Sites()[run.Recs[i].Site].PC
			} else {
				pc = ev.PC
			}
			if !wanted[pc] || last < first {
				return true
			}
			if k := last - first + 1; n > k {
				n -= k
				return true
			}
			t = mgpp.Timestamp(first + n - 1)
			return false
		}))
		break
	}
	return t, count
}
