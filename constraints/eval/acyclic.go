package eval

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// tarjan finds strongly connected components without recursion.
type tarjan struct {
	e        *env
	fields   []check.Field
	index    map[graph.ObjID]int32 // from 1
	low      map[graph.ObjID]int32
	on       map[graph.ObjID]bool
	stack    []graph.ObjID
	calls    []call
	next     int32
	complete []graph.ObjID   // nodes in the order in which their components were completed
	found    [][]graph.ObjID // components that hold a cycle
}

type call struct {
	o    graph.ObjID
	succ []graph.ObjID
	self bool
}

func (e *env) tarjan(fields []check.Field) *tarjan {
	return &tarjan{e: e, fields: fields, index: map[graph.ObjID]int32{}, low: map[graph.ObjID]int32{}, on: map[graph.ObjID]bool{}}
}

// from explores what o reaches, as far as it is not explored.
func (t *tarjan) from(o graph.ObjID) {
	if t.index[o] != 0 {
		return
	}
	t.enter(o)
	for len(t.calls) > 0 {
		c := &t.calls[len(t.calls)-1]
		if len(c.succ) == 0 {
			t.leave()
			continue
		}
		n := c.succ[len(c.succ)-1]
		c.succ = c.succ[:len(c.succ)-1]
		switch {
		case n == c.o:
			c.self = true
		case t.index[n] == 0:
			t.enter(n)
		case t.on[n]:
			t.low[c.o] = min(t.low[c.o], t.index[n])
		}
	}
}

func (t *tarjan) enter(o graph.ObjID) {
	t.next++
	t.e.visited()
	t.index[o], t.low[o], t.on[o] = t.next, t.next, true
	t.stack = append(t.stack, o)
	t.calls = append(t.calls, call{o: o, succ: t.e.successors(o, t.fields, nil)})
}

func (t *tarjan) leave() {
	c := t.calls[len(t.calls)-1]
	t.calls = t.calls[:len(t.calls)-1]
	if n := len(t.calls); n > 0 {
		up := t.calls[n-1].o
		t.low[up] = min(t.low[up], t.low[c.o])
	}
	if t.low[c.o] != t.index[c.o] {
		return
	}
	at := slices.Index(t.stack, c.o)
	if len(t.stack)-at > 1 || c.self {
		comp := slices.Clone(t.stack[at:])
		slices.Sort(comp)
		t.found = append(t.found, comp)
	}
	for _, o := range t.stack[at:] {
		t.on[o] = false
	}
	t.complete = append(t.complete, t.stack[at:]...)
	t.stack = t.stack[:at]
}

// cyclic reports whether a cycle violates the constraint: it holds a node for
// each variable.
func (e *env) cyclic(k *info, comp []graph.ObjID) bool {
	for _, t := range k.types {
		if !slices.ContainsFunc(comp, func(o graph.ObjID) bool { return e.bindable(o, t) }) {
			return false
		}
	}
	return true
}

func (e *env) cycleAt(k *info, comp []graph.ObjID) Inconsistency {
	return Inconsistency{
		Instance: Instance{Constraint: k.Index, SCC: comp[0]},
		Reason:   e.cycleReason(comp),
		Total:    len(comp),
	}
}

func (e *env) cycleReason(comp []graph.ObjID) string {
	if len(comp) == 1 {
		return fmt.Sprintf("%s leads to itself", e.g.Name(comp[0]))
	}
	return fmt.Sprintf("a cycle of %d nodes: %s", len(comp), e.names(comp))
}

// component returns the cycle that o is part of, nil if none. Its cost is what
// o reaches.
func (e *env) component(k *info, o graph.ObjID) []graph.ObjID {
	t := e.tarjan(k.fields)
	t.from(o)
	for _, comp := range t.found {
		if slices.Contains(comp, o) {
			return comp
		}
	}
	return nil
}

// evalCycle evaluates "there is a cycle whose smallest node is SCC". Its
// argument is the set of nodes of the cycle through that node.
func (e *env) evalCycle(k *info, i Instance) Result {
	if !e.g.Alive(i.SCC, e.t) || e.g.Object(i.SCC).Type == nil {
		return Result{Verdict: Absent, Deps: []Dep{{Kind: DepLife, Obj: i.SCC}}}
	}
	for _, t := range k.types {
		if e.c.rooted[t.Index] {
			e.recordPopulation(t)
		}
	}
	comp := e.component(k, i.SCC)
	r := Result{Args: []Arg{{Text: "cycle", Value: "none"}}}
	if comp != nil {
		r.Args[0].Value = e.setText(comp)
		if comp[0] == i.SCC && e.cyclic(k, comp) {
			r.Verdict, r.Reason = Broken, e.cycleReason(comp)
		}
	}
	r.Deps = e.rec.deps
	return r
}
