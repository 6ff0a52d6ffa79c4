package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// visits is scratch of path searches.
type visits struct {
	mark  []uint32 // by ObjID: generation of its visit
	gen   uint32
	queue []graph.ObjID
	prev  []int32 // by queue position: from which one it was reached
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
	p.queue, p.prev = p.queue[:0], p.prev[:0]
}

func (p *visits) visit(o graph.ObjID, from int) {
	if p.mark[o] != p.gen {
		p.mark[o] = p.gen
		p.queue = append(p.queue, o)
		p.prev = append(p.prev, int32(from))
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
func (e *env) search(fields []string, from, to graph.ObjID) bool {
	rec := e.rec
	var parts [][]Dep // by queue position: what the step from it read
	p := &e.c.visits
	p.begin(e.g.Objects())
	// The start is not marked: a path has at least one edge, and may return.
	if found := e.expand(fields, from, to, -1, &parts); found {
		e.rec = rec
		e.keep(parts, -1)
		return true
	}
	for i := 0; i < len(p.queue); i++ {
		if e.expand(fields, p.queue[i], to, i, &parts) {
			e.rec = rec
			e.keep(parts, i)
			return true
		}
	}
	e.rec = rec
	for _, part := range parts {
		for _, d := range part {
			rec.dep(d)
		}
	}
	return false
}

// expand visits o's successors and reports whether to is among them. Where
// dependencies are recorded, what this step read goes to parts.
func (e *env) expand(fields []string, o, to graph.ObjID, at int, parts *[][]Dep) bool {
	e.visited()
	p := &e.c.visits
	outer := e.rec
	if outer != nil {
		e.rec = newRecorder()
		e.rec.dep(Dep{Kind: DepLife, Obj: o})
	}
	p.next = e.successors(o, fields, p.next[:0])
	if outer != nil {
		*parts = append(*parts, e.rec.deps)
		e.rec = outer
	}
	if slices.Contains(p.next, to) {
		return true
	}
	for _, n := range p.next {
		p.visit(n, at)
	}
	return false
}

// keep records the steps of the path that was found: the one from queue
// position at, and those that led there. Part i+1 is position i's.
func (e *env) keep(parts [][]Dep, at int) {
	if e.rec == nil {
		return
	}
	for {
		for _, d := range parts[at+1] {
			e.rec.dep(d)
		}
		if at < 0 {
			return
		}
		at = int(e.c.visits.prev[at])
	}
}
