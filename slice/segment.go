package slice

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
)

// A segment is steps that are decoded together. Nearly all uses have their definition in
// the same segment, or share it with others of the segment; so a use is a number of 16
// bits, a reference:
//
//	step<<opBits | op   of the segment's own steps
//	firstSource + n     the segment's n-th source: an op of an older segment
//	beforeAll - 1 - n   the segment's n-th list
//	beforeAll           nothing in the recording wrote it
//	nothing             nothing was read, or it is of no interest
//
// A list is references in 32 bits: of the units of a group (four), or of memory that was
// written in parts. In lists, distant|n is the n-th of more ops of older segments.
//
//	segment: u32 references, sources, distant ops, lists, elements of these, bytes of extras,
//	         u32 for each step: shape<<2 | a reference leads to the step itself<<1 | has an extra,
//	         40 bits sources, 40 bits distant ops, u64 lists (where its elements begin<<32 | how many),
//	         u32 elements, u16 references,
//	         extras: uvarint thread, [uvarint instants since the step before: of a cause]
//
// Which use of the step has which reference is in its shape.
const (
	segmentBits = 8
	segmentLen  = 1 << segmentBits

	firstSource = segmentLen << opBits
	beforeAll   = 0xfffe
	nothing     = 0xffff

	// Of the elements of lists.
	distant        = 1 << 31
	beforeAllInset = 0xffff_fffe
	nothingInset   = 0xffff_ffff

	segmentHead = 6 * 4

	// sourceLen is the length of a source in bytes: for as many steps as a run may have.
	sourceLen = 5
	maxSteps  = 1<<(8*sourceLen-opBits) - 1
)

// Flags of a step's head, below its shape.
const (
	headExtra = 1 << iota
	headOwn
	headBits = iota
)

// Each reference takes one source at most, or a list, and where a step's are fits 16 bits.
var _ [beforeAll - firstSource - segmentLen*maxStepRefs]byte

// segmentWriter takes down the steps of a segment.
type segmentWriter struct {
	first    StepID
	heads    []byte
	sources  []byte
	distant  []byte
	lists    []byte
	elements []byte
	refs     []byte
	extras   []byte

	shapes shapeTable
	cur    StepID
	head   uint32 // of the step, but for its shape
	shape  []byte // of the step, as far as it goes
	own    int    // where its references begin in refs
	at     int    // the first op of the part in hand

	// The references of the step: a table with more places than it has references.
	referred [1 << referredBits]struct {
		of  StepID
		ref uint16
		at  uint8
	}
	knownSources knownOps
	knownDistant knownOps
}

const referredBits = 9

// knownOps has the places of ops in a table of a segment. At most half of it is taken.
type knownOps struct {
	of []knownOp // as many as a power of two
}

type knownOp struct {
	node    Node
	at      uint32
	segment uint32 // + 1
}

// entry is that of an op, or where it would be.
func (k *knownOps) entry(n Node, segment uint32) *knownOp {
	for i := uint64(n) * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		if e := &k.of[i&uint64(len(k.of)-1)]; e.segment != segment || e.node == n {
			return e
		}
	}
}

// place returns the place of an op in a table, to which it is added if it is not known.
func (k *knownOps) place(n Node, first StepID, table *[]byte) uint32 {
	segment := uint32(segmentOf(first) + 1)
	if at := len(*table) / sourceLen; 2*at >= len(k.of) {
		old := k.of
		k.of = make([]knownOp, max(2*len(old), 1024))
		for _, e := range old {
			if e.segment == segment {
				*k.entry(e.node, segment) = e
			}
		}
	}
	e := k.entry(n, segment)
	if e.segment != segment {
		*e = knownOp{n, uint32(len(*table) / sourceLen), segment}
		*table = binary.LittleEndian.AppendUint32(*table, uint32(n))
		*table = append(*table, byte(n>>32))
	}
	return e.at
}

func (w *segmentWriter) begin(first StepID) {
	w.first = first
	w.heads, w.sources, w.distant, w.lists = w.heads[:0], w.sources[:0], w.distant[:0], w.lists[:0]
	w.elements, w.refs, w.extras = w.elements[:0], w.refs[:0], w.extras[:0]
}

// end appends the segment to out.
func (w *segmentWriter) end(out []byte) []byte {
	le := binary.LittleEndian
	if w.first == 0 {
		return out
	}
	w.endStep()
	out = le.AppendUint32(out, uint32(len(w.refs)/2))
	out = le.AppendUint32(out, uint32(len(w.sources)/sourceLen))
	out = le.AppendUint32(out, uint32(len(w.distant)/sourceLen))
	out = le.AppendUint32(out, uint32(len(w.lists)/8))
	out = le.AppendUint32(out, uint32(len(w.elements)/4))
	out = le.AppendUint32(out, uint32(len(w.extras)))
	for _, part := range [...][]byte{w.heads, w.sources, w.distant, w.lists, w.elements, w.refs, w.extras} {
		out = append(out, part...)
	}
	return out
}

// part begins a part, and if it is the first, its step. What it uses follows.
func (w *segmentWriter) part(s *Part, other bool, since uint64) {
	w.at = int(s.First.Op())
	if w.at == 0 {
		w.endStep()
		w.cur, w.head, w.shape, w.own = s.First.Step(), 0, append(w.shape[:0], 0), len(w.refs)
		if cause := s.Piece.Code == nil; cause || other {
			w.head = headExtra
			w.extras = binary.AppendUvarint(w.extras, uint64(s.Thread))
			if cause {
				w.extras = binary.AppendUvarint(w.extras, since)
			}
		}
	}
	w.shape = binary.AppendUvarint(w.shape, uint64(s.Piece.ID))
}

// endStep puts down the head of the step in hand.
func (w *segmentWriter) endStep() {
	if w.cur != 0 {
		w.heads = binary.LittleEndian.AppendUint32(w.heads, w.shapes.id(w.shape)<<headBits|w.head)
		w.cur = 0
	}
}

func (w *segmentWriter) put(ref uint16) { w.refs = append(w.refs, byte(ref), byte(ref>>8)) }

// ref is the reference to a definition.
func (w *segmentWriter) ref(n Node) uint16 {
	switch {
	case n == 0:
		return beforeAll
	case n == ofFrame:
		return nothing
	case n.Step() >= w.first:
		w.leads(n)
		return uint16(n - node(w.first, 0))
	}
	return uint16(firstSource + w.knownSources.place(n, w.first, &w.sources))
}

// leads notes a reference to an op of the segment.
func (w *segmentWriter) leads(n Node) {
	if n.Step() == w.cur {
		w.head |= headOwn
	}
}

// list puts down a reference to the last n elements.
func (w *segmentWriter) list(n int) {
	w.refer(uint16(beforeAll - 1 - len(w.lists)/8))
	w.lists = binary.LittleEndian.AppendUint64(w.lists, uint64(len(w.elements)/4-n)<<32|uint64(n))
}

// element adds a definition to a list.
func (w *segmentWriter) element(n Node) {
	var e uint32
	switch {
	case n == 0:
		e = beforeAllInset
	case n == ofFrame:
		e = nothingInset
	case n.Step() >= w.first:
		w.leads(n)
		e = uint32(n - node(w.first, 0))
	default:
		e = distant | w.knownDistant.place(n, w.first, &w.distant)
	}
	w.elements = binary.LittleEndian.AppendUint32(w.elements, e)
}

// use puts down a use of which the first is by an op of the step.
func (w *segmentWriter) use(n Node, by int) {
	if w.shapes.most > 0 {
		switch {
		case n == 0:
			w.shape = append(w.shape, originBefore)
			return
		case n == ofFrame:
			w.shape = append(w.shape, originNothing)
			return
		case n.Step() == w.cur && int(n.Op()) < by:
			w.shape = append(w.shape, originOwn+byte(n.Op()))
			return
		}
	}
	w.refer(w.ref(n))
}

// refer puts down a reference of the step, unless it has it already.
func (w *segmentWriter) refer(ref uint16) {
	if at := (len(w.refs) - w.own) / 2; w.shapes.most > 0 && at < 1<<8-originAgain {
		i := uint32(ref) * 0x9e3779b9 >> (32 - referredBits)
		for ; w.referred[i].of == w.cur; i = (i + 1) & (1<<referredBits - 1) {
			if k := &w.referred[i]; k.ref == ref {
				w.shape = append(w.shape, originAgain+k.at)
				return
			}
		}
		w.referred[i].of, w.referred[i].ref, w.referred[i].at = w.cur, ref, uint8(at)
	}
	w.shape = append(w.shape, originRef)
	w.put(ref)
}

// splits says that a use of so many parts is one in the shape.
func (w *segmentWriter) splits(n int) bool {
	return w.shapes.most > 0 && n <= maxParts && (len(w.refs)-w.own)/2+n <= maxSplit
}

// parts puts down a use of what several ops wrote.
func (w *segmentWriter) parts(all []Node, by int) {
	if w.splits(len(all)) {
		w.shape = append(w.shape, originParts, byte(len(all)))
		for _, n := range all {
			w.use(n, by)
		}
		return
	}
	for _, n := range all {
		w.element(n)
	}
	w.list(len(all))
}

// control puts down what a part depends on.
func (w *segmentWriter) control(n Node) {
	if n == 0 {
		n = ofFrame
	}
	w.use(n, w.at)
}

// units puts down who wrote the units of a group.
func (w *segmentWriter) units(by *[4]Node, mask uint8) {
	one, same, first := Node(0), true, true
	for i, n := range by {
		switch {
		case mask&(1<<i) == 0:
		case first:
			one, first = n, false
		case n != one:
			same = false
		}
	}
	if same {
		w.use(one, w.at)
		return
	}
	var used [4]Node
	for i, n := range by {
		if mask&(1<<i) == 0 {
			n = ofFrame
		}
		used[i] = n
	}
	if !w.splits(len(used)) {
		w.shape[0] = shapeLists
	}
	w.parts(used[:], w.at)
}

// memory puts down who wrote what is read, first by an op of the step.
func (w *segmentWriter) memory(written []Node, by int) {
	switch len(written) {
	case 0:
		w.use(ofFrame, by)
	case 1:
		w.use(written[0], by)
	default:
		w.parts(written, by)
	}
}

// segment is decoded steps.
type segment struct {
	x     *Index
	first StepID
	steps []stepDeps
	ops   uint32 // of all its steps

	when    [segmentLen]moment // of the steps, if timed
	timed   bool
	extras  []byte
	raw     []byte // if it is its own
	sources []byte
	distant []byte
	lists   []byte
	refs    []byte
	known   []far // of its sources, what was known of a forward slice when it was decoded

	elements  []byte
	firstList uint16 // references from here to beforeAll are lists
}

// stepDeps is a step, and where its references are.
type stepDeps struct {
	head uint32
	refs uint16 // the first
	base uint16 // the number of its first op among those of the segment
	// Where its ops are in Index.statics.
	static uint32
}

// id is that of its shape.
func (d *stepDeps) id() uint32 { return d.head >> headBits }

// own says that a reference of it leads to an op of its own.
func (d *stepDeps) own() bool { return d.head&headOwn != 0 }

// shape is that of step k.
func (g *segment) shape(k int) *shape { return g.x.shape(g.steps[k].id()) }

// moment is the instant of a step, and the thread that executed it.
type moment struct {
	instant uint64
	thread  uint32
}

// moment returns that of step k.
func (g *segment) moment(k int) moment {
	if !g.timed {
		g.timed = true
		i := segmentOf(g.first)
		now := moment{g.x.instant(i), binary.LittleEndian.Uint32(g.x.dir[i*dirEntry+16:])}
		c := cursor{b: g.extras}
		for k := range g.steps {
			now = g.extra(&c, k, now)
			g.when[k] = now
			now.instant += uint64(g.x.sizes[g.steps[k].id()-1].insts)
		}
	}
	return g.when[k]
}

// extra is the moment of step k, with what the extras say of it, if that of the step before
// ended now.
func (g *segment) extra(c *cursor, k int, now moment) moment {
	if d := &g.steps[k]; d.head&headExtra != 0 {
		now.thread = uint32(c.uvarint())
		if g.x.sizes[d.id()-1].insts == 0 {
			now.instant += c.uvarint()
		}
	}
	return now
}

// decode fills g with segment i, which it may keep.
func (x *Index) decode(i int, g *segment) error {
	raw, err := x.bytes(i)
	if err != nil {
		return err
	}
	g.raw = append(g.raw[:0], raw...)
	return x.parse(i, g, g.raw)
}

// parse fills g with segment i, which is in raw.
func (x *Index) parse(i int, g *segment, raw []byte) error {
	g.x = x
	g.first = StepID(i<<segmentBits + 1)
	n := int(min(x.Steps-g.first+1, segmentLen))
	damaged := func() error { return fmt.Errorf("%w: segment %d", ErrIndex, i) }
	le := binary.LittleEndian
	if len(raw) < segmentHead+4*n || crc32.ChecksumIEEE(raw) != le.Uint32(x.dir[i*dirEntry+20:]) {
		return damaged()
	}
	var sizes [segmentHead / 4]uint64
	for i := range sizes {
		sizes[i] = uint64(le.Uint32(raw[4*i:]))
	}
	refs, sources, far, lists, elements, extras := sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
	heads, rest := raw[segmentHead:segmentHead+4*n], raw[segmentHead+4*n:]
	if uint64(len(rest)) != sourceLen*(sources+far)+8*lists+4*elements+2*refs+extras || sources+lists > beforeAll-firstSource {
		return damaged()
	}
	g.firstList = uint16(beforeAll - lists)
	g.sources, rest = rest[:sourceLen*sources], rest[sourceLen*sources:]
	g.distant, rest = rest[:sourceLen*far], rest[sourceLen*far:]
	g.lists, rest = rest[:8*lists], rest[8*lists:]
	g.elements, rest = rest[:4*elements], rest[4*elements:]
	g.refs, rest = rest[:2*refs], rest[2*refs:]
	g.extras, g.timed, g.known = rest, false, g.known[:0]
	c := cursor{b: rest}
	ref, base := uint32(0), uint32(0)
	if cap(g.steps) < segmentLen {
		g.steps = make([]stepDeps, segmentLen)
	}
	g.steps = g.steps[:n]
	for k := range g.steps {
		head := le.Uint32(heads[4*k:])
		id := head >> headBits
		if id == 0 || int(id) > len(x.sizes) {
			return damaged()
		}
		g.steps[k] = stepDeps{head, uint16(ref), uint16(base), x.sizes[id-1].static}
		if head&headExtra != 0 {
			g.extra(&c, k, moment{})
		}
		p := &x.sizes[id-1]
		ref += uint32(p.refs)
		base += uint32(p.ops)
	}
	g.ops = base
	if c.bad || uint64(ref) != refs {
		return damaged()
	}
	return nil
}

// ref is reference i of step k.
func (g *segment) ref(k, i int) uint16 {
	return binary.LittleEndian.Uint16(g.refs[2*(int(g.steps[k].refs)+i):])
}

// own is the op of the segment's steps that a reference means.
func (g *segment) own(ref uint32) Node { return node(g.first, 0) + Node(ref) }

// sourcesN is how many sources there are.
func (g *segment) sourcesN() uint32 { return uint32(len(g.sources) / sourceLen) }

// earlier is an op of an older segment: a source, or behind those a distant op; 0 if the index
// is damaged.
func (g *segment) earlier(at uint32) Node {
	b := g.sources
	if n := g.sourcesN(); at >= n {
		b, at = g.distant, at-n
	}
	i := sourceLen * uint64(at)
	if i+sourceLen > uint64(len(b)) {
		return 0
	}
	return Node(binary.LittleEndian.Uint32(b[i:])) | Node(b[i+4])<<32
}

// list is the elements of a reference from firstList on; none if the index is damaged.
func (g *segment) list(ref uint16) []byte {
	l := binary.LittleEndian.Uint64(g.lists[8*(beforeAll-1-int(ref)):])
	at, n := l>>32, l&(1<<32-1)
	if at+n > uint64(len(g.elements)/4) {
		return nil
	}
	return g.elements[4*at : 4*(at+n)]
}

// each calls yield with the definitions that a reference means: of all memory that was
// read, or of units of a group, and 0 for what nothing in the recording wrote. The same
// may come again. What is damaged is as if nothing had written it.
func (g *segment) each(ref uint16, units uint8, yield func(Node)) {
	switch {
	case ref == nothing:
	case ref == beforeAll:
		yield(0)
	case ref < firstSource:
		yield(g.own(uint32(ref)))
	case ref < g.firstList:
		yield(g.earlier(uint32(ref - firstSource)))
	default:
		for e := range of(g.list(ref), units) {
			switch {
			case e == beforeAllInset:
				yield(0)
			case e < firstSource:
				yield(g.own(e))
			default:
				yield(g.earlier(g.sourcesN() + e&^distant))
			}
		}
	}
}

// of are the elements of a list that are of units of a group, but for those that are of no interest.
func of(list []byte, units uint8) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := 0; 4*i < len(list); i++ {
			if units != 0 && units&(1<<i) == 0 {
				continue
			}
			if e := binary.LittleEndian.Uint32(list[4*i:]); e != nothingInset && !yield(e) {
				return
			}
		}
	}
}

// control is the op that decided that a part of step k is executed; 0: none is known.
func (g *segment) control(k int, p *shapePart) (by Node) {
	g.origin(k, p.uses[p.piece.refs-1], 0, func(n Node) { by = n })
	return by
}
