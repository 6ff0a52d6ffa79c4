package index

import (
	"math/bits"
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
	g := x.groupOf(at)
	found := x.lastIn(g, a, size, at)
	if found == 0 {
		found = x.lastBefore(a, size, g)
	}
	return mgpp.Timestamp(max(found, x.carried(a, size, found, at)))
}

// lastIn returns the newest write of a group, at or before t.
func (x *Index) lastIn(g, addr, size, t uint64) (found uint64) {
	first, end := x.chunksOf(g)
	look := span{first, 1<<(end-first) - 1}
	lo, hi := addr>>3, (addr+size-1)>>3
	if hi-lo < fewWords {
		look.bits = 0
		for w := lo; w <= hi; w++ {
			r, ok := x.rowOf(w, g)
			touched, _, _ := unpackMasks(r[4])
			want := rangeMask(w<<3, addr, addr+size)
			switch {
			case !ok || touched&want == 0:
			case r[2] <= t && touched&^want == 0:
				found = max(found, r[2])
			default:
				look.bits |= wroteIn(r[4])
			}
		}
	}
	look.until(x.chunkOf(t)).newest(func(chunk int) bool {
		at := x.part(chunk).last(addr, size, t)
		found = max(found, at)
		return at == 0
	})
	return found
}

// rowOf is what a group left in a word; false if it did not write there.
func (x *Index) rowOf(word, g uint64) (row, bool) {
	r, ok := x.rowAt(tabCells, x.search(tabCells, word, g))
	return r, ok && r[0] == word && r[1] == g
}

// lastBefore returns the newest write of the groups before one.
func (x *Index) lastBefore(addr, size, before uint64) uint64 {
	var newest, time uint64 // the group that wrote last, and when, at the latest
	exact := true
	take := func(r *row) {
		touched, _, _ := unpackMasks(r[4])
		want := rangeMask(r[0]<<3, addr, addr+size)
		if touched&want == 0 || r[1] < newest || r[1] >= before {
			return
		}
		if r[1] > newest {
			newest, time, exact = r[1], 0, true
		}
		time = max(time, r[2])
		exact = exact && touched&^want == 0
	}
	lo, hi := addr>>3, (addr+size-1)>>3
	if hi-lo < fewWords {
		for w := lo; w <= hi; w++ {
			x.rowsBefore(w, before, func(r *row) bool {
				had := newest
				take(r)
				return newest == had && r[1] > newest // rows are given newest first
			})
		}
	} else {
		x.scan(tabCells, x.search(tabCells, lo, 0), func(r *row) bool {
			if r[0] > hi {
				return false
			}
			take(r)
			return true
		})
	}
	if newest == 0 || exact {
		return time
	}
	return x.lastIn(newest, addr, size, uint64(x.d.Now))
}

// rowsBefore gives what the groups before one left in a word, newest first, until f
// returns false.
func (x *Index) rowsBefore(word, before uint64, f func(*row) bool) {
	for i := x.search(tabCells, word, before); i > 0; i-- {
		r, ok := x.rowAt(tabCells, i-1)
		if !ok || r[0] != word || !f(&r) {
			return
		}
	}
}

// carried returns the newest move after a time, at or before t, that carried bytes
// to the range; 0 if there is none.
func (x *Index) carried(addr, size, after, t uint64) (at uint64) {
	if x.d.Moves == 0 {
		return 0
	}
	for a := addr; a < addr+size; a = a&^15 + 16 {
		x.eachOwner(a, t, func(n *node, from uint64) bool {
			if from <= max(after, at) {
				return false
			}
			if n.birth > max(after, at) && n.moved() != 0 {
				if k := x.carriedSize(n); k > 0 && n.start < addr+size && n.start+k > addr {
					at = n.birth
					return false
				}
			}
			return true
		})
	}
	return at
}

// carriedSize is how many bytes a realloc carried to a node.
func (x *Index) carriedSize(n *node) uint64 {
	old, ok := x.node(n.moved())
	if !ok {
		return 0
	}
	return min(x.sizeAt(&old, n.birth-1), x.bornSize(n))
}

// written adds the nodes that operations in (a, b] wrote to.
func (x *Index) written(a, b uint64, seen mgpp.Touches) {
	for c := x.chunkOf(a + 1); c <= x.chunkOf(b); c++ {
		p := x.part(c)
		for i, to := p.by(a), p.by(b); i < to; i++ {
			base, t := p.words[i]<<3, uint64(p.recs[i].time)
			for mask := p.recs[i].mask; mask != 0; {
				addr := base + uint64(bits.TrailingZeros8(mask))
				n, ok := x.liveAt(addr, t)
				if !ok {
					mask &= mask - 1
					continue
				}
				in := mask & rangeMask(base, addr, n.start+x.sizeAt(&n, t))
				seen.Write(n.id, addr-n.start, base+uint64(bits.Len8(in))-n.start)
				mask &^= in
			}
		}
	}
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
	perChunk := make([]uint64, len(x.chunks))
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
