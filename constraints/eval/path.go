package eval

import (
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// visits is scratch of path searches.
type visits struct {
	mark  []uint32 // by ObjID: generation of its visit
	gen   uint32
	queue []graph.ObjID
	next  []graph.ObjID
}

// pathKey names what is reached from, or reaches, one of the few objects that
// the specification names.
type pathKey struct {
	end  graph.ObjID
	rel  *check.Relation
	back bool
}

// visited counts a node that a path search looks at.
func (e *env) visited() {
	e.cost++
	e.c.tick()
}

// begin starts a visit over n objects.
func (p *visits) begin(n int) {
	if len(p.mark) <= n {
		p.mark = append(p.mark, make([]uint32, n+1-len(p.mark)+len(p.mark)/2)...)
	}
	p.gen++
	if p.gen == 0 {
		clear(p.mark)
		p.gen = 1
	}
	p.queue = p.queue[:0]
}

func (p *visits) visit(o graph.ObjID) {
	if p.mark[o] != p.gen {
		p.mark[o] = p.gen
		p.queue = append(p.queue, o)
	}
}

// path reports whether one or more edges lead from one object to another. Its
// cost is the nodes visited (env.cost): what one of them reaches, at worst,
// unless one end is a declared object, whose reach is kept.
func (e *env) path(x *check.Relation, from, to graph.ObjID) bool {
	if e.rec == nil {
		if s := e.c.reach.relations[x]; s != nil {
			if s.in {
				return e.c.reach.has(e, s, from)
			}
			return e.c.reach.has(e, s, to)
		}
		if fixed(x.From) {
			return e.reach(pathKey{from, x, false})[to]
		}
		if fixed(x.To) {
			return e.reach(pathKey{to, x, true})[from]
		}
	}
	return e.search(x.Fields, from, to)
}

// fixed reports whether an expression is a declared object, or hangs off one.
func fixed(x check.Expr) bool {
	switch x := x.(type) {
	case *check.GlobalRef:
		return true
	case *check.Load:
		return fixed(x.Place.Base)
	case *check.AddrOf:
		return fixed(x.Place.Base)
	}
	return false
}

// fixedEnd returns the end of a path that is the same for all bindings, and the
// other one; nil if there is none.
func fixedEnd(x *check.Relation) (end, other check.Expr) {
	is := func(y check.Expr) bool { return fixed(y) && usesOf(y) == uses{} }
	switch {
	case x.Path && is(x.From):
		return x.From, x.To
	case x.Path && is(x.To):
		return x.To, x.From
	}
	return nil, nil
}

// reach returns what a path leads to from k.end, or from where one leads to it.
func (e *env) reach(k pathKey) map[graph.ObjID]bool {
	if s, ok := e.reaches[k]; ok {
		return s
	}
	set := map[graph.ObjID]bool{}
	step := e.successors
	if k.back {
		step = e.predecessors
	}
	queue := step(k.end, k.rel.Fields, nil)
	for len(queue) > 0 {
		o := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !set[o] {
			set[o] = true
			e.visited()
			queue = step(o, k.rel.Fields, queue)
		}
	}
	if e.reaches == nil {
		e.reaches = map[pathKey]map[graph.ObjID]bool{}
	}
	e.reaches[k] = set
	return set
}

// search looks for a path, breadth first.
func (e *env) search(fields []check.Field, from, to graph.ObjID) bool {
	if e.rec != nil {
		return e.trail(fields, from).leads(e, fields, to)
	}
	if w := e.sweep(fields, from); w != nil {
		return w.leads(e, fields, to)
	}
	p := &e.c.visits
	p.begin(e.g.Objects())
	// The start is not marked: a path has at least one edge, and may return.
	for o, i := from, 0; ; i++ {
		e.visited()
		p.next = e.successors(o, fields, p.next[:0])
		if slices.Contains(p.next, to) {
			return true
		}
		for _, n := range p.next {
			p.visit(n)
		}
		if i == len(p.queue) {
			return false
		}
		o = p.queue[i]
	}
}

// sweep is a search from one object, of which it is asked again and again whether it reaches others,
// as of a table for each of its items: it goes on for the next one where it ended.
type sweep struct {
	queue []graph.ObjID // the start first
	seen  map[graph.ObjID]bool
	steps int // so many of queue have been looked at
}

// sweepKey names its start and the fields that it follows, by the first of them.
type sweepKey struct {
	from   graph.ObjID
	fields *check.Field
}

const (
	maxSweeps = 64      // that are kept for a view: other starts are searched anew each time
	maxAsked  = 1 << 10 // starts that were asked for once
)

// sweep returns the one from an object, nil if this is the first search from there, or there are
// too many.
func (e *env) sweep(fields []check.Field, from graph.ObjID) *sweep {
	k := sweepKey{from: from}
	if len(fields) > 0 {
		k.fields = &fields[0]
	}
	w, asked := e.sweeps[k]
	switch {
	case w != nil:
	case !asked && len(e.sweeps) < maxAsked:
		if e.sweeps == nil {
			e.sweeps = map[sweepKey]*sweep{}
		}
		e.sweeps[k] = nil
	case asked && e.sweeping < maxSweeps:
		w = &sweep{queue: []graph.ObjID{from}, seen: map[graph.ObjID]bool{}}
		e.sweeps[k] = w
		e.sweeping++
	}
	return w
}

// leads reports whether one or more edges lead from the start to an object.
func (w *sweep) leads(e *env, fields []check.Field, to graph.ObjID) bool {
	for !w.seen[to] {
		if w.steps == len(w.queue) {
			return false
		}
		o := w.queue[w.steps]
		w.steps++
		e.visited()
		e.c.visits.next = e.successors(o, fields, e.c.visits.next[:0])
		for _, n := range e.c.visits.next {
			if !w.seen[n] {
				w.seen[n] = true
				if n != w.queue[0] {
					w.queue = append(w.queue, n)
				}
			}
		}
	}
	return true
}

// trail is a search from one object whose dependencies are recorded. Many instances ask
// for paths from the same object: it goes on for the next one where it ended.
type trail struct {
	queue []graph.ObjID         // the start first
	by    map[graph.ObjID]int32 // of what was reached: the place in the queue of what led there first
	parts [][]Dep               // by place in the queue: what the step from there read, as far as it has come
	told  []uint64              // by place in the queue: the recorder that was told of the step last

	// Of a trail that is at its end: what all its steps read, and the recorder that was told
	// of that last.
	all     []Dep
	keys    *depSet // of all
	allTold uint64
}

// trailKey names the start of a trail and the fields that it follows.
type trailKey struct {
	from   graph.ObjID
	fields string
}

// fieldList writes a list of fields.
func fieldList(fields []check.Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.String())
		b.WriteByte(' ')
	}
	return b.String()
}

// trail returns the one from an object along some fields.
func (e *env) trail(fields []check.Field, from graph.ObjID) *trail {
	k := trailKey{from, fieldList(fields)}
	w := e.trails[k]
	if w == nil {
		w = &trail{queue: []graph.ObjID{from}, by: map[graph.ObjID]int32{}}
		if e.trails == nil {
			e.trails = map[trailKey]*trail{}
		}
		e.trails[k] = w
	}
	return w
}

// leads reports whether a path leads to an object. It depends on the path's steps, or on
// all of them if there is none.
func (w *trail) leads(e *env, fields []check.Field, to graph.ObjID) bool {
	for {
		if at, ok := w.by[to]; ok {
			for ; w.tell(e.rec, at); at = w.by[w.queue[at]] {
				if at == 0 {
					break
				}
			}
			return true
		}
		if len(w.parts) == len(w.queue) {
			w.tellAll(e.rec)
			return false
		}
		w.step(e, fields)
	}
}

// tell gives a recorder what a step read. It is false where it knows, and so knows all
// that leads there: operands are evaluated several times.
func (w *trail) tell(r *recorder, at int32) bool {
	if r.id != 0 && w.told[at] == r.id {
		return false
	}
	w.told[at] = r.id
	r.all(w.parts[at])
	return true
}

// tellAll gives a recorder what all steps read, of a trail that is at its end.
func (w *trail) tellAll(r *recorder) {
	if r.id != 0 && w.allTold == r.id {
		return
	}
	w.allTold = r.id
	if w.all == nil {
		rec := newRecorder()
		for _, part := range w.parts {
			rec.all(part)
		}
		w.all, w.keys = rec.deps, rec.seen
	}
	r.trail(w.all, w.keys)
}

// step takes the next object's successors.
func (w *trail) step(e *env, fields []check.Field) {
	at := len(w.parts)
	o := w.queue[at]
	e.visited()
	outer := e.rec
	e.rec = newRecorder()
	e.rec.dep(Dep{Kind: DepLife, Obj: o})
	next := e.successors(o, fields, e.c.visits.next[:0])
	w.parts, w.told = append(w.parts, e.rec.deps), append(w.told, 0)
	e.rec = outer
	for _, n := range next {
		if _, known := w.by[n]; !known {
			w.by[n] = int32(at)
			if n != w.queue[0] {
				w.queue = append(w.queue, n)
			}
		}
	}
	e.c.visits.next = next
}
