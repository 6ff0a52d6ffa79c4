package eval

import (
	"cmp"
	"math"
	"slices"

	"mgtrace/constraints/graph"
)

// cycles is what is known of one acyclicity constraint on a view: its cycles,
// or, as long as there are none, a topological order of the nodes that shows
// it, kept up incrementally.
type cycles struct {
	found [][]graph.ObjID
	order *order
}

// order is a list of nodes such that every edge leads forward. Labels tell
// which of two comes first (an order-maintenance list; Dietz and Sleator, STOC
// 1987, in its simplest form: labels with gaps, all given anew when a gap is
// used up).
type order struct {
	label      []int64 // by ObjID
	next, prev []graph.ObjID
	in         []bool
	size       int
}

const labelGap = 1 << 32

func (o *order) grow(n graph.ObjID) {
	if int(n) < len(o.label) {
		return
	}
	more := int(n) + 1 - len(o.label) + len(o.label)/2
	o.label = append(o.label, make([]int64, more)...)
	o.next = append(o.next, make([]graph.ObjID, more)...)
	o.prev = append(o.prev, make([]graph.ObjID, more)...)
	o.in = append(o.in, make([]bool, more)...)
}

// insert puts n after p; p 0 is the list's head.
func (o *order) insert(n, p graph.ObjID) {
	o.grow(max(n, p))
	for {
		q := o.next[p]
		switch {
		case p == 0 && q == 0:
			o.label[n] = 0
		case p == 0:
			if o.label[q] < math.MinInt64+2*labelGap {
				o.relabel()
				continue
			}
			o.label[n] = o.label[q] - labelGap
		case q == 0:
			if o.label[p] > math.MaxInt64-2*labelGap {
				o.relabel()
				continue
			}
			o.label[n] = o.label[p] + labelGap
		default:
			mid := o.label[p] + (o.label[q]-o.label[p])/2
			if mid == o.label[p] {
				o.relabel()
				continue
			}
			o.label[n] = mid
		}
		o.next[p], o.prev[q] = n, n
		o.next[n], o.prev[n] = q, p
		o.in[n] = true
		o.size++
		return
	}
}

func (o *order) remove(n graph.ObjID) {
	if int(n) >= len(o.in) || !o.in[n] {
		return
	}
	p, q := o.prev[n], o.next[n]
	o.next[p], o.prev[q] = q, p
	o.in[n] = false
	o.size--
}

func (o *order) relabel() {
	at := -int64(o.size/2) * labelGap
	for n := o.next[0]; n != 0; n = o.next[n] {
		o.label[n] = at
		at += labelGap
	}
}

func (o *order) has(n graph.ObjID) bool { return int(n) < len(o.in) && o.in[n] }

// rebuild finds all cycles from scratch, and the order if there are none.
func (c *cycles) rebuild(e *env, k *info) {
	e.c.held[k.Index] = true
	t := e.tarjan(k.fields)
	for _, typ := range k.types {
		for _, o := range e.population(typ) {
			t.from(o)
		}
	}
	c.found, c.order = nil, nil
	for _, comp := range t.found {
		if e.cyclic(k, comp) {
			c.found = append(c.found, comp)
		}
	}
	if len(t.found) > 0 {
		return
	}
	c.order = &order{}
	c.order.grow(0)
	for _, o := range t.complete { // what it leads to is complete before it
		c.order.insert(o, 0)
	}
}

// update brings the cycles to e's view after a change.
func (c *cycles) update(e *env, k *info, ch *graph.Changes) {
	if c.order == nil {
		if slices.ContainsFunc(ch.Dirt, func(d graph.Dirt) bool { return d.Mask != 0 || d.Life }) {
			c.rebuild(e, k)
		}
		return
	}
	for i := range ch.Dirt {
		d := &ch.Dirt[i]
		if d.Life && !e.g.Alive(d.Obj, e.t) {
			c.order.remove(d.Obj)
		}
	}
	for i := range ch.Dirt {
		d := &ch.Dirt[i]
		if (d.Mask != 0 || d.Life) && e.g.Alive(d.Obj, e.t) && e.g.Object(d.Obj).Type != nil && c.order.place(e, k, d) {
			c.rebuild(e, k)
			return
		}
	}
}

// place restores the order for the edges out of an object that changed. It reports
// whether one of them closes a cycle.
//
// An edge u → v with v before u breaks the order. What v reaches without
// passing u's place is searched: if that is u, there is a cycle; else it moves,
// in its order, to just after u. Only edges that lead forward are followed:
// what breaks the order is still to be placed, and finds the cycle then.
//
// Whatever is in the order has all its successors there too, or is still to be
// placed.
func (o *order) place(e *env, k *info, d *graph.Dirt) bool {
	part := d
	if !o.has(d.Obj) {
		o.insert(d.Obj, 0)
		part = nil
	}
	var succ []graph.ObjID
	for todo := []graph.ObjID{d.Obj}; len(todo) > 0; {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		succ = e.successorsBy(u, k.fields, part, succ[:0])
		part = nil // of what is new in the order, all
		for _, v := range succ {
			if v == u {
				return true
			}
			if !o.has(v) {
				o.insert(v, 0)
				todo = append(todo, v)
			}
			if o.label[v] < o.label[u] && o.shift(e, k, u, v) {
				return true
			}
		}
	}
	return false
}

// shift moves what v reaches up to u's place to just after u. It reports
// whether that is u.
func (o *order) shift(e *env, k *info, u, v graph.ObjID) bool {
	ahead, closes := o.ahead(e, k, v, u)
	if closes {
		return true
	}
	slices.SortFunc(ahead, func(a, b graph.ObjID) int { return cmp.Compare(o.label[a], o.label[b]) })
	at := u
	for _, n := range ahead {
		o.remove(n)
		o.insert(n, at)
		at = n
	}
	return false
}

// ahead returns what v reaches by forward edges up to u's place, v included,
// and whether it reaches u.
func (o *order) ahead(e *env, k *info, v, u graph.ObjID) ([]graph.ObjID, bool) {
	p := &e.c.visits
	p.begin(e.g.Objects())
	p.visit(v)
	limit := o.label[u]
	for i := 0; i < len(p.queue); i++ {
		n := p.queue[i]
		e.visited()
		p.next = e.successors(n, k.fields, p.next[:0])
		for _, s := range p.next {
			if s == u {
				return nil, true
			}
			if o.has(s) && o.label[s] < limit && o.label[s] > o.label[n] {
				p.visit(s)
			}
		}
	}
	return slices.Clone(p.queue), false
}

// over returns the cycles of a hypothetical view, given those of the real one.
func (c *cycles) over(e *env, k *info, ch *graph.Changes) [][]graph.ObjID {
	var sources []graph.ObjID
	for i := range ch.Dirt {
		if d := &ch.Dirt[i]; (d.Mask != 0 || d.Life) && e.g.Alive(d.Obj, e.t) && e.g.Object(d.Obj).Type != nil {
			sources = append(sources, d.Obj)
		}
	}
	if len(sources) == 0 {
		return c.found
	}
	if c.order != nil && len(sources) == 1 && !c.order.closes(e, k, sources[0]) {
		return nil
	}
	fresh := cycles{}
	fresh.rebuild(e, k)
	return fresh.found
}

// closes reports whether an edge out of u, the only node whose edges differ
// from those of the order, closes a cycle.
func (o *order) closes(e *env, k *info, u graph.ObjID) bool {
	for _, v := range e.successors(u, k.fields, nil) {
		if v == u || !o.has(u) || !o.has(v) {
			return true // look closer
		}
		if o.label[v] < o.label[u] {
			if _, closes := o.ahead(e, k, v, u); closes {
				return true
			}
		}
	}
	return false
}

// touchedCycles appends the cycles of e's view that a change may have made,
// broken, or given other nodes.
func (e *env) touchedCycles(k *info, ch *graph.Changes, before, after *env, out []Instance) []Instance {
	var near []graph.ObjID
	for i := range ch.Dirt {
		if d := &ch.Dirt[i]; d.Mask != 0 || d.Life {
			near = append(near, d.Obj)
			for _, x := range [2]*env{before, after} {
				if x.g.Alive(d.Obj, x.t) {
					near = append(near, x.component(k, d.Obj)...)
				}
			}
		}
	}
	slices.Sort(near)
	t := e.tarjan(k.fields)
	for _, o := range slices.Compact(near) {
		if e.g.Alive(o, e.t) {
			t.from(o)
		}
	}
	for _, comp := range t.found {
		out = append(out, Instance{Constraint: k.Index, SCC: comp[0]})
	}
	return out
}
