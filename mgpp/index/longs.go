package index

import (
	"slices"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// longWrite is the words [lo, hi) that a long write wrote: what memset and its like do to
// many megabytes would take a row of cells for each word. Few are so long: they are in memory.
type longWrite struct{ time, lo, hi uint64 }

// longData is what a long write wrote.
type longData struct {
	time, addr uint64 // time 0: none
	data       []byte // its first bytes
	fill       bool   // all others are like each of these
}

// lastLong is when the newest long write at or before t was made to the range; 0: there is none.
func (x *Index) lastLong(addr, size, t uint64) uint64 {
	for _, l := range slices.Backward(x.longsBy(t)) {
		if l.lo < addr+size && l.hi > addr {
			return l.time
		}
	}
	return 0
}

// longsBy are the long writes at or before t.
func (x *Index) longsBy(t uint64) []longWrite {
	return x.longs[:sort.Search(len(x.longs), func(i int) bool { return x.longs[i].time > t })]
}

// longWord is what the long write at a time wrote to a word.
func (x *Index) longWord(t, word uint64) (value uint64, known uint8) {
	if x.long.time != t {
		x.long = longData{}
		var ev trace.Event
		if _, _, ok := x.readEvent(t, &ev); !ok {
			return 0, 0
		}
		addr, _, data := extent(&ev)
		_, fill := ev.Fill()
		x.long = longData{t, addr, slices.Clone(data), fill}
	}
	if x.long.fill {
		return wordOf(x.long.data, 0)
	}
	return wordOf(x.long.data, word<<3-x.long.addr)
}

// writtenLong adds the nodes that long writes in (a, b] wrote to.
func (x *Index) writtenLong(a, b uint64, seen mgpp.Touches) {
	for _, l := range x.longsBy(b)[len(x.longsBy(a)):] {
		if n, ok := x.liveAt(l.lo, l.time); ok && x.holds(&n, l.hi-1, l.time) && !x.overlapped(&n) {
			seen.Write(n.id, l.lo-n.start, l.hi-n.start)
			continue
		}
		x.eachOwnerIn(l.lo, l.hi-l.lo, l.time, maxOwners, func(n node, _ uint64) bool {
			lo, hi := max(l.lo, n.start), min(l.hi, n.start+x.sizeAt(&n, l.time))
			if lo < hi && n.alive(l.time) {
				seen.Write(n.id, lo-n.start, hi-n.start)
			}
			return true
		})
	}
}
