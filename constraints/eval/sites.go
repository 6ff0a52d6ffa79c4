package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// chain says how an expression that is a node hangs off a variable: by
// following hops, outermost first.
type chain struct {
	slot   int // of the variable; -1: a declared object, or nothing
	global int // the declared object's index plus 1
	hops   []hop
	exact  bool // the chain is all there is to it
}

// hop is a pointer that is followed: the cell that a load reads, or any. back: it may stand at the end of what it is
// followed into.
type hop struct {
	load *check.Load
	back bool
}

// siteKind says what a site reads.
type siteKind uint8

const (
	readsBytes siteKind = iota
	readsIn             // the edges into an object
	readsAttr           // a user attribute of an object
	readsPath           // edges anywhere on the way from an object
	readsReach          // whether an object is one that a kept set has
	readsAll            // the population of a type
	readsCount          // a count that stands alone
	readsPin            // whether a declared object's pointer leads to a variable's node
)

// site is one thing that an expression reads, with the way to it from a
// variable. Walking that way backwards from what changed gives the bindings
// that are concerned.
type site struct {
	kind   siteKind
	chain  chain
	typ    *check.NodeType // of the object read, if known
	lo, hi int64           // readsBytes: offsets in it; hi < 0: all of it
	edges  bool            // readsBytes: nothing but edges, and the object's size
	number bool            // readsBytes: a number, no pointer
	attr   int32
	fields []check.Field   // readsPath
	way    *check.Relation // readsReach
	count  int             // readsCount: index in Checker.counts
	pin    *check.Load     // readsPin
	base   chain           // readsPin: to the object with its cells, where that is no declared one
	stride int64           // readsPin: between its cells, of which the first lies at lo
	cells  int64           // readsPin: how many there are, -1: to the object's end
	every  bool            // whatever the way, all bindings are concerned
	stray  bool            // the way may lead through memory that is no object
}

// sitesOf appends what x reads. inner are the slots of aggregates around it;
// alone, if not nil, is asked for the site of an aggregate that stands alone.
func sitesOf(x check.Expr, inner uint64, alone func(*check.Aggregate) site, out []site) []site {
	addAll := func(s site, base check.Expr, cs []chain) {
		s.typ = typeOfBase(base)
		for _, c := range cs {
			s.chain = c
			s.every = c.slot < 0 || inner&(1<<c.slot) != 0
			s.stray = straying(c)
			out = append(out, s)
		}
	}
	add := func(s site, base check.Expr) { addAll(s, base, chains(base)) }
	switch x := x.(type) {
	case nil:
		return out
	case *check.Binary:
		if s, ok := pinned(x, inner); ok {
			out = append(out, s)
			if s.chain.global == 0 {
				out = sitesOf(s.pin.Place.Base, inner, alone, out)
			}
			for i := range s.pin.Place.Steps {
				out = sitesOf(s.pin.Place.Steps[i].I, inner, alone, out)
			}
			return out
		}
	case *check.Load:
		s := site{lo: x.Place.Offset, hi: -1, number: !isPointer(x)}
		_, within := x.Place.Base.(*check.AddrOf)
		if len(x.Place.Steps) == 0 && x.Type != nil && x.Type.Size > 0 && !within {
			s.hi = s.lo + max(x.Type.Size, int64(x.BitOffset+x.BitSize+7)/8)
		}
		addAll(s, x.Place.Base, chainsOf(&x.Place))
	case *check.AddrOf:
		if mayBegin(x) {
			addAll(site{hi: -1}, x.Place.Base, chainsOf(&x.Place))
		}
	case *check.FieldN:
		add(site{hi: -1}, x.Base)
	case *check.Attr:
		for _, a := range x.Attrs {
			add(site{kind: readsAttr, attr: int32(a.Index)}, x.Base)
		}
	case *check.Degree:
		if x.In {
			add(site{kind: readsIn}, x.Base)
		} else {
			add(site{hi: -1, edges: true}, x.Base)
		}
	case *check.Builtin:
		add(site{hi: -1, edges: true}, x.Base)
	case *check.Relation:
		if _, other := fixedEnd(x); other != nil {
			add(site{kind: readsReach, way: x}, other)
		} else if x.Path {
			add(site{kind: readsPath, fields: x.Fields}, x.From)
		} else {
			add(site{hi: -1, edges: true}, x.From)
		}
	case *check.Aggregate:
		if alone != nil && standsAlone(x) {
			return append(out, alone(x))
		}
		if x.Type != nil {
			out = append(out, site{kind: readsAll, typ: x.Type, every: true})
			inner |= 1 << (x.Slot & 63)
		}
	}
	children(x, func(y check.Expr) { out = sitesOf(y, inner, alone, out) })
	return out
}

// mayBegin: what lies at a place in static memory is a node from the first write to it on.
func mayBegin(x *check.AddrOf) bool {
	switch b := x.Place.Base.(type) {
	case *check.GlobalRef:
		return b.Divided
	case *check.AddrOf:
		return mayBegin(b)
	}
	return false
}

// pinned recognises ::list.head == X, ::table.bucket[X.key % 64] == X, and T.slots[X.key % T.room] == X, where the cells are those of
// an array, or of a node, of a declared type. Whatever a pointer is changed to, that is another truth only for the nodes
// that it led to and leads to.
func pinned(x *check.Binary, inner uint64) (site, bool) {
	if x.Op != "==" && x.Op != "!=" {
		return site{}, false
	}
	for _, side := range [2][2]check.Expr{{x.X, x.Y}, {x.Y, x.X}} {
		n, isNode := side[0].(*check.Node)
		l, isLoad := side[1].(*check.Load)
		if !isNode || !isLoad || inner&(1<<n.Slot) != 0 || !isPointer(l) || l.Place.Cell != nil {
			continue
		}
		s := site{kind: readsPin, pin: l, typ: typeOfBase(l.Place.Base), lo: l.Place.Offset, stride: 8, cells: 1, chain: chain{slot: n.Slot, exact: true}}
		steps := l.Place.Steps
		if len(steps) == 1 && steps[0].Count != 0 && steps[0].Stride > 0 {
			s.stride, s.cells = steps[0].Stride, steps[0].Count
		} else if len(steps) > 0 {
			continue
		}
		if s.hi = -1; s.cells > 0 {
			s.hi = s.lo + (s.cells-1)*s.stride + 8
		}
		switch g, ok := l.Place.Base.(*check.GlobalRef); {
		case ok && s.cells > 0:
			s.chain.global = g.Global + 1
			return s, true
		case !ok && len(steps) == 1 && s.typ != nil:
			if all := chains(l.Place.Base); len(all) == 1 {
				s.base = all[0]
				return s, true
			}
		}
	}
	return site{}, false
}

// straying reports whether a chain follows a pointer to something undeclared.
func straying(c chain) bool {
	return slices.ContainsFunc(c.hops, func(h hop) bool { return h.load == nil || h.load.To == nil })
}

// typeOfBase returns the declared type that a base is of or leads to.
func typeOfBase(x check.Expr) *check.NodeType {
	if n, ok := x.(*check.Node); ok {
		return n.Type
	}
	if a, ok := x.(*check.AddrOf); ok {
		return typeOfBase(a.Place.Base)
	}
	return pointee(x)
}

// chainOf returns the chain of the object in which a load reads, if there is
// just one.
func chainOf(x *check.Load) chain {
	if cs := chains(x.Place.Base); len(cs) == 1 {
		return cs[0]
	}
	return chain{slot: -1}
}

// chains returns the chains of an expression that is a node or a pointer to
// one: two where a condition chooses.
func chains(x check.Expr) []chain {
	switch x := x.(type) {
	case *check.Node:
		return []chain{{slot: x.Slot, exact: true}}
	case *check.GlobalRef:
		return []chain{{slot: -1, global: x.Global + 1, exact: true}}
	case *check.AddrOf:
		return chainsOf(&x.Place)
	case *check.Load:
		return extend(chainsOf(&x.Place), hop{load: x})
	case *check.FieldN:
		return extend(chains(x.Base), hop{})
	case *check.Cond:
		out := append(chains(x.X), chains(x.Y)...)
		for i := range out {
			out[i].exact = false
		}
		return out
	}
	return []chain{{slot: -1}}
}

// chainsOf returns the chains of what a place lies in.
func chainsOf(p *check.Place) []chain {
	cs := chains(p.Base)
	if len(p.Steps) > 0 && p.Steps[0].Back {
		for i := range cs {
			if n := len(cs[i].hops); n > 0 {
				cs[i].hops[n-1].back = true
			}
		}
	}
	return cs
}

func extend(cs []chain, h hop) []chain {
	for i := range cs {
		cs[i].hops = append(slices.Clip(cs[i].hops), h)
	}
	return cs
}

// ascend appends the objects from which following the hops leads to o. all is
// false to have only those that lead to another place than o's start.
func (e *env) ascend(hops []hop, o graph.ObjID, all bool, buf []graph.ObjID) []graph.ObjID {
	if len(hops) == 0 {
		return append(buf, o)
	}
	last := len(hops) - 1
	had := len(buf)
	buf = e.holding(hops[last], o, all, buf)
	e.g.Beside(o, e.t, func(s graph.ObjID) { buf = e.holding(hops[last], s, true, buf) })
	from := buf[had:]
	slices.Sort(from)
	from = slices.Compact(from)
	if last == 0 {
		return buf[:had+len(from)]
	}
	buf = buf[:had]
	for _, f := range slices.Clone(from) {
		buf = e.ascend(hops[:last], f, true, buf)
	}
	return buf
}

// holding appends the objects whose pointers that the hop may read lead to o, once for
// each of these.
func (e *env) holding(h hop, o graph.ObjID, all bool, buf []graph.ObjID) []graph.ObjID {
	refs := e.inRefs(o)
	for i := range refs {
		r := &refs[i]
		if (all || r.Off != 0) && e.g.Alive(r.From, e.t) && h.matches(e.g, r) {
			buf = append(buf, r.From)
		}
	}
	e.done()
	if !h.back || h.load == nil {
		return buf
	}
	for _, r := range e.g.AtEnd(e.v, o) {
		if h.matches(e.g, &r) {
			buf = append(buf, r.From)
		}
	}
	return buf
}

// matches reports whether the hop may read the cell r.
func (h hop) matches(g *graph.Graph, r *graph.Ref) bool {
	if h.load == nil {
		return true
	}
	p := &h.load.Place
	switch b := p.Base.(type) {
	case *check.Node:
		off := int64(r.Addr - g.Object(r.From).Addr)
		return g.Object(r.From).Type == b.Type && (off == p.Offset || len(p.Steps) > 0)
	case *check.Load:
		return b.To == nil || g.Object(r.From).Type.Is(b.To)
	case *check.GlobalRef:
		return int(g.Object(r.From).Global) == b.Global+1
	}
	return true
}
