package graph

import (
	"math/bits"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// Dirt says what changed about an object.
type Dirt struct {
	Obj  ObjID
	Mask uint64 // bit i: some byte of the i-th of 64 parts of the object, see Grain
	sure uint64 // of these, those that are known to differ from what they were at Follow
	In   bool   // edges into it
	Life bool   // born, died or resized
}

// Grain is the size of the parts that Dirt.Mask tells apart: an object of the
// size has 64 of them, of at least 8 bytes each.
func Grain(size uint64) uint64 { return 1 << grainBits(size) }

// grainBits is the logarithm of Grain: each store to an object asks for it, and a division takes longer than
// all else there.
func grainBits(size uint64) int {
	const least = 3 // 8 bytes
	if size <= 64<<least {
		return least
	}
	return bits.Len64((size - 1) / 64)
}

// Parts returns the mask of the bytes [lo, hi) of an object of the size.
func Parts(lo, hi int64, size uint64) uint64 {
	if lo < 0 {
		lo = 0
	}
	if hi <= lo {
		return 0
	}
	g := grainBits(size)
	a, b := lo>>g, (hi-1)>>g
	if a > 63 {
		a = 63
	}
	if b > 63 {
		b = 63
	}
	return ^uint64(0) >> (63 - b) &^ (1<<a - 1)
}

// Touches reports whether the dirt touches the bytes [lo, hi) of the object; hi
// < 0: any byte.
func (d *Dirt) Touches(lo, hi int64, size uint64) bool {
	if hi < 0 {
		return d.Mask != 0
	}
	return d.Mask&Parts(lo, hi, size) != 0
}

// EachPart calls f for the parts that are dirty of an object of the size, with their
// bytes.
func (d *Dirt) EachPart(size uint64, f func(lo, hi int64)) {
	g := int64(Grain(size))
	for i := range int64(64) {
		if d.Mask>>i&1 != 0 {
			f(i*g, (i+1)*g)
		}
	}
}

// Changes is what differs between two views.
type Changes struct {
	Dirt []Dirt
	// All: something changed that anything may depend on.
	All bool
	// Untyped: bytes of memory changed that is no object.
	Untyped bool

	index index // of Dirt
	one   Dirt  // scratch of copy
}

// Reset empties c for use again.
func (c *Changes) Reset() {
	c.index.empty(c.Dirt)
	c.Dirt = c.Dirt[:0]
	c.All, c.Untyped = false, false
}

// Find returns the dirt of o, nil if it has none.
func (c *Changes) Find(o ObjID) *Dirt {
	if i := c.index.find(c.Dirt, o); i >= 0 {
		return &c.Dirt[i]
	}
	return nil
}

// Of returns the dirt of o, clean at first.
func (c *Changes) Of(o ObjID) *Dirt {
	i := c.index.find(c.Dirt, o)
	if i < 0 {
		c.Dirt = append(c.Dirt, Dirt{})
		i = len(c.Dirt) - 1
		c.Dirt[i].Obj = o
		c.index.add(c.Dirt)
	}
	return &c.Dirt[i]
}

// add appends the dirt of an object that has none yet, and says where it is.
func (c *Changes) add(d Dirt) int {
	c.Dirt = append(c.Dirt, d)
	c.index.add(c.Dirt)
	return len(c.Dirt) - 1
}

// otherIn notes that edges into an object changed, if it is one.
func (c *Changes) otherIn(o ObjID) {
	if o != 0 {
		c.Of(o).In = true
	}
}

// copy makes c, which has no dirt, that of another; keep, if it is given, may clean some, and
// says whether any is left.
func (c *Changes) copy(from *Changes, keep func(*Dirt) bool) {
	c.All, c.Untyped = c.All || from.All, c.Untyped || from.Untyped
	for i := range from.Dirt {
		c.one = from.Dirt[i]
		if keep == nil || keep(&c.one) {
			c.add(c.one)
		}
	}
}

// Same reports whether Advance has noted that nothing changed since t; strays: memory that is no object counts too.
func (g *Graph) Same(t mgpp.Timestamp, strays bool) bool {
	p := &g.pending
	return g.Followed(t) && !g.unsettled() && len(p.Dirt) == 0 && !p.All && !((strays || len(g.short) > 0) && p.Untyped)
}

// Between adds to c what the operations in (t0, t1] changed. It costs what
// these operations cost, unless Advance has noted it (Follow). Both times must be taken over already.
func (g *Graph) Between(t0, t1 mgpp.Timestamp, c *Changes) {
	if g.Followed(t0) && t1 == g.now && len(c.Dirt) == 0 {
		if len(g.pending.Dirt) == 0 {
			c.copy(&g.pending, nil)
			g.markShort(c)
			return
		}
		v0, v1 := g.hist.At(t0), g.hist.At(t1)
		var differs func(*Dirt) bool
		if !g.fills && len(g.spec.Reaches) == 0 {
			differs = func(d *Dirt) bool { return g.prune(v0, v1, d) }
		}
		c.copy(&g.pending, differs)
		g.spread(v0, v1, c, g.knowsIn())
		return
	}
	if g.put.lost {
		g.Exact()
	}
	for t := t0 + 1; t <= t1; t++ {
		if b := g.briefOf(t); b.Kind != mgpp.OpBirth || len(g.of(b.Node)) > 0 {
			op := g.hist.Op(t)
			g.changedBy(&op, c)
		}
	}
	g.spread(g.hist.At(t0), g.hist.At(t1), c, false)
}

// Against adds to c what differs between a hypothetical view and the history
// at the same time.
func (g *Graph) Against(v mgpp.View, changed []Span, c *Changes) {
	t := v.Time()
	for _, s := range changed {
		g.wrote(v, 0, s.Lo, s.Hi, t, c)
	}
	g.spread(g.hist.At(t), v, c, false)
}

// changedBy notes what one operation changed.
func (g *Graph) changedBy(op *mgpp.Op, c *Changes) {
	t := op.Time
	g.turnedBy(t, c)
	switch op.Kind {
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
		g.wrote(g.at(t), op.Node, op.Addr, op.Addr+trace.Addr(op.Size), t, c)
		for _, o := range g.of(op.Node) {
			if g.objs.at(o).Death == t {
				g.turned(o, t, c)
			}
		}
	case mgpp.OpBirth:
		g.lived(op.Node, t, c)
	case mgpp.OpDeath:
		g.lived(op.Node, t, c)
		g.loosened(op.Node, t, c)
	case mgpp.OpMove:
		g.lived(op.Node, t, c)
		g.loosened(op.Node, t, c)
		g.lived(op.Other, t, c)
	case mgpp.OpResize:
		g.lived(op.Node, t, c)
		g.loosened(op.Node, t, c)
		for _, o := range g.of(op.Node) {
			c.Of(o).Mask = ^uint64(0)
		}
		c.Untyped = true
	case mgpp.OpEnter, mgpp.OpLeave:
		if lo, hi := g.tracked(op); hi > 0 {
			g.wrote(g.at(t), 0, lo, hi, t, c)
		}
		if op.Mark >= 0 && op.Mark < len(g.spec.Members) {
			typ := g.spec.Members[op.Mark].Type
			for _, at := range [2]mgpp.Timestamp{t - 1, t} {
				if o := g.members.current(g, op.Addr, typ, at); o != 0 && g.LifeChange(o, t) == t {
					g.turned(o, t, c)
				}
			}
		}
	}
}

func (g *Graph) wrote(v mgpp.View, hint mgpp.NodeID, lo, hi trace.Addr, t mgpp.Timestamp, c *Changes) {
	typed := false
	g.overlapping(v, hint, lo, hi, t, func(o ObjID, a, b int64) {
		typed = typed || !g.bare(o)
		if g.objs.at(o).matters(a, b) {
			c.Of(o).Mask |= Parts(a, b, g.Size(o, t))
		}
	})
	c.Untyped = c.Untyped || !typed
}

// lived notes the birth or death of a block's objects.
func (g *Graph) lived(id mgpp.NodeID, t mgpp.Timestamp, c *Changes) {
	for _, o := range g.of(id) {
		g.turned(o, t, c)
	}
	for _, o := range g.members.in(g, id, t) {
		g.turned(o, t, c)
	}
}

// turned notes the birth, death or resize of an object at t: the cells that
// lead to it read differently, and what it leads to loses or gains an edge.
func (g *Graph) turned(o ObjID, t mgpp.Timestamp, c *Changes) {
	c.Of(o).Life = true
	c.All = c.All || g.sentinelCell(g.objs.at(o), ^uint64(0))
	followed := c == &g.pending && g.knowsIn() && !g.objs.at(o).lay.conditional
	for _, at := range [2]mgpp.Timestamp{t - 1, t} {
		g.refs = g.appendRefs(at, nil, o, g.refs[:0])
		for _, r := range g.refs {
			off := int64(r.Addr - g.objs.at(r.From).Addr)
			c.Of(r.From).Mask |= Parts(off, off+8, g.Size(r.From, at))
		}
		if !followed && g.Alive(o, at) {
			g.markTargets(g.at(at), o, ^uint64(0), c)
		}
	}
}

// loosened notes the cells that led into a block, to no object there, or to
// its end, before the block died or was resized.
func (g *Graph) loosened(id mgpp.NodeID, t mgpp.Timestamp, c *Changes) {
	c.Untyped = true // pointers outside of objects may lead to it, too
	for _, r := range g.loose[id] {
		k := g.ref(r)
		if !g.Alive(r.from, t-1) {
			continue
		}
		if tgt := g.at(t-1).Target(k.Addr, k.Cell.Coded); tgt.Node == id || tgt.Past == id {
			off := int64(k.Addr - g.objs.at(r.from).Addr)
			c.Of(r.from).Mask |= Parts(off, off+8, g.Size(r.from, t))
		}
	}
}

// spread carries dirt along edges: the objects that dirty cells lead to, in
// either view, have other in-edges. followed: point has noted them already.
func (g *Graph) spread(v0, v1 mgpp.View, c *Changes, followed bool) {
	g.refill(v0, v1, c)
	g.markShort(c)
	for i := 0; i < len(c.Dirt); i++ { // grows: the targets are appended
		d := c.Dirt[i]
		if d.Mask == 0 {
			continue
		}
		b := g.objs.at(d.Obj)
		if g.sentinelCell(b, d.Mask) {
			c.All = true
		}
		mask := d.Mask
		if b.lay.conditional {
			mask = ^uint64(0)
			c.Dirt[i].Mask = mask
		} else if followed {
			continue
		}
		for _, v := range [2]mgpp.View{v0, v1} {
			if g.Alive(d.Obj, v.Time()) {
				g.markTargets(v, d.Obj, mask, c)
			}
		}
	}
}

// prune takes what is the same in both views out of d, and says whether something remains: of
// a program that calls a function, which puts a node on a stack and takes it off again,
// nothing does.
func (g *Graph) prune(v0, v1 mgpp.View, d *Dirt) bool {
	before, after := g.Alive(d.Obj, v0.Time()), g.Alive(d.Obj, v1.Time())
	if before && after && !d.Life && d.Mask != 0 {
		g.differing(v0, v1, d)
	}
	return (before || after) && (d.Mask != 0 || d.In || d.Life)
}

// differing leaves those words of an object dirty that differ: a pointer also if the block
// that it leads to is another one at the same address, or what lies in the block.
func (g *Graph) differing(v0, v1 mgpp.View, d *Dirt) {
	b := g.objs.at(d.Obj)
	if Grain(b.Size) != 8 || b.Addr%8 != 0 || b.lay.conditional {
		return
	}
	for rest := d.Mask &^ d.sure; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if b.Type != nil && b.Type.CodedAt(int64(8*i)) != coded.Plain {
			continue
		}
		addr := b.Addr + trace.Addr(8*i)
		if w0, at0 := g.hist.Word(addr, v0.Time()); at0 != 0 {
			switch w1, at1 := g.hist.Word(addr, v1.Time()); {
			case at1 == 0:
			case w0 != w1:
				continue
			case v1.Time() == g.now && g.ledAlways(w0, min(at0, at1)):
				d.Mask &^= 1 << i
				continue
			}
		}
		t0, t1 := v0.Target(addr, coded.Plain), v1.Target(addr, coded.Plain)
		if t0.State != mgpp.Unwritten && t0.State == t1.State && t0.Value == t1.Value && t0.Node == t1.Node && t0.Past == t1.Past && sameExtent(v0, v1, t0.Past) &&
			!slices.ContainsFunc(g.of(t0.Node), func(o ObjID) bool { return g.Alive(o, v0.Time()) != g.Alive(o, v1.Time()) }) &&
			!g.members.turned(g, trace.Addr(t0.Value), v0.Time(), v1.Time()) {
			d.Mask &^= 1 << i
		}
	}
}

// sameExtent reports whether a block at whose end a pointer stands lives in both views or in neither, with one size; true of none.
func sameExtent(v0, v1 mgpp.View, id mgpp.NodeID) bool {
	if id == 0 {
		return true
	}
	n0, ok0 := v0.Node(id)
	n1, ok1 := v1.Node(id)
	return ok0 == ok1 && n0.Size == n1.Size
}

// ledAlways reports that a pointer of this value leads to NULL or to the same object now as at any time since it was first
// stored; it may do so if it says no.
func (g *Graph) ledAlways(value uint64, stored mgpp.Timestamp) bool {
	to, _, known := g.led(&g.places, value, stored)
	return known && (to == 0 || g.objs.at(to).alone)
}

// knowsIn: what leads where is decided by the cells that hold pointers alone, but for
// conditional ones. Then point knows of all other edges.
func (g *Graph) knowsIn() bool { return !g.members.tangled() && !g.fills }

// refill notes the elements of arrays that are in use in one of the views only, since
// something changed that says so.
func (g *Graph) refill(v0, v1 mgpp.View, c *Changes) {
	if g.opts.Uses == nil {
		return
	}
	for i, n := 0, len(c.Dirt); i < n; i++ {
		d := c.Dirt[i]
		if b := g.objs.at(d.Obj); b.lay.fills && (d.Mask != 0 || d.Life) {
			for _, v := range [2]mgpp.View{v0, v1} {
				g.eachFilled(v, d.Obj, func(array ObjID) { g.reused(v0, v1, array, c) })
			}
		}
	}
}

// eachFilled calls f for the arrays to which pointers of o lead that say what of them is in use.
func (g *Graph) eachFilled(v mgpp.View, o ObjID, f func(array ObjID)) {
	t := v.Time()
	if !g.Alive(o, t) {
		return
	}
	b := g.objs.at(o)
	for ci := range b.lay.cells {
		k := b.lay.cells[ci].EdgeCell
		if k.Fills == nil {
			continue
		}
		for e, n := int64(0), elems(k, g.Size(o, t)); e < n; e++ {
			if to := g.resolve(v.Target(cellAddr(b, k, e), k.Coded), k.Elem, b.Type, t); to != 0 {
				f(to)
			}
		}
	}
}

// reused marks what of an array is in use in one view, but not in the other.
func (g *Graph) reused(v0, v1 mgpp.View, array ObjID, c *Changes) {
	if !g.Alive(array, v0.Time()) || !g.Alive(array, v1.Time()) {
		return // its life has changed, which says more
	}
	lo0, hi0 := g.opts.Uses.Used(v0, array)
	lo1, hi1 := g.opts.Uses.Used(v1, array)
	size := g.Size(array, v1.Time())
	if mask := Parts(min(lo0, lo1), max(lo0, lo1), size) | Parts(min(hi0, hi1), max(hi0, hi1), size); mask != 0 {
		c.Of(array).Mask |= mask
	}
}

// markTargets notes that the in-edges of what o's masked cells lead to changed.
func (g *Graph) markTargets(v mgpp.View, o ObjID, mask uint64, c *Changes) {
	b := g.objs.at(o)
	t := v.Time()
	size := g.Size(o, t)
	mark := func(lo, hi int64) {
		for ci := range b.lay.cells {
			k := b.lay.cells[ci].EdgeCell
			first, end := Overlap(k, lo, hi, size)
			for e := first; e < end; e++ {
				if to := g.resolve(v.Target(cellAddr(b, k, e), k.Coded), k.Elem, b.Type, t); to != 0 {
					c.Of(to).In = true
				}
			}
		}
	}
	if mask == ^uint64(0) {
		mark(0, int64(size))
		return
	}
	d := Dirt{Mask: mask}
	d.EachPart(size, mark) // of a large table, what changed
}

// sentinelCell reports whether the mask touches a field that names a sentinel
// ("nil T.sentinel"): every pointer may read differently then.
func (g *Graph) sentinelCell(b *object, mask uint64) bool {
	for i := range g.spec.Nils {
		n := &g.spec.Nils[i]
		if n.Type == nil || n.Type != b.Type || n.Place == nil || n.Size > 0 {
			continue
		}
		off := StaticOffset(n.Place)
		if mask&Parts(off, off+8, b.Size) != 0 {
			return true
		}
	}
	return false
}

// StaticOffset returns the offset of a place whose steps are constant.
func StaticOffset(p *check.Place) int64 {
	off := p.Offset
	for _, s := range p.Steps {
		if k, ok := s.I.(*check.Const); ok {
			off += k.Int * s.Stride
		}
	}
	return off
}
