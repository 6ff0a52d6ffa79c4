package slice

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// A segment is steps that are coded together: 1<<Index.bits of them. Nearly all uses have their
// definition in the same segment, or share it with others of the segment. A step has
// references: one for each of its groups, each of its reads, and the branch that it
// depends on.
//
//	segment: u32 references, u32 bytes of sources, sources, a bit for each step, a bit for
//	         each reference, literals
//
// A source is an op of an older segment: how many numbers of ops it lies before the
// segment's first (uvarint).
//
// A bit says that the piece, or the reference, is as predicted (predictor). If it is not, a literal
// (uvarint) says what it is. Of a step:
//
//	0  another thread: uvarint, and the step's literal once more
//	1  a piece that was not met in the segment: uvarint
//	n  the piece that was met as the n-1st from the last
//
// A cause has its instants since the step before (uvarint) behind that. Of a reference, with
// the lowest two bits:
//
//	0  an op of the segment: steps back<<opBits | op
//	1  a source that was named before: how many were named behind it
//	2  the next source: 0
//	3  0: nothing in the recording wrote it; 1: nothing was read, or it is of no interest;
//	   2: as it was before it was so; 1+n: a list of n references, of units of a group (four),
//	   or of memory that was written in parts
const (
	litOwn = iota
	litSource
	litNewSource
	litOther

	otherBefore  = 0
	otherNothing = 1
	otherGuess   = 2
	otherList    = 1 // + n; n > 1

	litThread = 0
	litPiece  = 1

	segmentHead = 8

	// segmentBits is what segments have unless a test wants smaller ones, and at most.
	segmentBits = 10
)

// ref is what a step refers to: the number of an op in the segment; or from refSource on a
// source; or from refList on a list, by its place; or one of the last two.
type ref uint32

const (
	refSource  ref = 1 << 30
	refList    ref = 1 << 31
	refBefore  ref = 1<<32 - 2 // nothing in the recording wrote it
	refNothing ref = 1<<32 - 1 // nothing was read, or it is of no interest
)

// segment is steps in memory.
type segment struct {
	first   StepID
	steps   []stepDeps
	ops     []uint32 // which op of the program: its piece's base, and its number there
	refs    []ref
	sources []Node
	lists   []ref // of each, how long it is, and its elements
}

// stepDeps is a step, and where its references are.
type stepDeps struct {
	piece   *Piece
	instant uint64
	thread  uint32
	refs    uint32 // the first
	base    uint32 // the number of its first op among those of the segment
	number  uint32 // of its piece among those that were met
	own     bool   // it reads what it wrote itself
}

// segmentReader reads segments of an index.
type segmentReader struct {
	x *Index
	window
	predictor
	named int // sources, so far
}

func (x *Index) reader() *segmentReader { return &segmentReader{x: x} }

// readSources fills g with the sources of segment i, and nothing else, and returns what
// follows; before that, how many references there are.
func (r *segmentReader) readSources(i int, g *segment) (refs int, rest []byte, err error) {
	raw, err := r.x.bytes(i, &r.window)
	if err != nil {
		return 0, nil, err
	}
	if len(raw) < segmentHead {
		return 0, nil, damaged(i)
	}
	le := binary.LittleEndian
	rest = raw[segmentHead:]
	n := le.Uint32(raw[4:])
	if uint64(n) > uint64(len(rest)) {
		return 0, nil, damaged(i)
	}
	g.first, g.sources = r.x.firstOf(i), g.sources[:0]
	first := node(g.first, 0)
	for c := (cursor{b: rest[:n]}); c.at < len(c.b); {
		before := Node(c.uvarint())
		if before == 0 || before > first-node(1, 0) {
			return 0, nil, damaged(i)
		}
		g.sources = append(g.sources, first-before)
	}
	return int(le.Uint32(raw)), rest[n:], nil
}

func damaged(segment int) error { return fmt.Errorf("%w: segment %d", ErrIndex, segment) }

// read fills g with segment i.
func (r *segmentReader) read(i int, g *segment) error {
	refs, rest, err := r.readSources(i, g)
	if err != nil {
		return err
	}
	x := r.x
	n := int(min(x.Steps-g.first+1, 1<<x.bits))
	heads := (n + 7) / 8
	if len(rest) < heads+(refs+7)/8 {
		return damaged(i)
	}
	known := rest[heads:]
	lit := cursor{b: known[(refs+7)/8:]}
	r.named = 0
	r.begin()
	g.steps, g.ops, g.lists = g.steps[:0], g.ops[:0], g.lists[:0]
	g.refs = slices.Grow(g.refs[:0], refs)[:refs]
	at := 0 // the step's first
	thread, instant := binary.LittleEndian.Uint32(x.dir[i*dirEntry+16:]), x.instant(i)
	before := -1 // the number of the piece before
	for k := range n {
		var number int
		if rest[k>>3]>>(k&7)&1 != 0 && before >= 0 {
			number = int(r.met[before].next) - 1
		} else {
			number = r.piece(&lit, &thread)
		}
		if number < 0 || number >= len(r.met) {
			return damaged(i)
		}
		if before >= 0 {
			r.met[before].next = uint32(number) + 1
		}
		before = number
		m := &r.met[number]
		p := m.piece
		if p.Code == nil {
			instant += lit.uvarint()
		}
		base := len(g.ops)
		g.steps = append(g.steps, stepDeps{piece: p, instant: instant, thread: thread, refs: uint32(at), base: uint32(base), number: uint32(number)})
		instant += uint64(p.N)
		if at+p.refs > refs {
			return damaged(i)
		}
		out := g.refs[at:][:p.refs]
		for j, s := range r.slots[m.slots:][:p.refs] {
			if bit := at + j; known[bit>>3]>>(bit&7)&1 != 0 {
				out[j] = r.of(s.last)
				continue
			}
			var ok bool
			if out[j], ok = r.reference(&lit, &r.slots[int(m.slots)+j], g, k); !ok {
				return damaged(i)
			}
		}
		at += p.refs
		m.latest = uint32(base)
		g.ops = slices.Grow(g.ops, len(p.ops))[:base+len(p.ops)]
		for j := range g.ops[base:] {
			g.ops[base+j] = p.base + uint32(j)
		}
	}
	if lit.bad || at != refs {
		return damaged(i)
	}
	return nil
}

// piece reads which piece a step is of: its number; -1: the segment is damaged.
func (r *segmentReader) piece(lit *cursor, thread *uint32) int {
	v := lit.uvarint()
	if v == litThread && !lit.bad {
		*thread = uint32(lit.uvarint())
		v = lit.uvarint()
	}
	switch {
	case lit.bad || v == litThread:
		return -1
	case v == litPiece:
		id := lit.uvarint()
		if id == 0 || id > uint64(len(r.x.pieces)) {
			return -1
		}
		p := r.x.pieces[id-1]
		if _, ok := r.known(p); ok {
			return -1
		}
		return int(r.meet(p))
	}
	return int(int64(len(r.met)) + litPiece - int64(min(v, 1<<32)))
}

// reference reads a reference of step k that is not as predicted.
func (r *segmentReader) reference(lit *cursor, s *slot, g *segment, k int) (ref, bool) {
	v := lit.uvarint()
	switch kind, v := v&3, v>>2; {
	case kind != litOther:
		e, by, ok := r.element(kind, v, g, k)
		if ok && by != noGuess {
			s.was(by)
		}
		return e, ok
	case v == otherBefore:
		s.was(guess(refBefore))
		return refBefore, !lit.bad
	case v == otherNothing:
		s.was(guess(refNothing))
		return refNothing, true
	case v == otherGuess:
		s.was(s.other)
		return r.of(s.last), true
	default:
		n := v - otherList
		if n > uint64(len(lit.b)) {
			return 0, false
		}
		at := len(g.lists)
		g.lists = append(g.lists, ref(n))
		for range n {
			v := lit.uvarint()
			e := refBefore
			switch kind, v := v&3, v>>2; {
			case kind != litOther:
				var ok bool
				if e, _, ok = r.element(kind, v, g, k); !ok {
					return 0, false
				}
			case v == otherNothing:
				e = refNothing
			}
			g.lists = append(g.lists, e)
		}
		return refList + ref(at), !lit.bad
	}
}

// noGuess is what can not be guessed: what a step wrote itself.
const noGuess = guess(refList)

// element is an op of the segment, or a source, that a literal names; and how to guess it.
func (r *segmentReader) element(kind, v uint64, g *segment, k int) (ref, guess, bool) {
	switch kind {
	case litOwn:
		back, op := v>>opBits, uint32(v&(maxPieceOps-1))
		if back > uint64(k) {
			return 0, 0, false
		}
		d := &g.steps[k-int(back)]
		if int(op) >= len(d.piece.ops) {
			return 0, 0, false
		}
		by := guess(d.number<<opBits | op)
		if back == 0 {
			d.own, by = true, noGuess
		}
		return ref(d.base + op), by, true
	case litSource:
		if v >= uint64(r.named) {
			return 0, 0, false
		}
		e := refSource + ref(uint64(r.named)-1-v)
		return e, guess(e), true
	default:
		if r.named == len(g.sources) {
			return 0, 0, false
		}
		e := refSource + ref(r.named)
		r.named++
		return e, guess(e), true
	}
}

// stepOf is the step of the op of a number.
func (g *segment) stepOf(number uint32) int {
	return sort.Search(len(g.steps), func(k int) bool { return g.steps[k].base > number }) - 1
}

// node is the op of a number.
func (g *segment) node(number uint32) Node {
	k := g.stepOf(number)
	return node(g.first+StepID(k), uint16(number-g.steps[k].base))
}

// list is a list: its elements.
func (g *segment) list(at ref) []ref {
	l := g.lists[at-refList:]
	return l[1:][:l[0]]
}

// each calls yield with the definitions that a reference means: of all memory that was
// read, or of units of a group, and 0 for what nothing in the recording wrote. The same
// may come again.
func (g *segment) each(r ref, units uint8, yield func(Node)) {
	switch {
	case r == refNothing:
	case r == refBefore:
		yield(0)
	case r < refSource:
		yield(g.node(uint32(r)))
	case r < refList:
		yield(g.sources[r-refSource])
	default:
		for i, e := range g.list(r) {
			if units == 0 || units&(1<<i) != 0 {
				g.each(e, 0, yield)
			}
		}
	}
}

// control is the op that decided that a step is executed; 0: none is known.
func (g *segment) control(d *stepDeps) (by Node) {
	g.each(g.refs[int(d.refs)+d.piece.refs-1], 0, func(n Node) { by = n })
	return by
}

// pieceOf is the piece of an op of the program.
func (x *Index) pieceOf(static uint32) *Piece {
	return x.pieces[sort.Search(len(x.pieces), func(i int) bool { return x.pieces[i].base > static })-1]
}
