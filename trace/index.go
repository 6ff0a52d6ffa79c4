package trace

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// A chunk of the trace is a block of events and the blocks before it that it
// needs alone. Each is decoded without the others, so a query can leave out
// those that its addresses or its time do not concern. The index says which:
// for every chunk the span of its wall clock and the pages that it touches,
// by the low bits of their numbers.

const (
	pageShift   = 12
	pageBits    = 15 // of a page's number that count: heaps of up to 128 MB are told apart exactly
	pageWords   = 1 << pageBits / 64
	indexChunks = 64 // in a block of the index
)

// pageSet is the pages that a chunk touches. Stores are marked where they
// begin.
type pageSet [pageWords]uint64

// mark adds the pages of [addr, addr+size).
func (p *pageSet) mark(addr, size uint64) {
	end := addr + max(size, 1) - 1
	if end < addr {
		end = math.MaxUint64
	}
	first, n := addr>>pageShift, end>>pageShift-addr>>pageShift
	if n >= 1<<pageBits {
		n = 1<<pageBits - 1
	}
	for i := range n + 1 {
		page := first + i
		p[page/64%pageWords] |= 1 << (page % 64)
	}
}

// take adds the pages that are 1, and makes them 0. It looks at eight at a time, whose
// bits a multiplication brings together: byte i, times 1<<(56-7i), adds bit 56+i.
func (p *pageSet) take(touched *[1 << pageBits]uint8) {
	for w := range p {
		for i := range 8 {
			t := touched[64*w+8*i:][:8:8]
			if x := binary.LittleEndian.Uint64(t); x != 0 {
				p[w] |= x * 0x0102040810204080 >> 56 << (8 * i)
				clear(t)
			}
		}
	}
}

// markEvent adds what an event is about.
func (p *pageSet) markEvent(e *Event) {
	fs := kindSpecs[e.Kind].fields
	if !fs.has(fieldAddr) {
		return
	}
	p.mark(uint64(e.Addr), max(e.Size, uint64(len(e.Data))))
	if e.Kind == KindRealloc {
		p.mark(e.Aux, 1)
	}
}

// append codes the set: runs of pages, each with the gap before it.
func (p *pageSet) append(b []byte) []byte {
	var runs []byte
	n, at := uint64(0), 0
	for {
		from := p.scan(at, 0)
		if from == 1<<pageBits {
			break
		}
		to := p.scan(from, ^uint64(0))
		runs = binary.AppendUvarint(runs, uint64(from-at))
		runs = binary.AppendUvarint(runs, uint64(to-from-1))
		at = to
		n++
	}
	return append(binary.AppendUvarint(b, n), runs...)
}

// scan returns the first page from at on that is in the set, or with flip of
// all ones that is not; 1<<pageBits if there is none.
func (p *pageSet) scan(at int, flip uint64) int {
	for at < 1<<pageBits {
		w := (p[at/64] ^ flip) >> (at % 64)
		if w != 0 {
			return at + bits.TrailingZeros64(w)
		}
		at = (at/64 + 1) * 64
	}
	return at
}

// pageRuns is a pageSet as it is read: its runs of pages in order.
type pageRuns []pageRun

type pageRun struct{ from, last uint16 } // from ≤ last

// parse is the inverse of append.
func (p *pageRuns) parse(c *cursor) {
	runs := make(pageRuns, c.count(2))
	at := uint64(0)
	for i := range runs {
		from := at + c.plain()
		last := from + c.plain()
		if from < at || last < from || last >= 1<<pageBits {
			c.bad = true
			return
		}
		runs[i] = pageRun{uint16(from), uint16(last)}
		at = last + 1
	}
	*p = runs
}

// has says whether a page of [addr, addr+size) may be in the set.
func (p pageRuns) has(addr, size uint64) bool {
	end := addr + max(size, 1) - 1
	if end < addr {
		end = math.MaxUint64
	}
	if end>>pageShift-addr>>pageShift >= 1<<pageBits-1 {
		return true
	}
	from, last := uint16(addr>>pageShift%(1<<pageBits)), uint16(end>>pageShift%(1<<pageBits))
	if from > last { // over the end of the numbers
		return p.hasRun(from, 1<<pageBits-1) || p.hasRun(0, last)
	}
	return p.hasRun(from, last)
}

func (p pageRuns) hasRun(from, last uint16) bool {
	i := sort.Search(len(p), func(i int) bool { return p[i].last >= from })
	return i < len(p) && p[i].from <= last
}

// wallSpan is the span of a chunk's wall clock; times that are not known do not
// count. first > last: none is known.
type wallSpan struct{ first, last int64 }

var noWall = wallSpan{math.MaxInt64, math.MinInt64} // read-only

func (s *wallSpan) mark(t int64) {
	if t >= 0 {
		s.first, s.last = min(s.first, t), max(s.last, t)
	}
}

// appendIndex codes the index of one chunk.
func appendIndex(b []byte, wall wallSpan, pages *pageSet) []byte {
	if wall.first > wall.last {
		wall = wallSpan{0, -1}
	}
	b = binary.AppendUvarint(b, zigzag(uint64(wall.first)))
	b = binary.AppendUvarint(b, zigzag(uint64(wall.last-wall.first)))
	return pages.append(b)
}

// indexWriter collects the index: of the chunk that is being filled, and coded
// of those before.
type indexWriter struct {
	wall   wallSpan
	pages  pageSet
	coded  []byte
	chunks uint64 // in coded
}

func (x *indexWriter) reset() {
	x.wall = noWall
	x.pages = pageSet{}
}

// endChunk begins the next chunk. It says whether a block of the index is full.
func (x *indexWriter) endChunk() bool {
	x.coded = appendIndex(x.coded, x.wall, &x.pages)
	x.chunks++
	x.reset()
	return x.chunks == indexChunks
}

// A Chunk is a part of a trace that can be read alone, and what its index says.
// One without an index, at the end of a trace that was cut off, may touch all.
type Chunk struct {
	First uint64 // number of its first event, from 0; Reader.Seek takes it
	Count uint64 // events, each store counted

	indexed bool
	wall    wallSpan
	pages   pageRuns
}

// Wall returns when its first and last events were; false if that is not known.
func (c *Chunk) Wall() (first, last int64, ok bool) {
	return c.wall.first, c.wall.last, c.indexed && c.wall.first <= c.wall.last
}

// MayTouch says whether an event of the chunk can be about one of the size
// bytes at addr. False is certain.
func (c *Chunk) MayTouch(addr Addr, size uint64) bool {
	if !c.indexed {
		return true
	}
	lo, extra := uint64(addr), uint64(MaxStoreWidth-1) // a store that begins before
	if lo < extra {
		extra = lo
	}
	n := size + extra
	if n < size {
		n = math.MaxUint64
	}
	return c.pages.has(lo-extra, n)
}

// EventCount is how many events there are, each store counted. It needs no index.
func (t *Reader) EventCount() uint64 { return t.eventCount }

// ChunkCount is how many chunks there are. It needs no index.
func (t *Reader) ChunkCount() int { return t.chunkCount }

// count counts what the headers of blocks tell.
func (t *Reader) count() {
	if d := t.blocks.known; d != nil {
		t.eventCount, t.chunkCount, t.segmented = d.events, d.chunks, d.segmented
		return
	}
	for i := range t.blocks.found {
		switch b := &t.blocks.found[i]; b.kind {
		case blockEvents:
			t.eventCount += uint64(b.count)
			t.chunkCount++
		case blockSegment:
			t.segmented = true
		}
	}
}

// Chunks returns the trace's chunks in order. The index is read at the first
// call; parts of it that are damaged are left out.
func (t *Reader) Chunks() []Chunk {
	if t.chunks != nil {
		return t.chunks
	}
	first := uint64(0)
	indexed := 0
	err := t.blocks.each(func(_ int, b located) {
		switch b.kind {
		case blockEvents:
			t.chunks = append(t.chunks, Chunk{First: first, Count: uint64(b.count)})
			first += uint64(b.count)
		case blockIndex:
			if n := len(t.chunks) - indexed; int(b.count) <= n {
				t.takeIndex(b, t.chunks[len(t.chunks)-n:])
			}
			indexed = len(t.chunks)
		}
	})
	if err != nil && t.damage == nil {
		t.damage = err
	}
	return t.chunks
}

// takeIndex reads a block of the index into the chunks that it is about.
func (t *Reader) takeIndex(b located, chunks []Chunk) {
	raw, err := t.payload(b, &t.other)
	if err != nil || int(b.count) != len(chunks) {
		return
	}
	c := cursor{buf: raw}
	for i := range chunks {
		var wall wallSpan
		wall.first = int64(unzigzag(c.plain()))
		wall.last = wall.first + int64(unzigzag(c.plain()))
		var pages pageRuns
		pages.parse(&c)
		if c.bad {
			return
		}
		chunks[i].indexed, chunks[i].wall, chunks[i].pages = true, wall, pages
	}
}

// Seek makes event number n, from 0, the next one that is read, counting each
// store. At the number of all events it is the end.
func (t *Reader) Seek(n uint64) error {
	start, first, err := t.blocks.chunk(n)
	if err != nil {
		return err
	}
	t.failed = nil
	t.forget()
	if t.segmented { // what is known may be another segment's
		t.learned, t.strings, t.stacks, t.pending = 0, []string{""}, [][]Addr{nil}, nil
		t.sites.sites, t.sites.forms = nil, nil
	}
	if err := t.learn(start); err != nil {
		return err
	}
	t.next, t.read = start, first
	if err := t.skip(n - first); err != nil {
		return err
	}
	t.read = n
	return nil
}

// learn takes in the tables and sites of the blocks before block end.
func (t *Reader) learn(end int) error {
	for i, tables := range t.blocks.knowledge(t.learned, end) {
		if err := t.takeKnowledge(i, tables); err != nil {
			t.learned = i
			return fmt.Errorf("%w (in block %d)", err, i)
		}
	}
	t.learned = max(t.learned, end)
	return nil
}

// skip passes over n events.
func (t *Reader) skip(n uint64) error {
	var e Event
	for n > 0 {
		s, err := t.batch(&e, n)
		if err != nil {
			return err
		}
		if s != nil {
			t.at = len(s.Recs)
			n -= uint64(t.at)
		} else {
			n--
		}
	}
	return nil
}
