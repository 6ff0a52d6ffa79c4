package graph

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Graph is the typed memory graph of a history, at all times. It is not safe
// for concurrent use.
type Graph struct {
	spec   *check.Spec
	hist   History
	typing Typing
	opts   Options

	now        mgpp.Timestamp
	seen       int         // nodes of the history looked at
	fixed      []mgpp.Node // globals that are still to appear
	refs       []Ref       // scratch
	brief      mgpp.Brief  // likewise
	view       mgpp.View   // the history at the last time asked for
	objs       objects
	ids        list // number i is i
	hosts      list // by NodeID: the first of the objects that came with the block, which follow each other; 0: none
	slots      room[slot]
	ins        room[inRef]
	layouts    []*layout // by NodeType.Index
	pops       []population
	globals    []ObjID // by index in Spec.Globals
	nils       []Span
	far        []uint64              // offsets that have more than 31 bits
	loose      map[mgpp.NodeID][]ref // pointers into blocks where no object is, or past their ends
	members    members
	rows       rows
	places     places
	turns      []turn // of reached nodes, by time
	lives      func(ObjID) bool
	cells      int                  // slots of the objects that live
	counting   bool                 // some object ends with the count of its owners
	fills      bool                 // some object's layout does
	short      []ObjID              // see overhangs
	reads      []Reads              // of SetReads
	pathFields []check.Field        // likewise
	inward     bool                 // a pointer leads into the middle of an object whose layout is narrow
	wide       bool                 // see Wide
	coasts     bool                 // see Coast
	tangling   bool                 // members have just been found not to lie apart
	untyped    []bool               // by mgpp.Origin: its blocks are of no declared type
	guessed    map[mgpp.Origin]bool // origins of which a block has its type by its size

	lastMoved struct { // what moved returned last
		of   *Span
		at   mgpp.Timestamp
		now  mgpp.Timestamp
		refs []movedRef
	}

	following bool // see Follow
	since     mgpp.Timestamp
	pending   Changes // between since and now
	put       putOff
}

// population is the objects of one type.
type population struct {
	all     list // by birth
	live    list // now, in no order
	changes []mgpp.Timestamp
	count   int // ordinals given
}

// object is an Object with what the graph keeps about it. There are as many as the program makes
// nodes, and the first use of their memory costs more than what is done with it: what few have is apart.
type object struct {
	Object
	lay     *layout
	slots   []slot
	in      []inRef
	more    *more  // nil: it has nothing of that
	soiled  uint64 // parts that were written, and have not been looked at
	pos     int32  // in its population's live
	turned  bool   // it began or ended, and that has not been looked at
	waiting bool   // it is among putOff.waiting
	inner   bool   // a pointer has led to its inside
	alone   bool   // no other object came with its block; a member: it was not made by pointers
}

// more is what few objects have.
type more struct {
	short   bool       // it is among Graph.short
	owners  trace.Addr // of the count of its owners, see Counting; 0: the object ends with its block
	past    pasts
	resizes []resize
	inTimes []mgpp.Timestamp // when its in-edges changed; not kept while anything may be put off
}

var noMore more // read-only

// rare returns what few objects have, to be read.
func (b *object) rare() *more {
	if b.more == nil {
		return &noMore
	}
	return b.more
}

// toRare returns it to be changed.
func (b *object) toRare() *more {
	if b.more == nil {
		b.more = new(more)
	}
	return b.more
}

// slot is the state of one pointer cell now: the object it leads to, where in
// it, and where in that object's in list it stands.
type slot struct {
	to  ObjID
	pos int32
	off offset // to 0: holdsNull, or 0 where that is not known
}

const holdsNull = 1

// ref names a pointer cell.
type ref struct {
	from ObjID
	cell int32
	elem int32 // see elems
}

// inRef is a pointer cell that leads to an object now.
type inRef struct {
	from  ObjID
	elem  int32  // as in ref
	since uint32 // of times there are no more in a history
	cell  uint16
	near  uint16 // where in the object it leads to; notNear: the cell's slot says it
}

// notNear is an inRef.near: the offset is larger, or as large.
const notNear = 1<<16 - 1

func (r *inRef) ref() ref { return ref{r.from, int32(r.cell), r.elem} }

// offset is where in an object a pointer leads to. From firstFar on it is a number of Graph.far.
type offset uint32

const firstFar = 1 << 31

// code is an offset in 32 bits.
func (g *Graph) code(off uint64) offset {
	if off < firstFar {
		return offset(off)
	}
	if n := len(g.far); n == 0 || g.far[n-1] != off {
		g.far = append(g.far, off)
	}
	return offset(firstFar + len(g.far) - 1)
}

// bytes is an offset as it is.
func (g *Graph) bytes(off offset) uint64 {
	if off < firstFar {
		return uint64(off)
	}
	return g.far[off-firstFar]
}

// into is where a pointer leads to in the object in whose list it stands.
func (g *Graph) into(r *inRef) uint64 {
	if r.near == notNear {
		b := g.objs.at(r.from)
		if at := b.lay.slotOf(int(r.cell), int64(r.elem), b.Size); at < len(b.slots) {
			return g.bytes(b.slots[at].off)
		}
	}
	return uint64(r.near)
}

// resize is a size that an object had until a resize at that time.
type resize struct {
	until mgpp.Timestamp
	size  uint64
}

// New returns the graph of a history, nothing of which is taken over yet.
func New(spec *check.Spec, hist History, typing Typing, opts Options) *Graph {
	g := &Graph{
		spec: spec, hist: hist, typing: typing, opts: opts,
		layouts: make([]*layout, len(spec.Types)),
		pops:    make([]population, len(spec.Types)),
		globals: make([]ObjID, len(spec.Globals)),
		loose:   map[mgpp.NodeID][]ref{},
		members: newMembers(spec),
	}
	for i, t := range spec.Types {
		g.layouts[i] = newLayout(t)
	}
	g.lives = g.living
	g.objs.next() // 0
	g.ids.add(0)
	g.pending.Reset()
	for _, n := range spec.Nils {
		if n.Global != "" && n.Addr != 0 {
			lo := opts.Bias + trace.Addr(n.Addr)
			g.nils = append(g.nils, Span{lo, lo + trace.Addr(max(n.Size, 1))})
		}
	}
	return g
}

func (g *Graph) living(o ObjID) bool { return g.objs.at(o).Death == 0 }

// SetUses installs Options.Uses after the fact: the evaluator needs the graph before
// it can answer.
func (g *Graph) SetUses(u Uses) { g.opts.Uses = u }

// Spec returns the specification.
func (g *Graph) Spec() *check.Spec { return g.spec }

// History returns the history that the graph follows.
func (g *Graph) History() History { return g.hist }

// Now is the time up to which the history is taken over.
func (g *Graph) Now() mgpp.Timestamp { return g.now }

// Object returns an object, to be read until the next call of Advance; the zero Object
// for 0 or an unknown ID.
func (g *Graph) Object(o ObjID) *Object {
	if int(o) >= g.objs.len() {
		o = 0
	}
	return &g.objs.at(o).Object
}

// Objects returns the number of objects there ever were; IDs go from 1 to it.
func (g *Graph) Objects() int { return g.objs.len() - 1 }

// Global returns the object of Spec.Globals[i], 0 if it has not appeared.
func (g *Graph) Global(i int) ObjID {
	if i < 0 || i >= len(g.globals) {
		return 0
	}
	return g.globals[i]
}

// Alive reports whether an object lives at t.
func (g *Graph) Alive(o ObjID, t mgpp.Timestamp) bool {
	if o == 0 || int(o) >= g.objs.len() {
		return false
	}
	b := g.objs.at(o)
	return b.Birth <= t && (b.Death == 0 || t < b.Death)
}

// Size returns the size of an object at t, in bytes.
func (g *Graph) Size(o ObjID, t mgpp.Timestamp) uint64 {
	b := g.objs.at(o)
	if b.more != nil {
		for _, r := range b.more.resizes {
			if t < r.until {
				return r.size
			}
		}
	}
	return b.Size
}

// Name returns "qdtree#3", or "::head" for a global, "NULL" for 0.
func (g *Graph) Name(o ObjID) string {
	if o == 0 || int(o) >= g.objs.len() {
		return "NULL"
	}
	b := g.objs.at(o)
	switch {
	case b.Global > 0:
		return "::" + g.spec.Globals[b.Global-1].Name
	case b.Member <= inRow:
		r := &g.spec.Rows[inRow-b.Member]
		return r.Name(r.From(int64(b.Addr - g.rows.base(b.Host))))
	case b.Type == nil:
		return fmt.Sprintf("block#%d", b.Host)
	}
	return fmt.Sprintf("%s#%d", b.Type.Name, b.Ordinal)
}

// Live returns the objects of a type that quantified variables range over:
// those alive at t, globals excepted. The slice is the caller's to read until
// the next call of Advance; its order is not defined.
func (g *Graph) Live(t *check.NodeType, at mgpp.Timestamp, buf []ObjID) []ObjID {
	p := &g.pops[t.Index]
	if at >= g.now {
		return p.live.appendTo(buf, p.live.n)
	}
	n := sort.Search(p.all.n, func(i int) bool { return g.objs.at(*p.all.at(i)).Birth > at })
	for i := range n {
		o := *p.all.at(i)
		if d := g.objs.at(o).Death; d == 0 || at < d {
			buf = append(buf, o)
		}
	}
	return buf
}

// EverBorn reports whether a type ever had an object.
func (g *Graph) EverBorn(t *check.NodeType) bool { return g.pops[t.Index].count > 0 }

// Ever reports whether a type ever had an object, or is that of one in static memory, over which variables do not range.
func (g *Graph) Ever(t *check.NodeType) bool {
	if g.EverBorn(t) {
		return true
	}
	for i := range g.spec.Globals {
		if o := g.Global(i); o != 0 && g.Object(o).Type == t {
			return true
		}
	}
	return false
}

// TypeOf is Typing's answer. Where that has none, a block that realloc has moved is what it was before: its content is.
func (g *Graph) TypeOf(n mgpp.Node) (t *check.NodeType, offset int64, why string) {
	t, offset, why = g.typing.TypeOf(n)
	if t != nil || n.Moved == 0 || n.Global != 0 {
		return t, offset, why
	}
	was := g.of(n.Moved)
	if len(was) == 0 {
		return t, offset, why
	}
	// Behind it are those that lie within it, which are made again.
	o := g.objs.at(was[0])
	if o.Type == nil || o.Type.Intrusive || o.Guessed {
		return t, offset, why // a guess by the size says nothing of one that is resized
	}
	return o.Type, int64(o.Addr - g.hist.Node(n.Moved).Start), "moved"
}

// born makes the objects of a new block: the one that its type declares, and
// what is embedded in that. carried: the block has bytes already.
func (g *Graph) born(id mgpp.NodeID, t mgpp.Timestamp, carried bool) {
	n, ok := g.hist.NodeThen(id, t)
	if !ok {
		return
	}
	o := Object{Host: id, Birth: t}
	var lay *layout
	if n.Global != 0 {
		i := g.declared(n)
		if i < 0 || i >= len(g.spec.Globals) {
			return
		}
		o.Global, o.Addr, o.Size = int32(i+1), n.Start, n.Size
		if o.Type = g.typeOfGlobal(i); o.Type == nil {
			lay = g.untypedGlobal(i)
		}
		carried = true
	} else {
		typ, off, why := g.TypeOf(n)
		if typ == nil {
			if _, again := g.typing.(known); !again { // that says what was an object, and a block of no bytes was none
				g.noType(id, t)
			}
			return
		}
		if typ.Intrusive || off < 0 || uint64(off) >= n.Size {
			return
		}
		o.Type, o.Guessed = typ, why == check.BySize
		if o.Guessed {
			g.guess(t)
		}
		carried = carried || n.Before
		o.Addr, o.Size = n.Start+trace.Addr(off), n.Size-uint64(off)
	}
	obj := g.add(o, lay, carried)
	g.count(obj, n)
	g.embedded(o, carried)
	if o.Global != 0 {
		g.hold(obj, t)
	}
	if n.Before {
		g.awaited(id, t)
	}
}

// awaited re-reads the cells that led into a block when it had no object yet: of those that were
// there before recording began, what lies below holds pointers to it already.
func (g *Graph) awaited(id mgpp.NodeID, t mgpp.Timestamp) {
	refs := g.loose[id]
	delete(g.loose, id)
	g.rereadAll(refs, t)
}

// count has the object of a block end when the count of its owners is 0, if there is one.
func (g *Graph) count(o ObjID, n mgpp.Node) {
	c, ok := g.typing.(Counting)
	if !ok || n.Global != 0 {
		return
	}
	if off := c.Owners(n); off > 0 && uint64(off)+ownersSize <= n.Size {
		b := g.objs.at(o)
		at := n.Start + trace.Addr(off)
		b.toRare().owners = at
		g.counting = true
		g.places.put(o, at, at+ownersSize, g.lives)
	}
}

// ownersSize is that of a count of owners, in bytes.
const ownersSize = 4

// counts reports whether a write of [lo, hi) changes the number of b's owners.
func (b *object) counts(lo, hi trace.Addr) bool {
	at := b.rare().owners
	return at != 0 && lo < at+ownersSize && hi > at
}

// disowned ends the objects of a block whose count of owners a write made 0.
func (g *Graph) disowned(op *mgpp.Op, t mgpp.Timestamp) {
	for _, o := range g.of(op.Node) {
		b := g.objs.at(o)
		if b.Death != 0 || !b.counts(op.Addr, op.Addr+trace.Addr(op.Size)) {
			continue
		}
		var data [ownersSize]byte
		var written [ownersSize]bool
		if g.at(t).Read(b.rare().owners, &mgpp.Bytes{Data: data[:], Written: written[:]}) && data == [ownersSize]byte{} && !slices.Contains(written[:], false) {
			g.end(o, t)
		}
	}
}

// declared is the index in Spec.Globals of an object in static memory: its number, or where the history is of a run with other
// declarations, as for one of many specifications that are tried on it, by its name. None: it is not declared.
func (g *Graph) declared(n mgpp.Node) int {
	i := int(n.Global) - 1
	if n.Alloc == "" || 0 <= i && i < len(g.spec.Globals) && g.spec.Globals[i].Name == n.Alloc {
		return i
	}
	return slices.IndexFunc(g.spec.Globals, func(d check.Global) bool { return d.Name == n.Alloc })
}

// typeOfGlobal finds the declared type of a global, if any. One that is a node as a whole ("embed T in ::x;") is that node.
func (g *Graph) typeOfGlobal(i int) *check.NodeType {
	l := g.spec.Globals[i].Layout
	for _, t := range g.spec.Types {
		if l != nil && t.Layout != nil && !t.Array && (t.Layout == l || t.Layout.Name != "" && t.Layout.Name == l.Name && t.Layout.Size == l.Size) {
			if slices.ContainsFunc(g.spec.Rows, func(r check.Row) bool { return r.Global == i && r.Type == t && len(r.Dims) == 0 }) {
				return nil
			}
			return t
		}
	}
	return nil
}

// embedded makes the nodes that lie within o as members.
func (g *Graph) embedded(o Object, carried bool) {
	if o.Type == nil {
		return
	}
	for i := range g.spec.Embeds {
		e := &g.spec.Embeds[i]
		if e.Host != o.Type || uint64(e.Offset) >= o.Size {
			continue
		}
		m := Object{Type: e.Type, Host: o.Host, Addr: o.Addr + trace.Addr(e.Offset), Birth: o.Birth}
		m.Size = o.Size - uint64(e.Offset)
		if e.Type.Layout != nil && e.Type.Layout.Size > 0 {
			m.Size = min(m.Size, uint64(e.Type.Layout.Size))
		}
		g.add(m, nil, carried)
		if e.Type != o.Type {
			g.embedded(m, carried)
		}
	}
}

// add makes an object. carried: its cells may hold pointers already.
func (g *Graph) add(o Object, lay *layout, carried bool) ObjID {
	o.ID = ObjID(g.objs.len())
	if lay == nil {
		lay = g.layouts[o.Type.Index]
	}
	g.fills = g.fills || lay.fills
	b := g.objs.next() // filled where it lies: see mgpp's slab
	b.Object, b.lay, b.slots, b.pos = o, lay, g.slots.take(lay.slots(o.Size)), -1
	g.cells += len(b.slots)
	if o.Global > 0 {
		g.globals[o.Global-1] = o.ID
	} else if p := &g.pops[o.Type.Index]; true {
		p.count++
		b.Ordinal = int32(p.count)
		b.pos = int32(p.live.n)
		p.all.add(o.ID)
		p.live.add(o.ID)
		g.popChanged(p, o.Birth)
	}
	g.ids.add(o.ID)
	if o.Host != 0 && o.Member == 0 {
		g.hosts.extend(int(o.Host) + 1)
		if first := g.hosts.at(int(o.Host)); *first == 0 {
			*first = o.ID
			g.objs.at(o.ID).alone = true
		} else {
			g.objs.at(*first).alone = false
		}
	}
	g.place(&o)
	g.overhangs(g.objs.at(o.ID), 0)
	if g.defers() {
		g.wait(o.ID).turned = true
	}
	if carried {
		g.refresh(o.ID, 0, int64(o.Size), o.Birth)
	}
	return o.ID
}

// popChanged notes when a population changes.
func (g *Graph) popChanged(p *population, t mgpp.Timestamp) {
	if g.put.on {
		g.put.lost = true
		return
	}
	p.changes = appendTime(p.changes, t)
}

func appendTime(s []mgpp.Timestamp, t mgpp.Timestamp) []mgpp.Timestamp {
	if n := len(s); n > 0 && s[n-1] == t {
		return s
	}
	return append(s, t)
}

// died ends the objects of a block.
func (g *Graph) died(id mgpp.NodeID, t mgpp.Timestamp) {
	if h := g.rows.find(id); h != nil {
		h.over = true
	}
	for _, o := range g.of(id) {
		g.end(o, t)
	}
	for _, o := range g.members.in(g, id, t) {
		if g.objs.at(o).Member != reached { // pointers made it, and they are still there
			g.end(o, t)
			g.rereadAll(g.besideBlock(o, id, t), t)
		}
	}
}

// of returns the objects that came with a block.
func (g *Graph) of(id mgpp.NodeID) []ObjID {
	if int(id) >= g.hosts.n {
		return nil
	}
	first := *g.hosts.at(int(id))
	if first == 0 {
		return nil
	}
	end := first + 1
	for int(end) < g.objs.len() && g.objs.at(end).Host == id && g.objs.at(end).Member == 0 {
		end++
	}
	return g.ids.cut(int(first), int(end))
}

// end ends one object: it leaves its population, and its cells lead nowhere.
func (g *Graph) end(o ObjID, t mgpp.Timestamp) {
	b := g.objs.at(o)
	if b.Death != 0 {
		return
	}
	b.Death = t
	g.cells -= len(b.slots)
	if g.defers() {
		g.wait(o).turned = true
	} else {
		g.letGo(o, t)
	}
	if b.pos >= 0 {
		p := &g.pops[b.Type.Index]
		last := *p.live.at(p.live.n - 1)
		*p.live.at(int(b.pos)) = last
		g.objs.at(last).pos = b.pos
		p.live.pop()
		g.popChanged(p, t)
	}
}

// letGo has the cells of an object that has ended lead nowhere.
func (g *Graph) letGo(o ObjID, t mgpp.Timestamp) {
	b := g.objs.at(o)
	for ci := range b.lay.cells {
		for e := int64(0); e < elems(b.lay.cells[ci].EdgeCell, b.Size); e++ {
			g.point(ref{o, int32(ci), int32(e)}, 0, 0, t)
		}
	}
	b.slots = nil
}

// resized gives a block's object its new size.
func (g *Graph) resized(op *mgpp.Op, t mgpp.Timestamp) {
	n, ok := g.at(t).Node(op.Node)
	if !ok {
		return
	}
	if g.members.hosts.has(op.Node) {
		g.tangle()
	}
	end := n.Start + trace.Addr(n.Size)
	for i, o := range g.of(op.Node) {
		b := g.objs.at(o)
		size := uint64(0)
		if end > b.Addr {
			size = uint64(end - b.Addr)
		}
		if i > 0 && b.Type.Layout != nil { // embedded: no larger than its type
			size = min(size, uint64(max(b.Type.Layout.Size, 0)))
		}
		g.resizeObject(o, size, t)
	}
}

// resizeObject rebuilds the slots of o, for flexible cells move when the size
// changes.
func (g *Graph) resizeObject(o ObjID, size uint64, t mgpp.Timestamp) {
	b := g.objs.at(o)
	if size == b.Size {
		return
	}
	m := b.toRare()
	m.resizes = append(m.resizes, resize{t, b.Size})
	old, oldSlots := b.Size, b.slots
	fresh := make([]slot, b.lay.slots(size))
	for ci := range b.lay.cells {
		c := b.lay.cells[ci].EdgeCell
		for e := elems(c, size); e < elems(c, old); e++ {
			g.point(ref{o, int32(ci), int32(e)}, 0, 0, t) // may move what another cell has in the list of its target
		}
	}
	for ci := range b.lay.cells {
		c := b.lay.cells[ci].EdgeCell
		for e := int64(0); e < min(elems(c, old), elems(c, size)); e++ {
			fresh[b.lay.slotOf(ci, e, size)] = oldSlots[b.lay.slotOf(ci, e, old)]
		}
	}
	g.cells += len(fresh) - len(oldSlots)
	b.Size, b.slots = size, fresh
	g.overhangs(b, 0)
	for i := range b.in {
		g.overhangs(b, g.into(&b.in[i]))
	}
	if size > old {
		g.places.put(o, b.Addr+trace.Addr(old), b.Addr+trace.Addr(size), g.lives)
	}
	g.refresh(o, int64(min(old, size)), int64(size), t)
	g.reachedAnew(o, size, t)
}

// reachedAnew re-reads the cells whose pointers lead to where o ends now or
// ended before: they lead into it no more, or again.
func (g *Graph) reachedAnew(o ObjID, size uint64, t mgpp.Timestamp) {
	refs := g.leadingTo(o, size, math.MaxUint64)
	host := g.objs.at(o).Host
	refs = append(refs, g.loose[host]...)
	g.loose[host] = compact(g.loose[host])
	g.rereadAll(refs, t)
}

// written re-reads the cells that a write touched.
func (g *Graph) written(op *mgpp.Op, t mgpp.Timestamp) {
	g.bear(op, t)
	brief := mgpp.Brief{Kind: op.Kind, Addr: op.Addr, Size: op.Size}
	g.overlapping(g.at(t), op.Node, op.Addr, op.Addr+trace.Addr(op.Size), t, func(o ObjID, lo, hi int64) {
		g.refreshBy(o, lo, hi, &brief, t)
	})
	g.disowned(op, t)
}

// overlapping calls f for each object alive at t that [lo, hi) touches, with
// the touched range as offsets in the object. hint is the block that contains
// lo, 0 if unknown.
func (g *Graph) overlapping(v mgpp.View, hint mgpp.NodeID, lo, hi trace.Addr, t mgpp.Timestamp, f func(o ObjID, lo, hi int64)) {
	if g.members.some {
		g.members.overlapping(g, lo, hi, t, f)
	}
	for a := lo; a < hi; {
		id := hint
		hint = 0
		if id == 0 {
			var ok bool
			if id, ok = v.NodeAt(a); !ok {
				a = (a + 8) &^ 7 // blocks are 8-byte aligned
				continue
			}
		}
		objs := g.of(id)
		for _, o := range objs {
			b := g.objs.at(o)
			size := trace.Addr(g.Size(o, t))
			if b.Birth <= t && (b.Death == 0 || t < b.Death) && lo < b.Addr+size && hi > b.Addr {
				f(o, int64(max(lo, b.Addr)-b.Addr), int64(min(hi, b.Addr+size)-b.Addr))
			}
		}
		if len(objs) == 1 && hi <= g.objs.at(objs[0]).Addr+trace.Addr(g.Size(objs[0], t)) {
			return
		}
		n, ok := v.Node(id)
		if !ok || n.Start+trace.Addr(n.Size) <= a {
			a = (a + 8) &^ 7
			continue
		}
		a = n.Start + trace.Addr(n.Size)
	}
}
