package index

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"sort"

	"mgtrace/trace"
)

// part is what the operations of a chunk wrote, decoded from the trace.
type part struct {
	until uint64   // the operation up to which it is decoded
	words []uint64 // of recs: a search for one of them reads nothing else
	recs  []rec    // by time
	heads []uint32 // hash table: index in recs + 1 of the newest write to a word; nil: not made
	of    *wordSet // the words of the table; nil: all
	prev  []uint32 // of each: index + 1 of the write to the same word before; 0: none here
	shift uint
	asked int // words that were looked for without the table

	sites  []uint32 // of recs: of a store of a run; noSite: of an event
	runs   []partRun
	events []partEvent // that became operations
}

const noSite = ^uint32(0)

// partRun is what stores have in common.
type partRun struct {
	at     int // the first's rec
	thread trace.ThreadID
	wall   int64
	sites  []trace.StoreSite
	// instants: they have some.
	instants bool
}

// partEvent is what an operation tells of an event, and its operations. It is as
// small as it can be: to touch fresh memory costs as much as to decode into it.
type partEvent struct {
	first, last    uint32
	thread         trace.ThreadID
	kind           trace.Kind
	flags          trace.Flags
	wall           int64
	instant        trace.Instant
	pc, addr, base trace.Addr
	size, aux      uint64
	name           string
}

// rec is a write of bytes of one word.
type rec struct {
	value       uint64
	time        uint32
	mask, known uint8 // bytes that were written, and of which the value is known
}

const (
	// maxParts is how many parts are kept decoded, 3 MB each where stores are of one
	// word.
	maxParts = 32
	// maxAsked is how many words are looked for one after another in a part before a
	// table of them is made.
	maxAsked = 12
	// maxRoom is for how many operations of a chunk room is made before they are decoded:
	// few chunks have more.
	maxRoom = 1 << 16
)

// part decodes a chunk, as far as the operation at t; as a whole if it was not far enough
// before.
func (x *Index) part(chunk int, t uint64) *part {
	from, until := x.chunks.ops(chunk), uint64(x.d.Now)
	if chunk+1 < x.chunks.len() {
		until = x.chunks.ops(chunk + 1)
	}
	old, again := x.parts[chunk]
	if again && min(t, until) <= old.until {
		return old
	}
	if !again {
		until = min(t, until)
	}
	n := min(until-min(from, until), maxRoom)
	n += n / 16
	p := &part{until: until, words: make([]uint64, 0, n), recs: make([]rec, 0, n), sites: make([]uint32, 0, n)}
	// Room that is not used is not touched either; to grow is to copy into more fresh memory.
	p.runs, p.events = make([]partRun, 0, n/8+1), make([]partEvent, 0, n/8+1)
	x.fail(x.decode(chunk, p))
	x.parts[chunk] = p
	if again {
		return p
	}
	if len(x.loaded) == maxParts {
		delete(x.parts, x.loaded[0])
		x.loaded = x.loaded[1:]
	}
	x.loaded = append(x.loaded, chunk)
	return p
}

// decoded is the part of the operation at t, if it is decoded that far; else nil.
func (x *Index) decoded(t uint64) *part {
	if p := x.parts[x.chunkOf(t)]; p != nil && t <= p.until {
		return p
	}
	return nil
}

// decode adds the writes of a chunk to a part, up to where it is to reach at least.
func (x *Index) decode(chunk int, p *part) error {
	return x.eachBatch(chunk, func(ev *trace.Event, run *trace.Stores, k *keptRuns) error {
		if k.op >= p.until {
			return errEnough
		}
		if run == nil {
			first, last := k.next()
			if last < first {
				return nil
			}
			p.keep(ev, first, last)
			if writes(ev.Kind) {
				addr, size, data := extent(ev)
				_, fill := ev.Fill()
				cut(addr, size, data, fill, x.d.Long, func(addr, size uint64, data []byte) { p.write(addr, size, data, uint32(last), noSite) })
			}
			return nil
		}
		sites := x.r.Sites()
		p.runs = append(p.runs, partRun{len(p.recs), run.Thread, run.Wall, sites, len(run.Instants) > 0})
		for recs := run.Recs; len(recs) > 0 && k.op < p.until; {
			n, t := k.some(len(recs))
			if k.each > 0 {
				p.stores(recs[:n], run.Wide, sites, uint32(t), uint32(k.each))
			}
			recs = recs[n:]
		}
		return nil
	})
}

// stores adds stores, of which the first is the operation after t, and each is some
// operations after the one before.
func (p *part) stores(recs []trace.StoreRec, wide []byte, sites []trace.StoreSite, t, each uint32) {
	for i := range recs {
		r := &recs[i]
		t += each
		w := sites[r.Site].Width
		if off := r.Addr & 7; w <= 8 && off+uint64(w) <= 8 {
			mask := uint8(uint16(1)<<w-1) << off
			p.words = append(p.words, r.Addr>>3)
			p.recs = append(p.recs, rec{value: r.Value << (8 * off) & byteMasks[mask], time: t, mask: mask, known: mask})
			p.sites = append(p.sites, r.Site)
			continue
		}
		if w <= 8 {
			p.straddling(r.Addr, r.Value, w, t, r.Site)
		} else {
			p.write(r.Addr, uint64(w), wide[r.Value:][:w], t, r.Site)
		}
	}
}

// keep notes an event that became operations.
func (p *part) keep(ev *trace.Event, first, last uint64) {
	e := partEvent{uint32(first), uint32(last), ev.Thread, ev.Kind, ev.Flags, ev.Wall, ev.Instant, ev.PC, ev.Addr, ev.Base, ev.Size, ev.Aux, ev.Name}
	if writes(ev.Kind) {
		_, e.size, _ = extent(ev)
	}
	p.events = append(p.events, e)
}

// writes: an event of the kind may write to nodes.
func writes(k trace.Kind) bool {
	return k == trace.KindStore || k == trace.KindBulk || k == trace.KindSyscall || k == trace.KindUnread
}

// event returns the event, without its bytes and its stack, that made the operation
// at t, and all its operations; false if that is not known here.
func (p *part) event(t uint64, ev *trace.Event) (first, last uint64, ok bool) {
	if i := sort.Search(len(p.events), func(i int) bool { return uint64(p.events[i].last) >= t }); i < len(p.events) && uint64(p.events[i].first) <= t {
		e := &p.events[i]
		*ev = trace.Event{
			Kind: e.kind, Flags: e.flags, Thread: e.thread, Wall: e.wall, Instant: e.instant, PC: e.pc, Addr: e.addr, Base: e.base,
			Size: e.size, Aux: e.aux, Name: e.name,
		}
		return uint64(e.first), uint64(e.last), true
	}
	i := sort.Search(len(p.recs), func(i int) bool { return uint64(p.recs[i].time) >= t })
	if i == len(p.recs) || uint64(p.recs[i].time) != t || p.sites[i] == noSite {
		return 0, 0, false
	}
	run := &p.runs[sort.Search(len(p.runs), func(k int) bool { return p.runs[k].at > i })-1]
	site := &run.sites[p.sites[i]]
	if site.Base == trace.BaseOwn || run.instants { // which it has not kept
		return 0, 0, false
	}
	addr := p.words[i]<<3 + uint64(bits.TrailingZeros8(p.recs[i].mask))
	*ev = trace.Event{
		Kind: trace.KindStore, Flags: site.Flags, Thread: run.thread, Wall: run.wall, PC: site.PC,
		Addr: trace.Addr(addr), Size: uint64(site.Width), Base: site.BaseOf(&trace.StoreRec{Addr: addr}),
	}
	return t, t, true
}

// straddling adds a store of up to 8 bytes that begins in one word and ends in the
// next.
func (p *part) straddling(addr, value uint64, width uint8, t, site uint32) {
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], value)
	p.write(addr, uint64(width), data[:width], t, site)
}

func (p *part) write(addr, size uint64, data []byte, t, site uint32) {
	eachWord(addr, size, data, func(word, value uint64, mask, known uint8) {
		p.words = append(p.words, word)
		p.recs = append(p.recs, rec{value: value, time: t, mask: mask, known: known})
		p.sites = append(p.sites, site)
	})
}

// eachBatch gives the events of a chunk, or runs of stores. What is called says to
// the third which operations they became; errEnough ends it.
func (x *Index) eachBatch(chunk int, f func(*trace.Event, *trace.Stores, *keptRuns) error) error {
	begin, end := x.chunks.event(chunk), x.d.Events
	if chunk+1 < x.chunks.len() {
		end = x.chunks.event(chunk + 1)
	}
	if err := x.r.Seek(begin); err != nil {
		return err
	}
	k := x.kept(begin)
	var ev trace.Event
	for k.event < end {
		run, err := x.r.NextBatch(&ev)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			if run == nil && x.CallSite != nil {
				x.CallSite(&ev)
			}
			err = f(&ev, run, k)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errEnough = errors.New("enough")

// eachOp gives the events of a chunk with their operations, [first, last]: none if
// last is below first. A store of a run is given as number i of the run. It ends when
// f returns false.
func (x *Index) eachOp(chunk int, f func(ev *trace.Event, run *trace.Stores, i int, first, last uint64) bool) error {
	return x.eachBatch(chunk, func(ev *trace.Event, run *trace.Stores, k *keptRuns) error {
		if run == nil {
			if first, last := k.next(); !f(ev, nil, 0, first, last) {
				return errEnough
			}
			return nil
		}
		for i := range run.Recs {
			if first, last := k.next(); !f(nil, run, i, first, last) {
				return errEnough
			}
		}
		return nil
	})
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
	_, t := k.some(1)
	return t + 1, k.op
}

// some passes over events that became equally many operations each, k.each: at most n
// of them, and says how many, and the operations before.
func (k *keptRuns) some(n int) (events int, t uint64) {
	if k.event >= k.until {
		r, _ := k.x.rowAt(tabKept, k.row)
		k.row++
		k.op, k.each, k.until = r[1], r[2], k.x.d.Events
		if next, ok := k.x.rowAt(tabKept, k.row); ok {
			k.until = next[0]
		}
	}
	took := max(min(uint64(n), k.until-min(k.until, k.event)), 1)
	t = k.op
	k.event += took
	k.op += took * k.each
	return int(took), t
}

// link makes the table of words: of those of a set, if there is one.
func (p *part) link(of *wordSet) {
	p.of, p.prev = of, make([]uint32, len(p.recs))
	n := len(p.words)
	if of != nil {
		n = min(n, of.words) // few others pass
	}
	n = 1 << max(bits.Len(uint(fullest(n))), 4)
	for !p.fill(n) {
		n *= 2
	}
}

// fullest is the least number of slots for so many words.
func fullest(words int) int { return words + words/3 }

// fill fills a table of n slots; it reports whether these are enough.
func (p *part) fill(n int) bool {
	p.heads = make([]uint32, n)
	p.shift = uint(64 - bits.TrailingZeros(uint(n)))
	used := 0
	for i, w := range p.words {
		if p.of != nil && !p.of.has(w) {
			continue
		}
		h := p.slot(w)
		if *h == 0 {
			if used++; fullest(used) > n {
				return false
			}
		}
		p.prev[i] = *h
		*h = uint32(i + 1)
	}
	return true
}

func (p *part) slot(word uint64) *uint32 {
	mask := uint64(len(p.heads) - 1)
	for i := word * 0x9e3779b97f4a7c15 >> p.shift; ; i++ {
		h := &p.heads[i&mask]
		if *h == 0 || p.words[*h-1] == word {
			return h
		}
	}
}

// by is how many writes were made at or before t.
func (p *part) by(t uint64) int {
	return sort.Search(len(p.recs), func(i int) bool { return uint64(p.recs[i].time) > t })
}

// newest gives the writes to a word at or before t, newest first, until f returns
// false; it reports whether f always returned true.
func (p *part) newest(word, t uint64, f func(*rec) bool) bool {
	if p.heads == nil || p.of != nil && !p.of.has(word) {
		if p.asked++; p.asked <= maxAsked {
			for i := p.by(t) - 1; i >= 0; i-- {
				if p.words[i] == word && !f(&p.recs[i]) {
					return false
				}
			}
			return true
		}
		p.link(nil)
	}
	for i := *p.slot(word); i != 0; i = p.prev[i-1] {
		if r := &p.recs[i-1]; uint64(r.time) <= t && !f(r) {
			return false
		}
	}
	return true
}

// wrote reports whether the newest write to a word at or before t wrote all of it.
func (p *part) wrote(word, t uint64) (whole bool) {
	p.newest(word, t, func(r *rec) bool {
		whole = r.mask == 0xff
		return false
	})
	return whole
}

// last returns the newest write at or before t to a byte of [addr, addr+size).
func (p *part) last(addr, size, t uint64) (at uint64) {
	if lo, hi := addr>>3, (addr+size-1)>>3; hi-lo > fewWords {
		for i := p.by(t) - 1; i >= 0; i-- {
			if w := p.words[i]; lo <= w && w <= hi && p.recs[i].mask&rangeMask(w<<3, addr, addr+size) != 0 {
				return uint64(p.recs[i].time)
			}
		}
		return 0
	}
	for w := addr >> 3; w<<3 < addr+size; w++ {
		want := rangeMask(w<<3, addr, addr+size)
		p.newest(w, t, func(r *rec) bool {
			if r.mask&want == 0 {
				return true
			}
			at = max(at, uint64(r.time))
			return false
		})
	}
	return at
}
