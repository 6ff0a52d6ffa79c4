package eval

import (
	"maps"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// count is a COUNT(T Y: g) or SUM(T Y: e) that refers to nothing but its own variable, so that
// it has one value on a view. It is kept up from view to view: a change is
// looked at node by node, and only a change of the number concerns constraints.
type count struct {
	x     *check.Aggregate
	sites []site
}

// counted is what the nodes of a type count, those without that count 0, and what that is in all.
type counted struct {
	worth map[graph.ObjID]value
	sum   int64 // of those that are plain
	odd   int   // how many are not
}

// plain: so small a whole number that all nodes' together are one.
func (v value) plain() bool {
	const most = 1 << 40
	return v.kind == integer && !v.wide && -most < v.int() && v.int() < most
}

// add takes in one more, or one less.
func (s *counted) add(v value, times int64) {
	if v.plain() {
		s.sum += times * v.int()
	} else {
		s.odd += int(times)
	}
}

// put changes what a node counts.
func (s *counted) put(o graph.ObjID, v value) {
	s.add(s.of(o), -1)
	if s.add(v, 1); v.same(number(0)) {
		delete(s.worth, o)
	} else {
		s.worth[o] = v
	}
}

func (s *counted) of(o graph.ObjID) value {
	if v, ok := s.worth[o]; ok {
		return v
	}
	return number(0)
}

// total adds up.
func (s *counted) total(at check.Expr) value {
	if s.odd == 0 {
		return number(s.sum)
	}
	total := number(0)
	for _, o := range slices.Sorted(maps.Keys(s.worth)) {
		total = plus(total, s.worth[o], at)
	}
	return total
}

// standsAlone reports whether an aggregate is one of those.
func standsAlone(x *check.Aggregate) bool { return x.Type != nil && usesOf(x) == (uses{}) }

// countSite notes a count of a constraint and returns the site that reads it.
func (c *Checker) countSite(x *check.Aggregate) site {
	n := count{x: x}
	children(x, func(y check.Expr) { n.sites = sitesOf(y, 0, nil, n.sites) })
	c.counts = append(c.counts, n)
	c.closed[x] = true
	return site{kind: readsCount, count: len(c.counts) - 1}
}

// members evaluates a count from scratch.
func (n *count) members(e *env) counted {
	set := counted{worth: map[graph.ObjID]value{}}
	for _, o := range e.population(n.x.Type) {
		set.put(o, n.worth(e, o))
	}
	return set
}

// worth is what an object counts.
func (n *count) worth(e *env, o graph.ObjID) value {
	if !e.bindable(o, n.x.Type) {
		return number(0)
	}
	e.push()
	v := e.worth(n.x, o)
	e.pop()
	return v
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
	s.env.setSum(n.x, s.counts[i].total(n.x))
}

func (e *env) setSum(x *check.Aggregate, v value) {
	if e.sums == nil {
		e.sums = map[*check.Aggregate]value{}
	}
	e.sums[x] = v
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
		set, was := &s.counts[i], s.counts[i].total(n.x)
		var now value
		switch {
		case who[i] == nil:
			all := n.members(e)
			if now = all.total(n.x); keep {
				*set = all
			}
		case keep:
			d.countAttrs(e, i, changed, who[i])
			for o := range who[i] {
				set.put(o, n.worth(e, o))
			}
			now = set.total(n.x)
		default:
			d.countAttrs(e, i, changed, who[i])
			now = n.supposed(e, *set, who[i])
		}
		e.setSum(n.x, now)
		if !now.same(was) {
			d.readers(i)
		}
	}
}

// supposed is a count on another view, on which some objects may count something else.
func (n *count) supposed(e *env, set counted, who map[graph.ObjID]bool) value {
	for o := range who {
		set.add(set.of(o), -1)
		set.add(n.worth(e, o), 1)
	}
	if set.odd > 0 {
		set = n.members(e)
	}
	return set.total(n.x)
}

// compareCounts marks the constraints that read a count which differs between
// two views.
func (d *delta) compareCounts(before, after *env, who concerned, changed []attrKey) {
	for i := range who {
		n := &d.c.counts[i]
		if who[i] == nil {
			was, now := n.members(before), n.members(after)
			if !was.total(n.x).same(now.total(n.x)) {
				d.readers(i)
			}
			continue
		}
		d.countAttrs(before, i, changed, who[i])
		d.countAttrs(after, i, changed, who[i])
		var diff counted
		odd := false
		for o := range who[i] {
			was, now := n.worth(before, o), n.worth(after, o)
			diff.add(was, -1)
			diff.add(now, 1)
			odd = odd || !was.same(now) && !(was.plain() && now.plain())
		}
		if diff.sum != 0 || odd {
			d.readers(i)
		}
	}
}
