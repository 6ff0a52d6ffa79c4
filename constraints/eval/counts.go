package eval

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// count is a COUNT(T Y: g) that refers to nothing but its own variable, so that
// it has one value on a view. It is kept up from view to view: a change is
// looked at node by node, and only a change of the number concerns constraints.
type count struct {
	x     *check.Aggregate
	sites []site
}

// counted is the set of nodes that a count counts.
type counted map[graph.ObjID]bool

// standsAlone reports whether an aggregate is one of those.
func standsAlone(x *check.Aggregate) bool { return !x.Sum && usesOf(x) == (uses{}) }

// countSite notes a count of a constraint and returns the site that reads it.
func (c *Checker) countSite(x *check.Aggregate) site {
	n := count{x: x}
	if x.Guard != nil {
		n.sites = sitesOf(x.Guard, 0, nil, nil)
	}
	c.counts = append(c.counts, n)
	c.closed[x] = true
	return site{kind: readsCount, count: len(c.counts) - 1}
}

// members evaluates a count from scratch.
func (n *count) members(e *env) counted {
	set := counted{}
	for _, o := range e.population(n.x.Type) {
		if n.counts(e, o) {
			set[o] = true
		}
	}
	return set
}

// counts reports whether an object is counted.
func (n *count) counts(e *env, o graph.ObjID) bool {
	if !e.bindable(o, n.x.Type) {
		return false
	}
	if n.x.Guard == nil {
		return true
	}
	e.push()
	e.vars[n.x.Slot] = o
	r := e.eval(n.x.Guard).tri() == yes
	e.pop()
	return r
}

// countAll evaluates all counts of a state from scratch.
func (s *state) countAll() {
	s.counts = make([]counted, len(s.env.c.counts))
	for i := range s.counts {
		s.recount(i)
	}
}

func (s *state) recount(i int) {
	n := &s.env.c.counts[i]
	s.counts[i] = n.members(s.env)
	s.env.setSum(n.x, len(s.counts[i]))
}

func (e *env) setSum(x *check.Aggregate, n int) {
	if e.sums == nil {
		e.sums = map[*check.Aggregate]value{}
	}
	e.sums[x] = number(int64(n))
}

// countSeeds adds the objects whose being counted e's view shows to depend on
// what changed, attributes apart. It is false where anything may be concerned.
func (d *delta) countSeeds(e *env, i int, out map[graph.ObjID]bool) bool {
	n := &d.c.counts[i]
	for j := range n.sites {
		s := &n.sites[j]
		if s.kind == readsAttr {
			continue
		}
		d.roots = d.rootsOf(e, s, d.roots[:0])
		if s.stray && d.ch.Untyped || (s.every || d.loose) && len(d.roots) > 0 {
			return false
		}
		for _, o := range d.roots {
			out[o] = true
		}
	}
	for j := range d.ch.Dirt {
		if o := &d.ch.Dirt[j]; o.Life && e.g.Object(o.Obj).Type == n.x.Type {
			out[o.Obj] = true
		}
	}
	return true
}

// countAttrs adds the objects whose being counted reads attributes that changed.
func (d *delta) countAttrs(e *env, i int, changed []attrKey, out map[graph.ObjID]bool) {
	n := &d.c.counts[i]
	for j := range n.sites {
		if s := &n.sites[j]; s.kind == readsAttr {
			for _, a := range changed {
				if a.attr == s.attr {
					for _, o := range e.ascend(s.chain.hops, a.obj, true, nil) {
						out[o] = true
					}
				}
			}
		}
	}
}

// readers marks the constraints that read a count.
func (d *delta) readers(i int) {
	for k, sites := range d.c.sites {
		for j := range sites {
			if sites[j].kind == readsCount && sites[j].count == i {
				d.all[k] = true
			}
		}
	}
}

// concerned are the objects whose being counted may differ, by count; nil in
// place of a set is all of them.
type concerned []map[graph.ObjID]bool

func (c *Checker) newConcerned() concerned {
	out := make(concerned, len(c.counts))
	for i := range out {
		out[i] = map[graph.ObjID]bool{}
	}
	return out
}

func (d *delta) gatherCounts(e *env, out concerned) {
	for i := range out {
		if out[i] != nil && !d.countSeeds(e, i, out[i]) {
			out[i] = nil
		}
	}
}

// settle brings counts to the delta's view and marks the constraints that read
// one whose value changed. keep is false to leave the sets as they are.
func (s *state) settle(d *delta, e *env, who concerned, changed []attrKey, keep bool) {
	for i := range who {
		n := &d.c.counts[i]
		was := len(s.counts[i])
		now := was
		if who[i] == nil {
			set := n.members(e)
			now = len(set)
			if keep {
				s.counts[i] = set
			}
		} else {
			d.countAttrs(e, i, changed, who[i])
			for o := range who[i] {
				before, after := s.counts[i][o], n.counts(e, o)
				switch {
				case before && !after:
					now--
					if keep {
						delete(s.counts[i], o)
					}
				case after && !before:
					now++
					if keep {
						s.counts[i][o] = true
					}
				}
			}
		}
		e.setSum(n.x, now)
		if now != was {
			d.readers(i)
		}
	}
}

// compareCounts marks the constraints that read a count which differs between
// two views.
func (d *delta) compareCounts(before, after *env, who concerned, changed []attrKey) {
	for i := range who {
		n := &d.c.counts[i]
		if who[i] == nil {
			if len(n.members(before)) != len(n.members(after)) {
				d.readers(i)
			}
			continue
		}
		d.countAttrs(before, i, changed, who[i])
		d.countAttrs(after, i, changed, who[i])
		diff := 0
		for o := range who[i] {
			if n.counts(after, o) {
				diff++
			}
			if n.counts(before, o) {
				diff--
			}
		}
		if diff != 0 {
			d.readers(i)
		}
	}
}
