package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// bind calls yield for each binding of the first n variables of k under which
// the condition can be true, those already bound staying as they are. Where
// the condition relates variables by an edge, a path or an equality, it follows
// that instead of trying all pairs.
func (e *env) bind(k *info, cond check.Expr, n int, yield func()) {
	slot, from := e.nextSlot(k, cond, n)
	if slot < 0 {
		yield()
		return
	}
	step := 0
	if e.spread {
		step = stepFor(len(from))
	}
	for i, o := range from {
		if e.enough {
			break
		}
		if step > 0 {
			o = from[i*step%len(from)]
		}
		e.c.tick()
		e.recordBound(o, k.Vars[slot].Type)
		if e.bindable(o, k.Vars[slot].Type) {
			e.vars[slot] = o
			e.bind(k, cond, n, yield)
		}
	}
	e.vars[slot] = 0
}

// stepFor is a step with which each of n places is met once, and the first ones are spread over all: by the golden ratio.
func stepFor(n int) int {
	coprime := func(a, b int) bool {
		for b != 0 {
			a, b = b, a%b
		}
		return a == 1
	}
	step := max(1, n*618/1000)
	for !coprime(n, step) {
		step++
	}
	return step
}

// nextSlot chooses the variable to bind next, and its candidates: one that the
// condition ties to what is bound already, else the first.
func (e *env) nextSlot(k *info, cond check.Expr, n int) (int, []graph.ObjID) {
	first := -1
	for s := 0; s < n; s++ {
		if e.vars[s] != 0 {
			continue
		}
		if first < 0 {
			first = s
		}
		if cond == nil || e.c.uses[cond].vars&(1<<s) == 0 {
			continue
		}
		if out, ok := e.candidates(cond, s, k.Vars[s].Type, nil); ok {
			slices.Sort(out)
			return s, slices.Compact(out)
		}
	}
	if first < 0 {
		return -1, nil
	}
	all := e.population(k.Vars[first].Type)
	if e.rec != nil {
		// What is born and dies changes the order; arguments must not know.
		all = slices.Sorted(slices.Values(all))
	}
	return first, all
}

// bindable reports whether variables of type t range over o.
func (e *env) bindable(o graph.ObjID, t *check.NodeType) bool {
	b := e.g.Object(o)
	if o == 0 || b.Type != t || b.Global != 0 || !e.g.Alive(o, e.t) || e.isSentinel(o) {
		return false
	}
	return !e.c.rooted[t.Index] || e.ranged(o, t)
}

// population returns the objects that variables of type t range over.
func (e *env) population(t *check.NodeType) []graph.ObjID {
	if e.rec != nil {
		e.recordPopulation(t)
	}
	if e.pops == nil {
		e.pops = make([][]graph.ObjID, len(e.c.spec.Types))
	}
	if p := e.pops[t.Index]; p != nil {
		return p
	}
	p := e.g.Live(t, e.t, []graph.ObjID{})
	if e.c.rooted[t.Index] || e.c.fieldNils || len(e.c.spec.Nils) > 0 {
		p = slices.DeleteFunc(p, func(o graph.ObjID) bool { return !e.bindable(o, t) })
	}
	e.pops[t.Index] = p
	return p
}

// ranged reports whether the roots of a type reach an object.
func (e *env) ranged(o graph.ObjID, t *check.NodeType) bool {
	for i := range e.c.spec.Roots {
		if e.c.spec.Roots[i].Type == t && e.c.reach.has(e, e.c.reach.roots[i], o) {
			return true
		}
	}
	return false
}

// recordBound notes that a variable of type t was, or may have been, bound to an object.
func (e *env) recordBound(o graph.ObjID, t *check.NodeType) {
	if e.rec == nil {
		return
	}
	e.rec.dep(Dep{Kind: DepLife, Obj: o})
	if e.c.rooted[t.Index] {
		e.recordRange(o, t)
	}
}

// recordRange notes what makes o one of the nodes that the roots reach.
func (e *env) recordRange(o graph.ObjID, t *check.NodeType) {
	for i := range e.c.spec.Roots {
		r := &e.c.spec.Roots[i]
		if r.Type != t {
			continue
		}
		if b := e.g.Object(e.g.Global(r.Global)); b.ID != 0 {
			e.rec.dep(Dep{Kind: DepBytes, Addr: b.Addr, Size: b.Size})
		}
		if root := e.rootOf(r); root != 0 && root != o {
			e.search(r.Via, root, o)
		}
	}
}

// recordPopulation notes what makes the nodes that variables of type t range
// over these.
func (e *env) recordPopulation(t *check.NodeType) {
	e.rec.dep(Dep{Kind: DepPopulation, Type: t.Index})
	for i := range e.c.spec.Roots {
		r := &e.c.spec.Roots[i]
		if r.Type != t {
			continue
		}
		if b := e.g.Object(e.g.Global(r.Global)); b.ID != 0 {
			e.rec.dep(Dep{Kind: DepBytes, Addr: b.Addr, Size: b.Size})
		}
		e.c.reach.move(e)
		for _, o := range e.c.reach.roots[i].members() {
			e.rec.dep(Dep{Kind: DepLife, Obj: o})
			e.successors(o, r.Via, nil)
		}
	}
}

// rootOf returns the object that a root directive's place holds or leads to.
func (e *env) rootOf(r *check.Root) graph.ObjID {
	g := e.g.Global(r.Global)
	if g == 0 {
		return 0
	}
	b := e.g.Object(g)
	off := int64(0)
	if r.Place != nil {
		off = graph.StaticOffset(r.Place)
	}
	if b.Type != nil && (r.Place == nil || off == 0 && r.Place.Type == b.Type.Layout) {
		return g
	}
	tgt := e.v.Target(b.Addr+trace.Addr(off), coded.Plain)
	if tgt.State == mgpp.Null || tgt.State == mgpp.Unwritten || e.isNil(tgt, r.Type.Layout) {
		return 0
	}
	return e.g.Resolve(e.t, tgt, nil, r.Type)
}

// candidates appends every value of the unbound variable in slot, of type t,
// for which x can be true with what is bound. It is not ok where it cannot say.
func (e *env) candidates(x check.Expr, slot int, t *check.NodeType, buf []graph.ObjID) ([]graph.ObjID, bool) {
	if e.c.uses[x].vars&(1<<slot) == 0 {
		if !e.ready(x, -1) || e.eval(x).tri() == yes {
			return buf, false // any value will do
		}
		return buf, true
	}
	switch x := x.(type) {
	case *check.Binary:
		switch x.Op {
		case "and":
			if out, ok := e.candidates(x.X, slot, t, buf); ok {
				return out, true
			}
			return e.candidates(x.Y, slot, t, buf)
		case "or":
			out, ok := e.candidates(x.X, slot, t, buf)
			if !ok {
				return buf, false
			}
			return e.candidates(x.Y, slot, t, out)
		case "==":
			if out, ok := e.equals(x.X, x.Y, slot, t, buf); ok {
				return out, true
			}
			return e.equals(x.Y, x.X, slot, t, buf)
		}
	case *check.Relation:
		return e.related(x, slot, t, buf)
	}
	return buf, false
}

// ready reports whether all that x uses is bound, except the given slot.
func (e *env) ready(x check.Expr, except int) bool {
	u := e.c.uses[x]
	for s := 0; s < len(e.vars); s++ {
		if u.vars&(1<<s) != 0 && (e.vars[s] == 0 || s == except) {
			return false
		}
	}
	for i := range e.idx {
		if u.idx&(1<<i) != 0 && e.idx[i] == unbound {
			return false
		}
	}
	return true
}

// equals handles x == y where x is the variable, or a pointer that hangs off
// it, and y is known.
func (e *env) equals(x, y check.Expr, slot int, t *check.NodeType, buf []graph.ObjID) ([]graph.ObjID, bool) {
	if e.c.uses[y].vars&(1<<slot) != 0 || !e.ready(y, slot) {
		return buf, false
	}
	switch x := x.(type) {
	case *check.Node:
		if p := e.eval(y); p.kind == pointer && p.tgt != mgpp.Null {
			buf = e.g.ObjectsOf(e.t, target(p), t, buf)
		}
		return buf, true
	case *check.Load:
		c := chainOf(x)
		if c.slot != slot || !isPointer(x) || !c.exact {
			return buf, false
		}
		p := e.eval(y)
		if !p.defined() || p.kind != pointer || p.isNull() || p.obj == 0 {
			return buf, false // what is NULL or nowhere has no in-edges
		}
		return e.ascend(append(c.hops, hop{load: x}), p.obj, true, buf), true
	}
	return buf, false
}

func target(p value) mgpp.Target {
	return mgpp.Target{State: p.tgt, Value: p.bits, Node: p.node}
}

// related handles an edge or path one end of which is the variable.
func (e *env) related(x *check.Relation, slot int, t *check.NodeType, buf []graph.ObjID) ([]graph.ObjID, bool) {
	if x.Not {
		return buf, false
	}
	from, to := isVar(x.From, slot), isVar(x.To, slot)
	switch {
	case to && e.ready(x.From, slot):
		o, _ := e.object(x.From, nil)
		if o == 0 || e.g.Object(o).Type == nil {
			return buf, true
		}
		if x.Path {
			return e.appendReach(x, o, false, buf), true
		}
		had := len(buf)
		buf = e.successors(o, x.Fields, buf)
		return e.alsoBeside(buf, had, t), true
	case from && e.ready(x.To, slot):
		o, _ := e.object(x.To, nil)
		if o == 0 {
			return buf, true
		}
		if x.Path {
			return e.appendReach(x, o, true, buf), true
		}
		buf = e.predecessors(o, x.Fields, buf)
		e.g.Beside(o, e.t, func(s graph.ObjID) { buf = e.predecessors(s, x.Fields, buf) })
		return buf, true
	}
	return buf, false
}

func isVar(x check.Expr, slot int) bool {
	n, ok := x.(*check.Node)
	return ok && n.Slot == slot
}

// alsoBeside appends objects of type t that overlap those from index had on:
// an edge to a host leads to what is embedded at that place too.
func (e *env) alsoBeside(buf []graph.ObjID, had int, t *check.NodeType) []graph.ObjID {
	for _, o := range buf[had:] {
		if e.g.Object(o).Type != t {
			e.g.Beside(o, e.t, func(s graph.ObjID) {
				if e.g.Object(s).Type == t {
					buf = append(buf, s)
				}
			})
		}
	}
	return buf
}

func (e *env) appendReach(x *check.Relation, o graph.ObjID, back bool, buf []graph.ObjID) []graph.ObjID {
	if e.rec == nil && (fixed(x.From) && !back || fixed(x.To) && back) { // else what was read is to be told
		if s := e.c.reach.relations[x]; s != nil && s.in == back {
			e.c.reach.move(e)
			return append(buf, s.members()...)
		}
		for r := range e.reach(pathKey{o, x, back}) {
			buf = append(buf, r)
		}
		return buf
	}
	p := &e.c.visits
	p.begin(e.g.Objects())
	step := e.successors
	if back {
		step = e.predecessors
	}
	p.next = step(o, x.Fields, p.next[:0])
	for _, n := range p.next {
		p.visit(n)
	}
	for i := 0; i < len(p.queue); i++ {
		e.visited()
		p.next = step(p.queue[i], x.Fields, p.next[:0])
		for _, n := range p.next {
			p.visit(n)
		}
	}
	return append(buf, p.queue...)
}
