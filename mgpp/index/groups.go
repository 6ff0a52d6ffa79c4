package index

import (
	"errors"
	"io"
	"math/bits"
	"sort"

	"mgtrace/trace"
)

// group is what the operations of a few chunks wrote, decoded from the trace.
type group struct {
	recs  []rec
	heads []uint32 // hash table: index in recs + 1 of the newest write to a word
	shift uint
}

// rec is a write of bytes of one word.
type rec struct {
	word, value uint64
	time        uint32
	prev        uint32 // index + 1 of the write to the word before; 0: none here
	mask, known uint8  // bytes that were written, and of which the value is known
}

// maxGroups is how many groups are kept decoded, 32 MB each at most where stores
// are of one word.
const maxGroups = 6

// load decodes a group.
func (x *Index) load(number uint64) *group {
	if g, ok := x.loaded[number]; ok {
		return g
	}
	g := &group{}
	lo, hi := x.chunksOf(number)
	n := uint64(x.d.Now)
	if hi < len(x.chunks) {
		n = x.chunks[hi][0]
	}
	n -= x.chunks[lo][0]
	g.recs = make([]rec, 0, n+n/16)
	for c := lo; c < hi; c++ {
		err := x.eachOp(c, func(ev *trace.Event, run *trace.Stores, i int, first, last uint64) bool {
			switch {
			case last < first:
			case run != nil:
				r := &run.Recs[i]
				if w := x.r.Sites()[r.Site].Width; w <= 8 {
					g.store(r.Addr, r.Value, w, uint32(last))
				} else {
					g.write(r.Addr, uint64(w), run.Wide[r.Value:][:w], uint32(last))
				}
			case ev.Kind == trace.KindStore || ev.Kind == trace.KindBulk || ev.Kind == trace.KindSyscall || ev.Kind == trace.KindUnread:
				addr, size, data := extent(ev)
				g.write(addr, size, data, uint32(last))
			}
			return true
		})
		x.fail(err)
	}
	g.link()
	if len(x.recent) == maxGroups {
		delete(x.loaded, x.recent[0])
		x.recent = x.recent[1:]
	}
	x.loaded[number] = g
	x.recent = append(x.recent, number)
	return g
}

// eachOp gives the events of a chunk with their operations, [first, last]: none if
// last is below first. A store of a run is given as number i of the run.
func (x *Index) eachOp(chunk int, f func(ev *trace.Event, run *trace.Stores, i int, first, last uint64) bool) error {
	begin, end := x.chunks[chunk][1], x.d.Events
	if chunk+1 < len(x.chunks) {
		end = x.chunks[chunk+1][1]
	}
	if err := x.r.Seek(begin); err != nil {
		return err
	}
	k := x.kept(begin)
	var ev trace.Event
	for n := begin; n < end; {
		run, err := x.r.NextBatch(&ev)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if run == nil {
			if x.CallSite != nil {
				x.CallSite(&ev)
			}
			first, last := k.next()
			n++
			if !f(&ev, nil, 0, first, last) {
				return nil
			}
			continue
		}
		for i := range run.Recs {
			first, last := k.next()
			n++
			if !f(nil, run, i, first, last) {
				return nil
			}
		}
	}
	return nil
}

// keptRuns gives the operations of one event after another.
type keptRuns struct {
	x     *Index
	row   uint64 // number of the next row
	event uint64
	until uint64 // event at which the next row begins
	each  uint64
	op    uint64 // operations so far
}

// kept begins at an event that begins a chunk.
func (x *Index) kept(event uint64) *keptRuns {
	return &keptRuns{x: x, row: x.search(tabKept, event, 0), event: event, until: event}
}

func (k *keptRuns) next() (first, last uint64) {
	if k.event >= k.until {
		r, _ := k.x.rowAt(tabKept, k.row)
		k.row++
		k.op, k.each, k.until = r[1], r[2], k.x.d.Events
		if next, ok := k.x.rowAt(tabKept, k.row); ok {
			k.until = next[0]
		}
	}
	k.event++
	first = k.op + 1
	k.op += k.each
	return first, k.op
}

func (g *group) store(addr, value uint64, width uint8, t uint32) {
	off := addr & 7
	mask := uint16(1)<<width - 1
	value &= byteMasks[uint8(mask)]
	m := mask << off
	g.recs = append(g.recs, rec{word: addr >> 3, value: value << (8 * off), time: t, mask: uint8(m), known: uint8(m)})
	if over := uint8(m >> 8); over != 0 {
		g.recs = append(g.recs, rec{word: addr>>3 + 1, value: value >> (8 * (8 - off)), time: t, mask: over, known: over})
	}
}

func (g *group) write(addr, size uint64, data []byte, t uint32) {
	eachWord(addr, size, data, func(word, value uint64, mask, known uint8) {
		g.recs = append(g.recs, rec{word: word, value: value, time: t, mask: mask, known: known})
	})
}

// link makes the chains of writes to the same word.
func (g *group) link() {
	n := 1 << max(bits.Len(uint(2*len(g.recs))), 4)
	g.heads = make([]uint32, n)
	g.shift = uint(64 - bits.TrailingZeros(uint(n)))
	for i := range g.recs {
		h := g.slot(g.recs[i].word)
		g.recs[i].prev = *h
		*h = uint32(i + 1)
	}
}

func (g *group) slot(word uint64) *uint32 {
	mask := uint64(len(g.heads) - 1)
	for i := word * 0x9e3779b97f4a7c15 >> g.shift; ; i++ {
		h := &g.heads[i&mask]
		if *h == 0 || g.recs[*h-1].word == word {
			return h
		}
	}
}

// newest gives the writes to a word at or before t, newest first, until f returns
// false; it reports whether that was so.
func (g *group) newest(word, t uint64, f func(*rec) bool) bool {
	for i := *g.slot(word); i != 0; i = g.recs[i-1].prev {
		if r := &g.recs[i-1]; uint64(r.time) <= t && !f(r) {
			return false
		}
	}
	return true
}

// last returns the newest write at or before t to a byte of [addr, addr+size).
func (g *group) last(addr, size, t uint64) (at uint64) {
	if size/8 > uint64(len(g.recs)) {
		n := sort.Search(len(g.recs), func(i int) bool { return uint64(g.recs[i].time) > t })
		for i := n - 1; i >= 0; i-- {
			if r := &g.recs[i]; r.mask&rangeMask(r.word<<3, addr, addr+size) != 0 && r.word<<3 < addr+size && r.word<<3+8 > addr {
				return uint64(r.time)
			}
		}
		return 0
	}
	for w := addr >> 3; w<<3 < addr+size; w++ {
		want := rangeMask(w<<3, addr, addr+size)
		g.newest(w, t, func(r *rec) bool {
			if r.mask&want == 0 {
				return true
			}
			at = max(at, uint64(r.time))
			return false
		})
	}
	return at
}
