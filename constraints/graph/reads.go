package graph

import "mgtrace/constraints/check"

// Reads is what a specification reads of the objects of a type, beside the cells
// that are its edges by default. Changes of the rest concern nobody: the graph
// does not follow pointers there, and Changes does not tell of it.
type Reads struct {
	All      bool       // any byte
	Pointers bool       // any pointer
	Through  bool       // some of Spans are read where pointers lead: of an object into whose middle one leads, any pointer is
	Behind   bool       // something is read where pointers lead: from the middle of an object that may be what lies behind it
	Spans    [][2]int64 // half-open, bytes from the object's start
}

// SetReads says what is read, by NodeType.Index, and which fields name the
// other cells that are edges. Before it is called everything may be. It must be
// called before anything is taken over, else it changes nothing.
//
// Where objects lie within others, and for declared globals, all is taken to be
// read: what a pointer into the one reads may be a byte of the other.
func (g *Graph) SetReads(reads []Reads, fields []check.Field) {
	if g.now > 0 || g.objs.len() > 1 || len(reads) != len(g.layouts) {
		return
	}
	g.reads, g.pathFields = reads, fields
	g.restrict(false)
}

// restrict has layouts keep what is read; wide: with all pointers where they may be read Through others.
func (g *Graph) restrict(wide bool) {
	g.wide = wide
	for i, l := range g.layouts {
		r := g.reads[i]
		if r.Through && wide {
			r.Pointers = true
		}
		if !r.All && !l.typ.Array && !l.conditional && !l.fills && !g.nested(l.typ) && !g.ofGlobal(l.typ) {
			l.restrict(&r, g.pathFields)
			l.narrow = r.Through && !r.Pointers
		}
	}
}

// widen has all pointers be cells that may be read Through others, where one leads into the middle of an object
// now, and all of members be followed, where they lie apart no more. Each happens once.
func (g *Graph) widen() {
	put := putOff{on: g.put.on, after: g.put.after, taken: g.put.taken}
	anew := New(g.spec, g.hist, known{g}, g.opts)
	anew.reads, anew.pathFields, anew.members.apart = g.reads, g.pathFields, g.members.apart
	if g.reads != nil {
		anew.restrict(g.wide || g.inward)
	}
	g.become(anew)
	g.put = put
	g.pending.All = true // what was not a cell was not followed
}

// Wide reports whether a pointer has led into the middle of an object, or members have not lain apart, so
// that all pointers there are cells: see Reads.Through.
func (g *Graph) Wide() bool { return g.wide || g.members.tangled() }

// become makes g a graph that is made anew from the history, of which nothing is taken over yet.
func (g *Graph) become(anew *Graph) {
	anew.untyped = g.untyped
	anew.trailTo(g.now)
	anew.typing = g.typing
	anew.following, anew.since, anew.pending = g.following, g.since, g.pending
	*g = *anew
	g.lives = g.living
}

// nested reports whether objects of the type may overlap others.
func (g *Graph) nested(t *check.NodeType) bool {
	if g.members.tangled() {
		return true
	}
	for i := range g.spec.Embeds {
		if e := &g.spec.Embeds[i]; e.Type == t || e.Host == t {
			return true
		}
	}
	for i := range g.spec.Rows {
		if r := &g.spec.Rows[i]; r.Type == t && !g.unread(r.Global) {
			return true
		}
	}
	return false
}

// ofGlobal reports whether a declared global is of the type.
func (g *Graph) ofGlobal(t *check.NodeType) bool {
	for i := range g.spec.Globals {
		if g.typeOfGlobal(i) == t {
			return true
		}
	}
	return false
}

// restrict has the layout keep the cells that matter, and remember which bytes do.
func (l *layout) restrict(r *Reads, fields []check.Field) {
	l.some = true
	for _, s := range r.Spans {
		if s[0] < 0 {
			l.some, l.bytes = false, nil
			return // before the object: nobody knows what that is
		}
		l.mark(s[0], s[1])
	}
	cells := l.cells
	*l = layout{typ: l.typ, some: true, bytes: l.bytes}
	for i := range cells {
		c := cells[i].EdgeCell
		flexible := c.Count < 0 && (cells[i].edge || l.typ == nil || !l.typ.Array || r.Through || r.All)
		if r.Pointers || cells[i].edge && (Counts(l.typ, c, nil) || Counts(l.typ, c, fields)) || flexible || l.readsCell(c) {
			l.add(c, cells[i].edge)
			l.markCell(c)
		}
	}
	l.lay()
}

func (l *layout) readsCell(c *check.EdgeCell) bool {
	for e := range c.Count {
		if off := c.Offset + e*c.Stride; l.reads(off, off+8) {
			return true
		}
	}
	return false
}

// markCell notes that the cell's elements are read. Those of a flexible one lie
// from its first to the end of the object.
func (l *layout) markCell(c *check.EdgeCell) {
	if c.Count < 0 || c.Count > maxHidden {
		l.some = false
		return
	}
	for e := range c.Count {
		l.mark(c.Offset+e*c.Stride, c.Offset+e*c.Stride+8)
	}
}

// mark notes that the bytes [lo, hi) are read.
func (l *layout) mark(lo, hi int64) {
	if n := int(hi+63) / 64; n > len(l.bytes) {
		l.bytes = append(l.bytes, make([]uint64, n-len(l.bytes))...)
	}
	for ; lo < hi; lo = lo&^63 + 64 {
		l.bytes[lo/64] |= within(lo, hi)
	}
}

// within are the bits of those bytes of [lo, hi) that lie in the 64 of lo.
func within(lo, hi int64) uint64 {
	return ^uint64(0) << (lo % 64) & (^uint64(0) >> (63 - (min(hi, lo&^63+64)-1)%64))
}

// reads reports whether the specification reads any of the bytes [lo, hi) of
// objects of the layout; a pointer into their middle may lead to any byte.
func (l *layout) reads(lo, hi int64) bool {
	if !l.some {
		return true
	}
	for ; lo < hi && int(lo/64) < len(l.bytes); lo = lo&^63 + 64 {
		if l.bytes[lo/64]&within(lo, hi) != 0 {
			return true
		}
	}
	return false
}

// matters reports whether a change of the bytes [lo, hi) of an object can
// concern anybody.
func (b *object) matters(lo, hi int64) bool { return b.inner || b.lay.reads(lo, hi) }
