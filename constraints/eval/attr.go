package eval

import (
	"maps"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// attrKey is a user attribute of an object.
type attrKey struct {
	attr int32
	obj  graph.ObjID
}

// attributes remembers values of user attributes on a view, and finds cycles
// in their evaluation (Tarjan's strongly connected components, SIAM J. Comput.
// 1(2), 1972, on the graph "evaluating a asks for b").
type attributes struct {
	memo   []memo
	loopOf map[attrKey]*loop

	// A hypothetical view takes from the real one's what is not hidden.
	under  *attributes
	hidden map[attrKey]bool

	stack   []attrKey  // Tarjan's: begun, component not complete
	running []progress // the evaluations in progress
	index   int32
	pending map[attrKey]int // suspended evaluations: position in their list
	suspend bool
	need    attrKey // what the suspended evaluation asked for
	chain   []attrKey
}

// entry is the state of one attribute of one object.
type entry struct {
	val   value
	index int32 // Tarjan's; 0: complete
}

// progress is one evaluation that has begun.
type progress struct {
	key        attrKey
	index, low int32
	self       bool // it asks for itself
}

// loop is a cycle in the evaluation of attributes.
type loop struct{ keys []attrKey }

// maxChain bounds the recursion of an evaluation: beyond, it is suspended and
// what it asked for is evaluated first, so that a list of a million nodes needs
// no stack of a million frames.
const maxChain = 4096

// init has nothing known of n attributes; few: not of many nodes.
func (a *attributes) init(n int, few bool) {
	a.memo = make([]memo, n)
	for i := range a.memo {
		if few {
			a.memo[i].few = map[graph.ObjID]entry{}
		}
	}
	a.loopOf = map[attrKey]*loop{}
	a.pending = map[attrKey]int{}
}

// empty makes a as init has left it.
func (a *attributes) empty() {
	for i := range a.memo {
		a.memo[i].empty()
	}
	clear(a.loopOf)
	clear(a.pending)
	a.under, a.hidden = nil, nil
}

// copyTo gives another what a knows.
func (a *attributes) copyTo(b *attributes) {
	for i := range a.memo {
		a.memo[i].copyTo(&b.memo[i])
	}
	maps.Copy(b.loopOf, a.loopOf)
}

// attrOf evaluates X.HEIGHT.
func (e *env) attrOf(x *check.Attr) value {
	p := e.eval(x.Base)
	if p.isNull() || p.why == staleCell && p.src == x.Base { // one that is not in use is no edge either
		return number(x.Attrs[0].Default)
	}
	var bad value
	for _, a := range x.Attrs {
		o, why := e.objectOf(p, a.Type, x.Base)
		if o == 0 {
			bad = why
			continue
		}
		k := attrKey{int32(a.Index), o}
		if e.rec != nil {
			e.rec.attr(k)
		}
		return e.attr(k)
	}
	return bad
}

// attr returns an attribute's value, computed bottom-up.
func (e *env) attr(k attrKey) value {
	s := &e.attrs
	if en, ok := s.get(k); ok {
		if en.index != 0 { // begun: some evaluation asks for itself
			top := &s.running[len(s.running)-1]
			top.low = min(top.low, en.index)
			top.self = top.self || top.key == k
			return undef(inCycle, nil)
		}
		return en.val
	}
	if s.suspend {
		return undef(tooDeep, nil)
	}
	if len(s.running) == 0 {
		return e.attrFromTop(k)
	}
	if _, again := s.pending[k]; again || len(s.running) == maxChain {
		s.suspend, s.need = true, k
		s.chain = s.chain[:0]
		for i := range s.running {
			s.chain = append(s.chain, s.running[i].key)
		}
		return undef(tooDeep, nil)
	}
	return e.attrWithin(k)
}

// attrWithin evaluates an attribute that is neither known nor begun.
func (e *env) attrWithin(k attrKey) value {
	s := &e.attrs
	s.index++
	at, d := len(s.stack), len(s.running)
	s.memo[k.attr].set(k.obj, entry{index: s.index})
	s.stack = append(s.stack, k)
	s.running = append(s.running, progress{key: k, index: s.index, low: s.index})
	v := e.rules(k)
	p := s.running[d]
	s.running = s.running[:d]
	switch {
	case s.suspend:
		return undef(tooDeep, nil)
	case p.low < p.index: // part of a component that begins further up
		s.running[d-1].low = min(s.running[d-1].low, p.low)
		return undef(inCycle, nil)
	case p.self || len(s.stack) > at+1:
		e.closeLoop(slices.Clone(s.stack[at:]))
		v = undef(inCycle, nil)
	default:
		s.memo[k.attr].set(k.obj, entry{val: v})
	}
	s.stack = s.stack[:at]
	return v
}

// closeLoop makes the keys a cycle: all of them are undefined.
func (e *env) closeLoop(keys []attrKey) {
	l := &loop{keys}
	for _, k := range keys {
		e.attrs.memo[k.attr].set(k.obj, entry{val: undef(inCycle, nil)})
		e.attrs.loopOf[k] = l
	}
}

// attrFromTop evaluates an attribute that no other evaluation waits for.
func (e *env) attrFromTop(k attrKey) value {
	s := &e.attrs
	type suspended struct {
		key   attrKey
		chain []attrKey
	}
	list := []suspended{{key: k}}
	for len(list) > 0 {
		top := &list[len(list)-1]
		if _, ok := s.get(top.key); !ok {
			delete(s.pending, top.key) // it is begun now
			rec := e.rec
			e.rec = nil
			e.attrWithin(top.key)
			e.rec = rec
		}
		if !s.suspend {
			delete(s.pending, top.key)
			list = list[:len(list)-1]
			continue
		}
		for _, b := range s.stack {
			s.memo[b.attr].forget(b.obj)
		}
		s.stack, s.running, s.suspend, s.index = s.stack[:0], s.running[:0], false, 0
		top.chain = slices.Clone(s.chain)
		s.pending[top.key] = len(list) - 1
		if at, again := s.pending[s.need]; again {
			var keys []attrKey
			for _, p := range list[at:] {
				keys = append(keys, p.chain...)
			}
			e.closeLoop(keys)
			continue
		}
		s.pending[s.need] = len(list)
		list = append(list, suspended{key: s.need})
	}
	s.index = 0
	en, _ := s.get(k)
	return en.val
}

// get returns what is known of an attribute.
func (a *attributes) get(k attrKey) (entry, bool) {
	en, ok := a.memo[k.attr].get(k.obj)
	if !ok && a.under != nil && !a.hidden[k] {
		en, ok = a.under.memo[k.attr].get(k.obj)
	}
	return en, ok
}

// loop returns the cycle that an attribute is part of, nil if none.
func (a *attributes) loop(k attrKey) *loop {
	if l := a.loopOf[k]; l != nil || a.under == nil || a.hidden[k] {
		return l
	}
	return a.under.loopOf[k]
}

// eachLoop calls f for every cycle.
func (a *attributes) eachLoop(f func(*loop)) {
	seen := map[*loop]bool{}
	for _, l := range a.loopOf {
		if !seen[l] {
			seen[l] = true
			f(l)
		}
	}
	if a.under != nil {
		for k, l := range a.under.loopOf {
			if !seen[l] && !a.hidden[k] {
				seen[l] = true
				f(l)
			}
		}
	}
}

// rules evaluates an attribute's rules for an object.
func (e *env) rules(k attrKey) value {
	outside := e.outside
	e.push()
	e.vars[0] = k.obj
	v := e.firstRule(e.c.spec.Attributes[k.attr])
	e.pop()
	e.outside = outside
	return v
}

func (e *env) firstRule(a *check.Attribute) value {
	for i := range a.Rules {
		r, f := &a.Rules[i], &e.c.rules[a.Index][i]
		if r.Guard == nil {
			return e.quick(r.Value, f.value)
		}
		g := e.quick(r.Guard, f.guard)
		switch {
		case g.tri() == yes:
			return e.quick(r.Value, f.value)
		case g.tri() == unknown:
			return g
		case r.Else != nil:
			return e.quick(r.Else, f.other)
		}
	}
	return undef(noRule, nil)
}

// forget drops an attribute's value, and the cycle that it was part of.
func (a *attributes) forget(k attrKey) (old value, was bool) {
	en, ok := a.memo[k.attr].get(k.obj)
	a.memo[k.attr].forget(k.obj)
	if l := a.loopOf[k]; l != nil {
		for _, m := range l.keys {
			delete(a.loopOf, m)
		}
	}
	return en.val, ok
}
