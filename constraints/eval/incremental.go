package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// state is what is known of one view: all its inconsistencies, and what makes
// it cheap to know those of a view that differs a little.
type state struct {
	env    *env
	broken map[binding][]Inconsistency // a reason is given to them when it is asked for
	told   told                        // the same in order, with reasons, as of when it was asked for last
	cycles []cycles                    // by constraint; used where acyclic
	counts []counted
	size   int // objects that there are
}

// scratch evaluates everything on a view.
func (c *Checker) scratch(v mgpp.View) *state {
	c.reach.forget()
	s := &state{env: newEnv(c, v), broken: map[binding][]Inconsistency{}, cycles: make([]cycles, len(c.infos))}
	s.countAll()
	together := make([][]*info, len(c.spec.Types))
	for i := range c.infos {
		switch k := &c.infos[i]; {
		case k.acyclic:
			s.cycles[i].rebuild(s.env, k)
		case s.env.begins(k):
			t := k.Vars[0].Type.Index
			together[t] = append(together[t], k)
		default:
			s.put(c.allOf(s.env, i, nil))
		}
	}
	for i, t := range c.spec.Types {
		s.put(s.env.checkTogether(t, together[i], nil))
	}
	s.env.everyAttr()
	s.put(s.env.danglings(nil))
	for _, t := range c.spec.Types {
		s.size += len(s.env.population(t))
	}
	c.spend(s.env)
	return s
}

// begins reports whether the bindings of a constraint begin with each node of its first variable's type.
func (e *env) begins(k *info) bool {
	e.clearFrame()
	for i := range k.Universal {
		if k.Guard != nil && e.c.uses[k.Guard].vars&(1<<i) != 0 {
			if _, ok := e.candidates(k.Guard, i, k.Vars[i].Type, nil); ok {
				return false
			}
		}
	}
	return k.Universal > 0
}

// checkTogether appends the inconsistencies of constraints that begin with the nodes of a type, node by
// node: what lies around a node is in the processor's cache for all of them.
func (e *env) checkTogether(t *check.NodeType, list []*info, out []Inconsistency) []Inconsistency {
	if len(list) == 0 {
		return out
	}
	var known well
	for i, all := 0, e.population(t); i < len(all); i++ {
		if i%besideSlab == 0 {
			known = e.wellBeside(all[i:min(i+besideSlab, len(all))], list)
		}
		o := all[i]
		if !e.bindable(o, t) {
			continue
		}
		for j, k := range list {
			e.c.tick()
			if known.has(i%besideSlab*len(list) + j) {
				continue
			}
			e.clearFrame()
			e.vars[0] = o
			if e.sure(k) && e.healthyFrom(k) {
				continue
			}
			if k.Universal == 1 { // without a closure: the common case
				out = e.check(k, out)
				continue
			}
			clear(e.vars[1:])
			e.bind(k, k.Guard, k.Universal, func() { out = e.check(k, out) })
		}
	}
	return out
}

func (c *Checker) spend(e *env) {
	c.cost += e.cost
	e.cost = 0
}

// whole: nothing is inconsistent.
func (s *state) whole() bool {
	for i := range s.cycles {
		if len(s.cycles[i].found) > 0 {
			return false
		}
	}
	a := &s.env.attrs
	return len(s.broken) == 0 && len(a.loopOf) == 0 && (a.under == nil || len(a.under.loopOf) == 0)
}

// cyclic appends the cycles: of edges, and of attributes.
func (s *state) cyclic(out []Inconsistency) []Inconsistency {
	for i := range s.cycles {
		for _, comp := range s.cycles[i].found {
			out = append(out, s.env.cycleAt(&s.env.c.infos[i], comp))
		}
	}
	return s.env.attributeCycles(&s.env.attrs, out)
}

// Check returns the inconsistencies at t, those that concern type only if that
// is not nil. It re-evaluates only what the operations touched that lie between t and
// the time that was asked about before, and what stays broken costs nothing. The result is read-only, and
// holds until the checker is asked anything else.
func (c *Checker) Check(t mgpp.Timestamp, only *check.NodeType) (out []Inconsistency) {
	defer c.halted()
	c.begin()
	c.g.Advance()
	if c.unchanged(t) {
		return nil
	}
	out = c.at(t).list()
	if only != nil {
		out = slices.DeleteFunc(slices.Clone(out), func(i Inconsistency) bool { return !c.For(i.Instance, only) })
	}
	return out
}

// unchanged: all was whole when it was checked last, and nothing has changed since, as between most calls of
// a function that only looks something up. The state stands where it does: what changes is noted from there on.
func (c *Checker) unchanged(t mgpp.Timestamp) bool {
	return c.state != nil && t == c.g.Now() && c.g.Same(c.state.env.t, c.strays) && c.state.whole()
}

// at brings the state to the history's view at t.
func (c *Checker) at(t mgpp.Timestamp) *state {
	c.g.Advance()
	c.turn(t)
	switch s := c.state; {
	case s == nil || !c.near(s, t):
		c.aside, c.state = s, c.scratch(c.hist.At(t))
	case s.env.t != t || s.env.now != c.g.Now():
		c.advance(s, t)
	}
	if t == c.g.Now() {
		c.g.Follow()
	}
	return c.state
}

// turn takes the state that was left for one of another time, if that is nearer to t: fault location asks about the C-point and
// about where it began in turn.
func (c *Checker) turn(t mgpp.Timestamp) {
	s, o := c.state, c.aside
	if s == nil || o == nil || s.env.t == t || o.env.now != c.g.Now() {
		return
	}
	if apart(o.env.t, t) < apart(s.env.t, t) {
		c.state, c.aside = o, s
		c.reach.forget()
	}
}

func apart(a, b mgpp.Timestamp) mgpp.Timestamp { return max(a, b) - min(a, b) }

// near: to go to t operation by operation is cheaper than to evaluate everything anew.
// From one check of the present to the next it always is: what changed has been noted.
func (c *Checker) near(s *state, t mgpp.Timestamp) bool {
	return t == c.g.Now() && c.g.Followed(s.env.t) || apart(s.env.t, t) <= mgpp.Timestamp(64+2*s.size)
}

// advance brings a state to another time, later or earlier.
func (c *Checker) advance(s *state, t mgpp.Timestamp) {
	if t == c.g.Now() && c.g.Same(s.env.t, c.strays) { // as between most calls of a function that only looks something up
		c.reach.still(s.env.t, t)
		s.env.reset(c.hist.At(t), nil)
		return
	}
	ch := &c.changes
	ch.Reset()
	c.g.Between(min(s.env.t, t), max(s.env.t, t), ch)
	v := c.hist.At(t)
	size := s.size + c.births(ch, s.env.t, t)
	if ch.All || len(ch.Dirt) > 64+size {
		*s = *c.scratch(v) // all of it is concerned, or most of what was
		return
	}
	if len(ch.Dirt) == 0 && !(ch.Untyped && c.strays) {
		c.reach.still(s.env.t, t)
		s.env.reset(v, nil)
		return
	}
	before := s.env
	after := c.nextEnv(v)
	d := c.stepDelta(ch)
	d.between(before, after)
	stale, who := d.stale, c.newConcerned()
	d.gather(before)
	d.gatherCounts(before, who)
	d.attrSeeds(before, stale)
	d.cascade(before, stale)

	after.attrs, before.attrs = before.attrs, after.attrs
	c.guess = nil // its attributes lie over those
	s.env, c.spare = after, before
	d.gather(after)
	d.attrSeeds(after, stale)
	d.cascade(after, stale)
	d.gatherCounts(after, who)
	changed := after.recompute(stale)
	d.gatherAttrs(after, changed)
	s.settle(d, after, who, changed, true)
	s.replace(d)
	s.size = size
	for i := range c.infos {
		if k := &c.infos[i]; k.acyclic {
			s.cycles[i].update(after, k, ch)
		}
	}
	c.spend(before)
	c.spend(after)
}

// births returns how many more objects there are at one time than at another one.
func (c *Checker) births(ch *graph.Changes, from, to mgpp.Timestamp) (n int) {
	for i := range ch.Dirt {
		d := &ch.Dirt[i]
		if !d.Life || c.g.Object(d.Obj).Type == nil {
			continue
		}
		if c.g.Alive(d.Obj, to) {
			n++
		}
		if c.g.Alive(d.Obj, from) {
			n--
		}
	}
	return n
}

// nextEnv returns an evaluator of a view of the history that knows nothing of it yet: the one that has
// served the step before the last, if there is one.
func (c *Checker) nextEnv(v mgpp.View) *env {
	e := c.spare
	if e == nil {
		return newEnv(c, v)
	}
	c.spare = nil
	e.reset(v, nil)
	e.attrs.empty()
	return e
}

// recompute evaluates attributes anew and returns those that changed.
func (e *env) recompute(stale map[attrKey]bool) []attrKey {
	old := make(map[attrKey]value, len(stale))
	for k := range stale {
		if v, was := e.attrs.forget(k); was {
			old[k] = v
		}
	}
	var changed []attrKey
	for k := range stale {
		if !e.bindable(k.obj, e.c.spec.Attributes[k.attr].Type) {
			continue
		}
		v := e.attr(k)
		if was, ok := old[k]; !ok || !was.same(v) {
			changed = append(changed, k)
		}
	}
	return changed
}

// replace re-evaluates the bindings of a delta on the state's view.
func (s *state) replace(d *delta) {
	fresh := s.again(d, s.env)
	for k, all := range d.all {
		if all {
			s.drop(k)
		}
	}
	for _, b := range d.list {
		s.forget(b)
	}
	s.put(fresh)
}

// again evaluates the bindings of a delta on e's view, the state's or one that differs
// from it by the delta. Of those that are broken in the state d says afterwards whether
// they are among them.
func (s *state) again(d *delta, e *env) (out []Inconsistency) {
	s.addAnew(d)
	for k, all := range d.all {
		if all && !d.c.infos[k].acyclic {
			out = d.c.allOf(e, k, out)
		}
	}
	for i := range d.list {
		if b := &d.list[i]; !d.all[b.constraint] {
			out = append(out, e.checkBinding(&d.c.infos[b.constraint], b)...)
		}
	}
	for _, b := range danglingBindings(d) {
		d.add(b)
		out = append(out, e.checkDangling(b)...)
	}
	return out
}

// addAnew adds the broken bindings of constraints that read a pin which changed.
func (s *state) addAnew(d *delta) {
	if !slices.Contains(d.anew, true) {
		return
	}
	for b := range s.broken {
		if b.constraint >= 0 && b.constraint < len(d.anew) && d.anew[b.constraint] {
			d.add(b)
		}
	}
}

// checkBinding evaluates one binding, for all indices.
func (e *env) checkBinding(k *info, b *binding) []Inconsistency {
	e.clearFrame()
	for i := 0; i < k.Universal && i < len(b.nodes); i++ {
		if !e.bindable(b.nodes[i], k.Vars[i].Type) {
			return nil
		}
		e.vars[i] = b.nodes[i]
	}
	return e.check(k, nil)
}

// checkDangling evaluates one of danglingBindings.
func (e *env) checkDangling(b binding) []Inconsistency {
	t := e.c.spec.Types[b.constraint-len(e.c.infos)]
	if inc, broken := e.danglingAt(t, b.nodes[0]); e.bindable(b.nodes[0], t) && broken {
		return []Inconsistency{inc}
	}
	return nil
}

// danglingBindings returns the bindings of "check dangling" that changed.
func danglingBindings(d *delta) []binding {
	var out []binding
	for i := range d.ch.Dirt {
		o := &d.ch.Dirt[i]
		t := d.c.g.Object(o.Obj).Type
		if t != nil && t.DanglingAtCPoints && (o.Mask != 0 || o.Life) {
			out = append(out, binding{len(d.c.infos) + t.Index, [4]graph.ObjID{o.Obj}})
		}
	}
	return out
}

// over returns what is known of a hypothetical view, given the history's at the same time.
func (c *Checker) over(v mgpp.View, changed []graph.Span) *state {
	base, after, d := c.suppose(v, changed)
	if d == nil {
		return c.scratch(v)
	}
	s := &state{env: after, broken: map[binding][]Inconsistency{}}
	s.put(base.again(d, after))
	for b, l := range base.broken {
		if !d.has(b) {
			s.broken[b] = l
			s.told.differs(b)
		}
	}
	s.cycles = base.cyclesOver(d, after)
	c.spend(after)
	return s
}

// cyclesOver returns the cycles on a view that differs from the state's by the delta.
func (s *state) cyclesOver(d *delta, e *env) []cycles {
	out := make([]cycles, len(s.cycles))
	for i := range out {
		if k := &d.c.infos[i]; k.acyclic {
			out[i].found = s.cycles[i].over(e, k, d.ch)
		}
	}
	return out
}

// suppose returns the state of the history's view at the time of a hypothetical one, an
// evaluator of that, and which bindings differ; nil if any may.
func (c *Checker) suppose(v mgpp.View, changed []graph.Span) (base *state, after *env, d *delta) {
	base = c.at(v.Time())
	ch := &c.changes
	ch.Reset()
	c.g.Against(v, changed, ch)
	if ch.All {
		return base, nil, nil
	}
	before, after := base.env, newEnv(c, v)
	d = c.newDelta(ch)
	d.between(before, after)
	stale, who := d.gatherBoth(before, after)
	after.attrs.under, after.attrs.hidden = &before.attrs, stale
	changedAttrs := after.differing(before, stale)
	d.gatherAttrs(after, changedAttrs)
	base.settle(d, after, who, changedAttrs, false)
	return base, after, d
}

// gatherBoth gathers on both views: bindings, counts, and the attributes that
// may differ.
func (d *delta) gatherBoth(before, after *env) (stale map[attrKey]bool, who concerned) {
	who = d.c.newConcerned()
	for _, e := range [2]*env{before, after} {
		d.gather(e)
		d.gatherCounts(e, who)
	}
	return d.staleBoth(before, after), who
}

// staleBoth returns the attributes that may differ between two views.
func (d *delta) staleBoth(before, after *env) map[attrKey]bool {
	stale := map[attrKey]bool{}
	for _, e := range [2]*env{before, after} {
		d.attrSeeds(e, stale)
		for a := range d.c.spec.Attributes {
			if d.ch.All {
				d.everyOf(e, a, stale)
			}
		}
	}
	for _, e := range [2]*env{before, after} {
		d.cascade(e, stale)
	}
	return stale
}

// differing evaluates attributes and returns those that differ from another
// view's.
func (e *env) differing(other *env, stale map[attrKey]bool) []attrKey {
	var changed []attrKey
	for k := range stale {
		typ := e.c.spec.Attributes[k.attr].Type
		if !e.bindable(k.obj, typ) {
			continue
		}
		if v := e.attr(k); !other.bindable(k.obj, typ) || !v.same(other.attr(k)) {
			changed = append(changed, k)
		}
	}
	return changed
}

// Touched returns the instances some argument of which may differ between t-1
// and t, of those that can be inconsistent at either time: it is a superset of
// those that are and do.
func (c *Checker) Touched(t mgpp.Timestamp) (out []Instance) {
	defer c.halted()
	c.begin()
	c.g.Advance()
	if t == 0 || t > c.g.Now() {
		return nil
	}
	var ch graph.Changes
	ch.Reset()
	c.g.Between(t-1, t, &ch)
	before, after := c.env(c.hist.At(t-1)), c.env(c.hist.At(t))
	d := c.newDelta(&ch)
	d.args = true
	if ch.All {
		for i := range d.all {
			d.all[i] = true
		}
	}
	d.between(before, after)
	stale, who := d.gatherBoth(before, after)
	changed := after.differing(before, stale)
	d.gatherAttrs(before, changed)
	d.gatherAttrs(after, changed)
	d.compareCounts(before, after, who, changed)
	out = c.instances(d, before, after, stale)
	c.spend(before)
	c.spend(after)
	slices.SortFunc(out, Instance.Compare)
	return slices.Compact(out)
}

// instances spells out a delta for two views.
func (c *Checker) instances(d *delta, before, after *env, stale map[attrKey]bool) []Instance {
	var out []Instance
	for _, e := range [2]*env{before, after} {
		for k := range c.infos {
			in := &c.infos[k]
			switch {
			case in.acyclic:
				out = e.touchedCycles(in, d.ch, before, after, out)
			case d.all[k]:
				e.clearFrame()
				e.bind(in, in.Guard, in.Universal, func() { out = e.indices(in, out) })
			}
		}
		for _, b := range d.list {
			if in := &c.infos[b.constraint]; !d.all[b.constraint] && e.bindAll(in, b) {
				out = e.indices(in, out)
			}
		}
		for k := range stale {
			if !e.bindable(k.obj, c.spec.Attributes[k.attr].Type) {
				continue
			}
			e.attr(k) // that of a node that dies here is not known yet
			if l := e.attrs.loop(k); l != nil {
				first := l.first()
				out = append(out, Instance{Constraint: -1 - int(first.attr), SCC: first.obj})
			}
		}
	}
	for _, b := range danglingBindings(d) {
		out = append(out, Instance{Constraint: b.constraint, Nodes: b.nodes})
	}
	return out
}

// bindAll binds a binding's objects, if they are there.
func (e *env) bindAll(k *info, b binding) bool {
	e.clearFrame()
	for i := 0; i < k.Universal && i < len(b.nodes); i++ {
		if !e.bindable(b.nodes[i], k.Vars[i].Type) {
			return false
		}
		e.vars[i] = b.nodes[i]
	}
	return true
}

// indices appends the current binding with each combination of its indices.
func (e *env) indices(k *info, out []Instance) []Instance {
	e.loops(k, 0, maxTerms, func(bool) { out = append(out, e.instance(k)) })
	return out
}
