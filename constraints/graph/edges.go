package graph

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Ref is a pointer cell of an object, an edge or not.
type Ref struct {
	From ObjID
	Cell *check.EdgeCell
	Edge bool  // the cell is one of From's type's Edges
	Elem int64 // of the cell's array
	Addr trace.Addr
	Off  uint64 // into the object it leads to
}

// AppendRefs appends every pointer cell that leads to o in the view, or led to
// it when o died if that is over. changed is Changed(v). It costs what o's in-edges cost: where nothing is changed,
// nothing is read. Conditional cells are not filtered.
func (g *Graph) AppendRefs(v mgpp.View, changed []Span, o ObjID, buf []Ref) []Ref {
	if o == 0 || int(o) >= g.objs.len() {
		return buf
	}
	g.exactAt(v.Time())
	buf = g.appendRefs(v.Time(), changed, o, buf)
	if len(changed) > 0 {
		for _, m := range g.moved(v, changed) {
			if m.to == o {
				buf = append(buf, m.Ref)
			}
		}
	}
	return buf
}

// appendRefs is AppendRefs without the cells that lead to o as they are changed.
func (g *Graph) appendRefs(t mgpp.Timestamp, changed []Span, o ObjID, buf []Ref) []Ref {
	b := g.objs.at(o)
	for i := range b.in {
		if r := &b.in[i]; mgpp.Timestamp(r.since) <= t && !g.over(r.from, t) {
			buf = g.appendRef(buf, r, changed)
		}
	}
	past := &b.rare().past
	for i := past.at(t); i < len(past.list); i = past.next(i+1, t) {
		p, n := &past.list[i], len(buf)
		if buf = g.appendRef(buf, &p.inRef, changed); len(buf) > n {
			buf[n].Off = g.bytes(p.off)
		}
	}
	return buf
}

// AtEnd returns the pointer cells that, in the view, stand at the end of the block in which an object lies: they lead nowhere, or
// to what begins there.
func (g *Graph) AtEnd(v mgpp.View, o ObjID) (at []Ref) {
	t := v.Time()
	host := g.objs.at(o).Host
	n, ok := v.Node(host)
	if !ok {
		return nil
	}
	end := uint64(n.Start) + n.Size
	for _, r := range g.loose[host] {
		if k := g.ref(r); g.Alive(r.from, t) {
			if tgt := v.Target(k.Addr, k.Cell.Coded); tgt.Past == host && tgt.Value == end {
				at = append(at, k)
			}
		}
	}
	if next, ok := v.NodeAt(trace.Addr(end)); ok {
		for _, b := range g.of(next) {
			at = append(at, slices.DeleteFunc(g.AppendRefs(v, Changed(v), b, nil), func(r Ref) bool {
				return r.Off != 0 || uint64(g.objs.at(b).Addr) != end || !g.Alive(r.From, t)
			})...)
		}
	}
	return at
}

// over reports whether an object has ended at t.
func (g *Graph) over(o ObjID, t mgpp.Timestamp) bool {
	d := g.objs.at(o).Death
	return d != 0 && d <= t
}

// appendRef appends r unless it lies in a changed range: those are asked anew.
func (g *Graph) appendRef(buf []Ref, r *inRef, changed []Span) []Ref {
	b := g.objs.at(r.from)
	c := &b.lay.cells[r.cell]
	addr := cellAddr(b, c.EdgeCell, int64(r.elem))
	for _, s := range changed {
		if addr+8 > s.Lo && addr < s.Hi {
			return buf
		}
	}
	buf = append(buf, Ref{})
	k := &buf[len(buf)-1] // filled where it lies: a copy of what has just been written takes longer
	k.From, k.Cell, k.Edge, k.Elem, k.Addr, k.Off = r.from, c.EdgeCell, c.edge, int64(r.elem), addr, g.into(r)
	return buf
}

func (g *Graph) ref(r ref) Ref {
	b := g.objs.at(r.from)
	c := &b.lay.cells[r.cell]
	return Ref{From: r.from, Cell: c.EdgeCell, Edge: c.edge, Elem: int64(r.elem), Addr: cellAddr(b, c.EdgeCell, int64(r.elem))}
}

// movedRef is a cell in a changed range, with the object to which it leads now.
type movedRef struct {
	Ref
	to ObjID
}

// moved returns the cells in the changed ranges of a view that lead to objects. Whoever asks
// about many objects has the same ranges each time: they are resolved once.
func (g *Graph) moved(v mgpp.View, changed []Span) []movedRef {
	m := &g.lastMoved
	if m.of == &changed[0] && m.at == v.Time() && m.now == g.now {
		return m.refs
	}
	m.of, m.at, m.now, m.refs = &changed[0], v.Time(), g.now, nil
	for _, s := range changed {
		g.resolveIn(v, s, &m.refs)
	}
	return m.refs
}

// resolveIn appends the cells in one changed range that are not there yet.
func (g *Graph) resolveIn(v mgpp.View, s Span, refs *[]movedRef) {
	t := v.Time()
	g.overlapping(v, 0, s.Lo, s.Hi, t, func(from ObjID, lo, hi int64) {
		src := g.objs.at(from)
		for ci := range src.lay.cells {
			c := src.lay.cells[ci].EdgeCell
			first, end := Overlap(c, lo, hi, g.Size(from, t))
			for e := first; e < end; e++ {
				k := g.ref(ref{from, int32(ci), int32(e)})
				if slices.ContainsFunc(*refs, func(r movedRef) bool { return r.Addr == k.Addr && r.Cell == k.Cell }) {
					continue
				}
				tgt := v.Target(k.Addr, c.Coded)
				if to := g.resolve(tgt, c.Elem, src.Type, t); to != 0 {
					k.Off = tgt.Value - uint64(g.objs.at(to).Addr)
					*refs = append(*refs, movedRef{k, to})
				}
			}
		}
	})
}

// Beside calls f for the other objects that overlap o in the same block: the
// host of an embedded node, or what is embedded in o.
func (g *Graph) Beside(o ObjID, t mgpp.Timestamp, f func(ObjID)) {
	b := g.objs.at(o)
	end := b.Addr + trace.Addr(b.Size)
	for _, s := range g.of(b.Host) {
		if x := g.objs.at(s); s != o && x.Addr < end && b.Addr < x.Addr+trace.Addr(x.Size) && g.Alive(s, t) {
			f(s)
		}
	}
	if g.members.tangled() {
		g.members.overlapping(g, b.Addr, end, t, func(s ObjID, _, _ int64) {
			if s != o {
				f(s)
			}
		})
	}
}

// Whole reports whether no pointer has led into the middle of o so far, and nothing else lies in its place: what
// reads it by a pointer reads what its type has there.
func (g *Graph) Whole(o ObjID) bool {
	b := g.objs.at(o)
	return b.alone && !b.inner && !g.members.tangled()
}

// Elems returns how many elements of a cell lie in an object of the size.
func Elems(c *check.EdgeCell, size uint64) int64 { return elems(c, size) }

// CellAddr returns the address of an element of one of o's cells.
func (g *Graph) CellAddr(o ObjID, c *check.EdgeCell, elem int64) trace.Addr {
	return cellAddr(g.objs.at(o), c, elem)
}

// Counts reports whether a cell of a type is one of a field list, or one of
// the type's default cells if the list is nil.
func Counts(t *check.NodeType, c *check.EdgeCell, fields []check.Field) bool {
	if fields == nil {
		for i := range t.Edges {
			if &t.Edges[i] == c {
				return t.Default == 0 || i < t.Default
			}
		}
		return false
	}
	for _, f := range fields {
		if f.Means(t, c) {
			return true
		}
	}
	return false
}

// In returns the default edges into o.
func (g *Graph) In(v mgpp.View, o ObjID) []Edge {
	if !g.Alive(o, v.Time()) || g.objs.at(o).Type == nil {
		return nil
	}
	var out []Edge
	for _, r := range g.AppendRefs(v, Changed(v), o, nil) {
		if r.Edge && g.Alive(r.From, v.Time()) && Counts(g.objs.at(r.From).Type, r.Cell, nil) && g.applies(v, r) {
			out = append(out, g.edge(v, r, o))
		}
	}
	return out
}

// Out returns the default edges out of o.
func (g *Graph) Out(v mgpp.View, o ObjID) []Edge {
	t := v.Time()
	if !g.Alive(o, t) || g.objs.at(o).Type == nil {
		return nil
	}
	var out []Edge
	typ := g.objs.at(o).Type
	for i := range typ.Edges {
		c := &typ.Edges[i]
		if !Counts(typ, c, nil) {
			continue
		}
		for e, n := int64(0), elems(c, g.Size(o, t)); e < n; e++ {
			r := Ref{From: o, Cell: c, Edge: true, Elem: e, Addr: g.CellAddr(o, c, e)}
			if !g.applies(v, r) {
				continue
			}
			tgt := v.Target(r.Addr, c.Coded)
			if to := g.resolve(tgt, c.Elem, typ, t); to != 0 && g.objs.at(to).Type != nil {
				r.Off = tgt.Value - uint64(g.objs.at(to).Addr)
				out = append(out, g.edge(v, r, to))
			}
		}
	}
	return out
}

// Left returns the cells in use that, in the view, still hold a pointer to an object
// that has died, or has left the structure.
func (g *Graph) Left(v mgpp.View, o ObjID) []Ref {
	if g.Alive(o, v.Time()) {
		return nil
	}
	b := g.objs.at(o)
	refs := g.AppendRefs(v, Changed(v), o, nil)
	if b.Member != 0 { // what led to it has been resolved anew since
		refs = g.AppendRefs(g.hist.At(b.Death-1), nil, o, refs[:0])
	}
	return slices.DeleteFunc(refs, func(r Ref) bool {
		tgt := v.Target(r.Addr, r.Cell.Coded)
		there := tgt.State == mgpp.Dangling || b.Member != 0 && tgt.Value-uint64(b.Addr) < b.Size
		host := func(x Ref) bool {
			return x.Addr == r.Addr && g.objs.at(r.From).Type == nil && g.objs.at(x.From).Type != nil
		}
		return !there || slices.ContainsFunc(refs, host) || !g.Alive(r.From, v.Time()) || !g.applies(v, r)
	})
}

func (g *Graph) applies(v mgpp.View, r Ref) bool { return g.Applies(v, r.From, r.Cell, r.Elem) }

// Applies reports whether an element of one of o's cells is in use.
func (g *Graph) Applies(v mgpp.View, o ObjID, c *check.EdgeCell, elem int64) bool {
	return g.opts.Uses == nil || g.opts.Uses.Applies(v, o, c, elem)
}

// UsedInUnion returns the pointer cell of a union that is in use at an offset of an object,
// with its element: the specification says so, or it leads to an object. nil if there is
// none.
func (g *Graph) UsedInUnion(v mgpp.View, o ObjID, off int64) (*check.EdgeCell, int64) {
	typ := g.objs.at(o).Type
	if typ == nil {
		return nil, 0
	}
	for i := range typ.Edges {
		c := &typ.Edges[i]
		elem, ok := c.Element(off)
		if !ok || !c.InUnion || !g.Applies(v, o, c, elem) {
			continue
		}
		if c.Conditional() || g.resolve(v.Target(g.CellAddr(o, c, elem), c.Coded), c.Elem, typ, v.Time()) != 0 {
			return c, elem
		}
	}
	return nil, 0
}

// Alternative is what the std::variant or std::optional holds whose union lies at an offset of an object; false: it is the union of none, or that is not known.
func (g *Graph) Alternative(v mgpp.View, o ObjID, union *types.Type, at int64) (of check.Alternative, ok bool) {
	obj, base := g.Object(o), int64(0)
	var layout *types.Type
	switch t := obj.Type; {
	case t != nil && t.Array && t.Elem != nil && t.Elem.Size > 0:
		layout, base = t.Elem, at-at%t.Elem.Size
	case t != nil:
		layout = t.Layout
	case obj.Global > 0:
		layout = g.Spec().Globals[obj.Global-1].Layout
	}
	all, index := check.Held(layout, union, at-base)
	if len(all) == 0 {
		return of, false
	}
	k, ok := mgpp.Number(v, obj.Addr+trace.Addr(base+index.Lo), int(index.Hi-index.Lo))
	if !ok || k >= uint64(len(all)) {
		return of, false
	}
	return all[k], true
}

func (g *Graph) edge(v mgpp.View, r Ref, to ObjID) Edge {
	return Edge{From: r.From, To: to, Cell: r.Cell, Index: r.Elem, Addr: r.Addr, Offset: r.Off,
		Since: v.Target(r.Addr, r.Cell.Coded).Since}
}

// InChange returns the newest time at or before t at which the edges into o
// changed, its birth if they never did.
func (g *Graph) InChange(o ObjID, t mgpp.Timestamp) mgpp.Timestamp {
	if o == 0 || int(o) >= g.objs.len() {
		return 0
	}
	if g.put.lost {
		g.Exact()
	}
	return max(newest(g.objs.at(o).rare().inTimes, t), g.LifeChange(o, t))
}

// LifeChange returns the newest birth, death or resize of o at or before t.
func (g *Graph) LifeChange(o ObjID, t mgpp.Timestamp) mgpp.Timestamp {
	if o == 0 || int(o) >= g.objs.len() {
		return 0
	}
	b := g.objs.at(o)
	if b.Death != 0 && b.Death <= t {
		return b.Death
	}
	resizes := b.rare().resizes
	for i := len(resizes) - 1; i >= 0; i-- {
		if resizes[i].until <= t {
			return resizes[i].until
		}
	}
	if b.Birth <= t {
		return b.Birth
	}
	return 0
}

// PopulationChange returns the newest birth or death of an object of a type at
// or before t.
func (g *Graph) PopulationChange(typ int, t mgpp.Timestamp) mgpp.Timestamp {
	if typ < 0 || typ >= len(g.pops) {
		return 0
	}
	if g.put.lost {
		g.Exact()
	}
	return newest(g.pops[typ].changes, t)
}

func newest(times []mgpp.Timestamp, t mgpp.Timestamp) mgpp.Timestamp {
	i, _ := slices.BinarySearch(times, t+1)
	if i == 0 {
		return 0
	}
	return times[i-1]
}
