package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// reads says what the specification reads of each type's objects: the bytes that
// its sites name. Sites reached over pointers name offsets from where a pointer
// leads; the graph itself takes care of pointers into the middle of an object.
func (c *Checker) reads() []graph.Reads {
	r := make([]graph.Reads, len(c.spec.Types))
	c.eachSite(func(s *site) {
		for _, h := range s.chain.hops {
			c.followed(h, r)
		}
		if (s.kind != readsBytes && s.kind != readsPath && s.kind != readsPin) || s.edges {
			return
		}
		c.eachOf(r, s.typ, func(x *graph.Reads) {
			switch {
			case s.kind == readsPath: // edges: those of the path's fields are cells
			case s.hi < 0:
				x.All = true
			default:
				x.Spans = append(x.Spans, [2]int64{s.lo, s.hi})
			}
		})
	})
	check.Walk(c.spec, func(x check.Expr) {
		if l, ok := x.(*check.Load); ok && isPointer(l) { // may be followed backwards, as a hop is
			c.followed(hop{load: l}, r)
		}
		if base := readFrom(x); base != nil && slices.ContainsFunc(chains(base), func(c chain) bool { return len(c.hops) > 0 || c.slot < 0 && c.global == 0 }) {
			c.eachOf(r, typeOfBase(base), func(x *graph.Reads) { x.Behind = true })
		}
	})
	for i := range c.spec.Nils {
		if n := &c.spec.Nils[i]; n.Type != nil && n.Place != nil && n.Size == 0 {
			off := graph.StaticOffset(n.Place)
			r[n.Type.Index].Spans = append(r[n.Type.Index].Spans, [2]int64{off, off + 8})
		}
	}
	return r
}

// readFrom is what an expression reads bytes of: a node, or where a pointer leads; nil if it reads none.
func readFrom(x check.Expr) check.Expr {
	switch x := x.(type) {
	case *check.Load:
		return x.Place.Base
	case *check.FieldN:
		return x.Base
	}
	return nil
}

// eachSite calls f for all that anything reads.
func (c *Checker) eachSite(f func(*site)) {
	for _, lists := range [2][][]site{c.sites, c.attrSites} {
		for _, list := range lists {
			for i := range list {
				f(&list[i])
			}
		}
	}
	for i := range c.counts {
		for j := range c.counts[i].sites {
			f(&c.counts[i].sites[j])
		}
	}
}

// eachOf calls f for the reads of a type and of those that derive from it, for all of them
// if the type is unknown.
func (c *Checker) eachOf(r []graph.Reads, t *check.NodeType, f func(*graph.Reads)) {
	for i := range r {
		if t == nil || c.spec.Types[i].Is(t) {
			f(&r[i])
		}
	}
}

// followed notes the pointers that a hop may follow: see hop.matches.
func (c *Checker) followed(h hop, r []graph.Reads) {
	pointers := func(x *graph.Reads) { x.Pointers = true }
	if h.load == nil {
		c.eachOf(r, nil, pointers)
		return
	}
	p := &h.load.Place
	switch b := p.Base.(type) {
	case *check.Node:
		c.eachOf(r, b.Type, func(x *graph.Reads) {
			if len(p.Steps) > 0 {
				x.Pointers = true
			} else {
				x.Spans = append(x.Spans, [2]int64{p.Offset, p.Offset + 8})
			}
		})
	case *check.GlobalRef: // of globals everything is read
	case *check.Load:
		c.eachOf(r, b.To, func(x *graph.Reads) {
			if b.To == nil || len(p.Steps) > 0 {
				x.Pointers = true
				return
			}
			x.Through = true
			x.Spans = append(x.Spans, [2]int64{p.Offset, p.Offset + 8})
		})
	default:
		c.eachOf(r, nil, pointers)
	}
}

// pathFields returns the fields that relations, degrees and roots name.
func pathFields(spec *check.Spec) []check.Field {
	fields := []check.Field{}
	check.Walk(spec, func(x check.Expr) {
		switch x := x.(type) {
		case *check.Relation:
			fields = append(fields, x.Fields...)
		case *check.Degree:
			fields = append(fields, x.Fields...)
		}
	})
	for i := range spec.Roots {
		fields = append(fields, spec.Roots[i].Via...)
	}
	return fields
}
