package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// reach knows the sets of objects that ways from what the specification names
// lead to: the ranges of "root", and the relations ::head ->> X and X ->> ::tail.
// The sets stand on one view at a time and go from view to view by what differs.
// Of the view before the last step membership is known as well, so that going
// through what a change concerns, which asks about both in turn, moves nothing.
type reach struct {
	c         *Checker
	roots     []*spanning // by index of spec.Roots
	relations map[*check.Relation]*spanning
	all       []*spanning

	at    stand
	undo  [][]move // at is hypothetical: by set, how to get back to the history's view
	last  stand
	flips []flips // by set: who is in one of last and at, and not in the other
}

// stand is a view on which the sets stand.
type stand struct {
	valid bool
	t     mgpp.Timestamp
	v     mgpp.View // hypothetical; nil: the history's
}

func standOf(e *env) stand {
	if e.changed == nil {
		return stand{valid: true, t: e.t}
	}
	return stand{valid: true, t: e.t, v: e.v}
}

func (a stand) is(b stand) bool {
	return a.valid && b.valid && a.t == b.t && (a.v == nil) == (b.v == nil) && (a.v == nil || same(a.v, b.v))
}

// newReach returns the sets of a specification.
func newReach(c *Checker) *reach {
	r := &reach{c: c, relations: map[*check.Relation]*spanning{}}
	for i := range c.spec.Roots {
		r.roots = append(r.roots, rangeOf(&c.spec.Roots[i]))
	}
	r.all = slices.Clone(r.roots)
	check.Walk(c.spec, func(x check.Expr) {
		if x, ok := x.(*check.Relation); ok && r.relations[x] == nil {
			if end, _ := fixedEnd(x); end != nil {
				r.relations[x] = wayOf(x)
				r.all = append(r.all, r.relations[x])
			}
		}
	})
	r.flips = make([]flips, len(r.all))
	for i, s := range r.all {
		s.index = i
	}
	return r
}

// rangeOf is what a root directive ranges over.
func rangeOf(root *check.Root) *spanning {
	return &spanning{
		fields: root.Via, ranges: true,
		end: func(e *env) graph.ObjID {
			o := e.rootOf(root)
			if o != 0 && e.isSentinel(o) {
				return 0
			}
			return o
		},
	}
}

// wayOf is what a path leads to from an object that the specification names, or
// from where one leads to it.
func wayOf(x *check.Relation) *spanning {
	end, _ := fixedEnd(x)
	return &spanning{
		fields: x.Fields, in: end == x.To,
		end: func(e *env) graph.ObjID {
			o, _ := e.object(end, nil)
			if e.g.Object(o).Type == nil {
				return 0
			}
			return o
		},
	}
}

// has reports whether a set has an object, on e's view.
func (r *reach) has(e *env, s *spanning, o graph.ObjID) bool {
	want := standOf(e)
	if !r.at.is(want) {
		if r.last.is(want) {
			return s.has(o) != r.flips[s.index][o]
		}
		r.move(e)
	}
	return s.has(o)
}

// between returns by set what is in it on one of two views only, which differ by
// the changes.
func (r *reach) between(before, after *env, ch *graph.Changes) []flips {
	if len(r.all) == 0 {
		return nil
	}
	a, b := standOf(before), standOf(after)
	if r.last.is(a) && r.at.is(b) || r.last.is(b) && r.at.is(a) {
		return r.flips
	}
	r.move(before)
	if ch.All {
		r.move(after)
	} else {
		r.update(after, b, ch)
	}
	return r.flips
}

// move brings the sets to e's view.
func (r *reach) move(e *env) {
	want := standOf(e)
	if r.at.is(want) {
		return
	}
	if r.at.v != nil {
		r.back()
	}
	if want.v != nil && r.at.valid && r.at.t != want.t {
		r.step(r.c.at(want.t).env, stand{valid: true, t: want.t})
	}
	if !r.at.is(want) {
		r.step(e, want)
	}
}

// step brings the sets from a view of the history's to e's, which is another of
// these or a hypothetical one at the same time.
func (r *reach) step(e *env, want stand) {
	var ch graph.Changes
	ch.Reset()
	near := r.at.valid
	switch {
	case !near:
	case want.v != nil:
		r.c.g.Against(e.v, e.changed, &ch)
	default:
		from, to := min(r.at.t, want.t), max(r.at.t, want.t)
		if near = to-from <= mgpp.Timestamp(64+4*r.size()); near {
			r.c.g.Between(from, to, &ch)
		}
	}
	if !near || ch.All {
		r.rebuild(e, want)
		return
	}
	r.update(e, want, &ch)
}

// update is step for a change that is known.
func (r *reach) update(e *env, want stand, ch *graph.Changes) {
	defer e.unrecorded()()
	r.last, r.at, r.undo = r.at, want, nil
	if want.v != nil {
		r.undo = make([][]move, 0, len(r.all))
	}
	for i, s := range r.all {
		f, undo := s.update(e, ch)
		r.flips[i] = f
		if want.v != nil {
			r.undo = append(r.undo, undo)
		}
	}
}

// back returns from a hypothetical view to the history's at its time.
func (r *reach) back() {
	if r.undo == nil { // it was rebuilt there
		r.forget()
		return
	}
	for i, s := range r.all {
		s.revert(r.flips[i], r.undo[i])
	}
	r.last, r.at, r.undo = r.at, stand{valid: true, t: r.at.t}, nil
}

// rebuild finds the sets from scratch.
func (r *reach) rebuild(e *env, want stand) {
	defer e.unrecorded()()
	r.last, r.at, r.undo = r.at, want, nil
	for i, s := range r.all {
		r.flips[i] = s.rebuild(e)
	}
}

// unrecorded has what follows leave no dependencies, until the function that it
// returns is called.
func (e *env) unrecorded() (again func()) {
	rec := e.rec
	e.rec = nil
	return func() { e.rec = rec }
}

// still notes that nothing changed from one time to another.
func (r *reach) still(from, to mgpp.Timestamp) {
	if r.at.is(stand{valid: true, t: from}) {
		r.at.t = to
		r.last = stand{}
	}
}

// forget has the sets found from scratch when they are asked for.
func (r *reach) forget() { r.at, r.last, r.undo = stand{}, stand{}, nil }

// size is how much there is in the sets.
func (r *reach) size() int {
	n := 0
	for _, s := range r.all {
		n += s.size
	}
	return n
}
