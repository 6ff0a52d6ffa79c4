package eval

import (
	"math"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// NoIndex stands for a loop's index in an instance whose loop has no bounds
// because they are undefined.
const NoIndex = math.MinInt64

// check appends the inconsistencies of k under the binding of the current
// frame, without reasons: one per combination of loop indices.
func (e *env) check(k *info, out []Inconsistency) []Inconsistency {
	sure := e.sure(k)
	if sure && len(k.Loops) == 0 && e.healthy(k) {
		return out
	}
	if k.guard.idx == 0 && !e.guarded(k) {
		return out
	}
	if len(k.Loops) == 0 { // without a closure: the common case
		if e.judge(k, true) == Broken {
			out = append(out, Inconsistency{Instance: e.instance(k), Total: 1})
		}
		return out
	}
	e.loops(k, 0, maxTerms, func(whole bool) {
		if sure && whole {
			if e.c.tick(); e.healthy(k) {
				return
			}
		}
		if e.judge(k, whole) == Broken {
			out = append(out, Inconsistency{Instance: e.instance(k), Total: 1})
		}
	})
	return out
}

// explain gives an inconsistency its reason, if it has none yet.
func (e *env) explain(inc *Inconsistency) {
	if inc.Reason == "" {
		k := &e.c.infos[inc.Instance.Constraint]
		_, whole := e.bindInstance(k, inc.Instance)
		inc.Reason = e.reason(k, whole)
		inc.Through, inc.Block, inc.Raw, inc.Wanted = e.through(k, whole)
	}
}

// through is why the instance in the frame, which is broken, can not be known, if that is why: see Result.
func (e *env) through(k *info, whole bool) (addr trace.Addr, block mgpp.NodeID, raw bool, wanted *check.NodeType) {
	v := e.unbounded(k)
	if whole {
		v = e.satisfied(k)
	}
	if v.defined() {
		return 0, 0, false, nil
	}
	if v.why == beyond {
		v.node = 0
	}
	if v.why == notExpected && v.bits != 0 {
		wanted = pointee(v.src)
	}
	return trace.Addr(v.bits), v.node, v.why == throughWild, wanted
}

// unbounded is the first bound of the loops that is undefined, and why; what is no reason if all are known.
func (e *env) unbounded(k *info) value {
	for i := range k.Loops {
		for _, x := range [2]check.Expr{k.Loops[i].Lo, k.Loops[i].Hi} {
			if v := e.eval(x); !v.defined() {
				return v
			}
		}
	}
	return value{}
}

// guarded reports whether the guard holds.
func (e *env) guarded(k *info) bool {
	if k.Guard == nil || e.eval(k.Guard).tri() == yes {
		e.c.held[k.Index] = true
		return true
	}
	return false
}

// maxOutside is how many indices in a row may lead outside the allocation
// before a loop ends: a corrupt bound must not take for ever.
const maxOutside = 1 << 12

// bounds is the range of a loop. It is not ok where a bound is undefined or the range
// has more than room indices: its bound was read from memory that is corrupt. left
// is the room of each turn of it, for the loops inside.
func (e *env) bounds(l *check.Loop, room int64) (lo, hi, left int64, ok bool) {
	from, to := e.eval(l.Lo), e.eval(l.Hi)
	if !from.defined() || !to.defined() {
		return 0, 0, 0, false
	}
	lo, hi = from.int(), to.int()
	if hi < lo {
		return lo, hi, room, true
	}
	n := uint64(hi) - uint64(lo) // one less than there are, so that it fits
	if n >= uint64(room) {
		return 0, 0, 0, false
	}
	return lo, hi, room / int64(n+1), true
}

// loops calls f for each combination of indices from loop i on, of which there may be
// room. whole is false where a bound is undefined: then there is no index.
func (e *env) loops(k *info, i int, room int64, f func(whole bool)) {
	if i == len(k.Loops) {
		e.outside = false
		f(true)
		return
	}
	l := &k.Loops[i]
	if l.Guard != nil && e.eval(l.Guard).tri() != yes {
		return
	}
	e.outside = false
	lo, hi, left, ok := e.bounds(l, room)
	if !ok {
		if !e.outside {
			f(false)
		}
		return
	}
	outside := 0
	for n := lo; n <= hi && outside < maxOutside; n++ {
		e.idx[i] = n
		e.loops(k, i+1, left, f)
		if outside++; !e.outside {
			outside = 0
		}
	}
	e.idx[i] = unbound
}

// judge evaluates guard and body under the current frame. whole: all indices
// are bound.
func (e *env) judge(k *info, whole bool) Verdict {
	if (k.guard.idx != 0 || !whole) && !e.guarded(k) {
		return NotApplicable
	}
	if !whole {
		return Broken
	}
	e.outside = false
	v := e.satisfied(k)
	switch {
	case v.tri() == yes:
		return Holds
	case e.outside && len(k.Loops) > 0:
		return Absent
	}
	return Broken
}

// satisfied evaluates the body: true if there are values of the existential
// variables for which it holds.
func (e *env) satisfied(k *info) value {
	if k.Universal == len(k.Vars) {
		return e.eval(k.Body)
	}
	result := truth(false)
	e.witness(k, func() bool {
		v := e.eval(k.Body)
		if v.tri() != no && result.tri() != yes {
			result = v
		}
		return v.tri() != yes
	})
	return result
}

// witness calls f for the bindings of the existential variables under which
// the body can be true, until f returns false. They are unbound afterwards.
func (e *env) witness(k *info, f func() bool) {
	more := true
	e.bind(k, k.Body, len(k.Vars), func() {
		if more {
			more = f()
		}
	})
}

// instance is the identity of the current frame.
func (e *env) instance(k *info) Instance {
	i := Instance{Constraint: k.Index}
	copy(i.Nodes[:], e.vars[:k.Universal])
	for n := range k.Loops {
		if n < len(i.Index) {
			i.Index[n] = e.idx[n]
		}
	}
	return i
}

// bindInstance binds the current frame as an instance says. It is not ok where an
// object is not there.
func (e *env) bindInstance(k *info, i Instance) (ok, whole bool) {
	e.clearFrame()
	whole = true
	for s := 0; s < k.Universal && s < len(i.Nodes); s++ {
		e.recordBinding(i.Nodes[s], k.Vars[s].Type)
		if !e.bindable(i.Nodes[s], k.Vars[s].Type) {
			return false, true
		}
		e.vars[s] = i.Nodes[s]
	}
	for n := range k.Loops {
		if n < len(i.Index) {
			e.idx[n] = i.Index[n]
			whole = whole && i.Index[n] != NoIndex
		}
	}
	return true, whole
}

// recordBinding notes what makes o a node that variables of type t range over.
func (e *env) recordBinding(o graph.ObjID, t *check.NodeType) {
	if e.rec == nil || o == 0 {
		return
	}
	e.rec.dep(Dep{Kind: DepLife, Obj: o})
	if e.c.rooted[t.Index] && e.g.Alive(o, e.t) {
		e.recordRange(o, t)
	}
}

// Eval evaluates one instance on a view.
func (c *Checker) Eval(i Instance, v mgpp.View) (result Result) {
	defer c.halted()
	c.begin()
	return c.evalIn(c.env(v), i)
}

func (c *Checker) evalIn(e *env, i Instance) Result {
	e.rec = c.record()
	defer func() { e.rec = nil; c.spend(e) }()
	if c.fieldNils {
		e.recordNils()
	}
	switch n := len(c.infos); {
	case i.Constraint < 0:
		return e.evalLoop(i)
	case i.Constraint >= n && i.Constraint-n < len(c.spec.Types):
		return e.evalDangling(c.spec.Types[i.Constraint-n], i)
	case i.Constraint >= n:
		return Result{Verdict: Absent}
	}
	k := &c.infos[i.Constraint]
	if k.acyclic {
		return e.evalCycle(k, i)
	}
	ok, whole := e.bindInstance(k, i)
	if !ok || !e.within(k, whole) {
		return Result{Verdict: Absent, Deps: e.rec.deps}
	}
	r := Result{Args: e.args(k), Verdict: e.verdict(k, whole)}
	if r.Verdict == Broken {
		r.Reason = e.reason(k, whole)
	}
	r.Deps = e.rec.deps
	if r.Verdict == Broken {
		r.Through, r.Block, r.Raw, r.Wanted = e.through(k, whole)
	}
	return r
}

// within reports whether the loops have the instance's indices at all.
func (e *env) within(k *info, whole bool) bool {
	room := int64(maxTerms)
	for n := range k.Loops {
		l := &k.Loops[n]
		if l.Guard != nil && e.eval(l.Guard).tri() != yes {
			return false
		}
		lo, hi, left, ok := e.bounds(l, room)
		if !ok {
			return e.idx[n] == unbound
		}
		if i := e.idx[n]; i == unbound || i < lo || i > hi {
			return false
		}
		room = left
	}
	return whole
}

func (e *env) evalDangling(t *check.NodeType, i Instance) Result {
	o := i.Nodes[0]
	e.recordBinding(o, t)
	if !e.bindable(o, t) {
		return Result{Verdict: Absent, Deps: e.rec.deps}
	}
	n := e.dangling(o)
	r := Result{Args: []Arg{{Text: "X.DANGLING", Value: e.text(number(n))}}}
	if n > 0 {
		r.Verdict, r.Reason = Broken, e.danglingReason(o)
	}
	r.Deps = e.rec.deps
	return r
}

// evalLoop evaluates "the attribute depends on itself at this node".
func (e *env) evalLoop(i Instance) Result {
	k := attrKey{int32(-1 - i.Constraint), i.SCC}
	if int(k.attr) >= len(e.c.spec.Attributes) {
		return Result{Verdict: Absent}
	}
	typ := e.c.spec.Attributes[k.attr].Type
	e.recordBinding(i.SCC, typ)
	if !e.bindable(i.SCC, typ) {
		return Result{Verdict: Absent, Deps: e.rec.deps}
	}
	e.rec.attr(k)
	e.attr(k)
	r := Result{Args: []Arg{{Text: "cycle", Value: "none"}}}
	if l := e.attrs.loop(k); l != nil {
		var nodes []graph.ObjID
		for _, m := range l.keys {
			nodes = append(nodes, m.obj)
		}
		r.Args[0].Value = e.setText(nodes)
		if l.first() == k {
			r.Verdict, r.Reason = Broken, e.loopReason(l)
		}
	}
	r.Deps = e.rec.deps
	return r
}
