package eval

import (
	"bytes"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/trace"
)

// binding is a constraint with values of its universal variables.
type binding struct {
	constraint int
	nodes      [4]graph.ObjID
}

// delta collects the bindings that a change concerns. It is filled on the view
// before and on the view after, for what a binding reads is found by the way
// that leads to it in either.
//
//  1. what changed: bytes of objects, edges into them, their lives
//  2. for each site of a constraint that reads such a thing: the objects from
//     which its way leads there
//  3. each of these bound to the site's variable, the others by joins
type delta struct {
	c  *Checker
	ch *graph.Changes

	before, after *env

	all   []bool // by constraint: every binding
	list  []binding
	in    listed  // of list, where that is long
	flips []flips // by set of Checker.reach
	roots []graph.ObjID
	loose bool // rootsOf: what the pin leads to is not known, so that any node is a root
	moved bool // rootsOf: a cell of the pin was written, or its object began or ended
	// Pins decide few verdicts, but are an operand of every instance: either they are
	// asked for by what instances say (args), or those that are broken say it anew.
	args  bool
	anew  []bool           // by constraint: a pin that it reads changed
	stale map[attrKey]bool // scratch of a step
	step  bool             // all of the list is evaluated, in any order

	objects []dirtyObject // see objectsOf
	of      *env          // whose view they are of
}

func (c *Checker) newDelta(ch *graph.Changes) *delta {
	return &delta{c: c, ch: ch, all: make([]bool, len(c.infos)), anew: make([]bool, len(c.infos))}
}

// stepDelta returns an empty delta for a step from one state to the next: that of the last
// step, since nothing holds on to it.
func (c *Checker) stepDelta(ch *graph.Changes) *delta {
	d := c.step
	if d == nil || len(d.list)+len(d.stale) > manyConcerned { // clearing a map costs what it ever held
		d = c.newDelta(ch)
		d.stale, d.step = map[attrKey]bool{}, true
		c.step = d
		return d
	}
	clear(d.all)
	clear(d.anew)
	clear(d.stale)
	d.list, d.flips, d.of = d.list[:0], nil, nil
	return d
}

// manyConcerned is how much a delta may hold to be used again.
const manyConcerned = 1 << 10

// gather adds the bindings that e's view shows to be concerned by changes of
// memory.
func (d *delta) gather(e *env) {
	for k := range d.c.infos {
		if d.all[k] || d.c.infos[k].acyclic {
			continue
		}
		for i := range d.c.sites[k] {
			if s := &d.c.sites[k][i]; s.kind != readsAttr && s.kind != readsCount && !d.all[k] {
				d.roots = d.rootsOf(e, s, d.roots[:0])
				d.anew[k] = d.anew[k] || d.moved
				d.bindRoots(e, k, s)
			}
		}
		d.born(e, k)
	}
}

// born adds the bindings of objects that began or ended.
func (d *delta) born(e *env, k int) {
	for i := range d.ch.Dirt {
		o := &d.ch.Dirt[i]
		if !o.Life {
			continue
		}
		typ := e.g.Object(o.Obj).Type
		for slot, v := range d.c.infos[k].Vars {
			if v.Type == typ && !d.all[k] {
				d.bind(e, k, slot, o.Obj)
			}
		}
	}
}

// gatherAttrs adds the bindings that read attributes that changed.
func (d *delta) gatherAttrs(e *env, changed []attrKey) {
	if len(changed) == 0 {
		return
	}
	for k := range d.c.infos {
		for i := range d.c.sites[k] {
			s := &d.c.sites[k][i]
			if s.kind != readsAttr || d.all[k] {
				continue
			}
			d.roots = d.roots[:0]
			for _, a := range changed {
				if a.attr == s.attr {
					d.roots = e.ascend(s.chain.hops, a.obj, true, d.roots)
				}
			}
			d.bindRoots(e, k, s)
		}
	}
}

// rootsOf appends the objects from which a site leads to something that
// changed.
func (d *delta) rootsOf(e *env, s *site, out []graph.ObjID) []graph.ObjID {
	d.loose, d.moved = false, false
	switch s.kind {
	case readsPath:
		return d.pathRoots(e, s, out)
	case readsPin:
		return d.pinRoots(e, s, out)
	case readsReach:
		for o := range d.flips[d.c.reach.relations[s.way].index] {
			out = e.ascend(s.chain.hops, o, true, out)
		}
		return out
	case readsAll:
		for i := range d.ch.Dirt {
			if o := &d.ch.Dirt[i]; o.Life && e.g.Object(o.Obj).Type == s.typ {
				out = append(out, o.Obj)
			}
		}
		return out
	}
	own := s.chain.global != 0 && len(s.chain.hops) == 0 // it lies in the declared object itself
	for i, x := range d.objectsOf(e) {
		o := &d.ch.Dirt[i]
		if s.typ != nil && !x.typ.Is(s.typ) || own && x.global != s.chain.global {
			continue
		}
		if s.kind == readsIn {
			if o.In {
				out = e.ascend(s.chain.hops, o.Obj, true, out)
			}
			continue
		}
		if o.Mask == 0 {
			continue
		}
		hit := s.typ == nil && !own || o.Touches(s.lo, s.hi, x.size)
		if hit && own && s.number && d.same(o, s) {
			continue
		}
		if hit || len(s.chain.hops) > 0 && (e.changed != nil || !e.g.Whole(o.Obj)) {
			out = e.ascend(s.chain.hops, o.Obj, hit, out)
		}
	}
	return out
}

// same: a declared object's number is the same in both views. What else lies in its part of the object changed: a table's
// count beside its room, by which all are asked where they belong.
func (d *delta) same(o *graph.Dirt, s *site) bool {
	n := s.hi - s.lo
	if o.Life || n <= 0 || n > int64(len(d.after.data)) {
		return false
	}
	addr := d.c.g.Object(o.Obj).Addr + trace.Addr(s.lo)
	was, is := d.before.read(addr, n, nil), d.after.read(addr, n, nil)
	return was == is && bytes.Equal(d.before.data[:n], d.after.data[:n])
}

// dirtyObject is what sites ask of an object that has dirt.
type dirtyObject struct {
	typ    *check.NodeType
	global int
	size   uint64 // in a view
}

// objectsOf returns what is asked of the objects with dirt, in its order. There are many sites: they are looked up once
// for each view.
func (d *delta) objectsOf(e *env) []dirtyObject {
	if d.of == e && len(d.objects) == len(d.ch.Dirt) {
		return d.objects
	}
	d.of, d.objects = e, d.objects[:0]
	for i := range d.ch.Dirt {
		id := d.ch.Dirt[i].Obj
		o := e.g.Object(id)
		d.objects = append(d.objects, dirtyObject{o.Type, int(o.Global), e.g.Size(id, e.t)})
	}
	return d.objects
}

// pinRoots appends the objects that the cells of the pin lead to that may have changed.
func (d *delta) pinRoots(e *env, s *site, out []graph.ObjID) []graph.ObjID {
	for i, x := range d.objectsOf(e) {
		o, known := &d.ch.Dirt[i], false // where in the object the cells lie
		switch {
		case s.chain.global > 0:
			if x.global != s.chain.global {
				continue
			}
			known = true
		case x.typ.Is(s.typ):
			known = !o.Life && e.g.Whole(o.Obj)
		case !d.reads(e, s, o.Obj):
			continue
		}
		if !o.Touches(s.lo, s.hi, x.size) && !o.Life {
			continue
		}
		if d.moved = true; d.args || !known {
			d.loose = true
			out = append(out, o.Obj)
			continue
		}
		out = d.cellRoots(e, s, o, int64(x.size), out)
	}
	return out
}

// reads: the cells of a pin may lie in an object of another type, into the middle of which a pointer leads.
func (d *delta) reads(e *env, s *site, o graph.ObjID) bool {
	return len(s.base.hops) > 0 && (e.changed != nil || !e.g.Whole(o)) && len(e.ascend(s.base.hops, o, false, nil)) > 0
}

// cellRoots appends the objects that the pin's cells lead to in the parts of an object that have dirt.
func (d *delta) cellRoots(e *env, s *site, o *graph.Dirt, size int64, out []graph.ObjID) []graph.ObjID {
	cells, at := s.cells, e.g.Object(o.Obj).Addr
	if cells < 0 {
		cells = (size - s.lo - 8 + s.stride) / s.stride
	}
	o.EachPart(uint64(size), func(lo, hi int64) {
		for k := max(0, (lo-s.lo)/s.stride); k < cells && s.lo+k*s.stride < hi; k++ {
			v := e.loadPointer(0, at+trace.Addr(s.lo+k*s.stride), s.pin.Coded, s.pin.Weak, s.pin.To, elemOf(s.pin.Type), s.pin)
			switch {
			case v.isNull():
			case v.kind == pointer && v.defined() && v.obj != 0:
				out = append(out, v.obj)
				e.g.Beside(v.obj, e.t, func(o graph.ObjID) { out = append(out, o) }) // at the same place
			default:
				d.loose = true
				out = append(out, o.Obj)
			}
		}
	})
	return out
}

// pathRoots appends the objects from which a path leads through something that
// changed.
func (d *delta) pathRoots(e *env, s *site, out []graph.ObjID) []graph.ObjID {
	seen := map[graph.ObjID]bool{}
	var queue []graph.ObjID
	for i := range d.ch.Dirt {
		if o := &d.ch.Dirt[i]; o.Mask != 0 || o.Life {
			queue = append(queue, o.Obj)
		}
	}
	for len(queue) > 0 {
		o := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[o] {
			continue
		}
		seen[o] = true
		e.visited()
		out = e.ascend(s.chain.hops, o, true, out)
		queue = e.predecessors(o, s.fields, queue)
	}
	return out
}

// bindRoots adds the bindings in which the site's variable is one of d.roots.
func (d *delta) bindRoots(e *env, k int, s *site) {
	if s.stray && d.ch.Untyped {
		d.all[k] = true
		return
	}
	if len(d.roots) == 0 {
		return
	}
	if d.loose {
		d.all[k] = true
		return
	}
	if s.every {
		d.all[k] = d.all[k] || s.chain.global == 0 || slices.ContainsFunc(d.roots, func(o graph.ObjID) bool {
			return int(e.g.Object(o).Global) == s.chain.global
		})
		return
	}
	roots := d.roots
	if !d.step || s.chain.slot > 0 || d.c.infos[k].Universal > 1 { // else each is a binding, and add sees what comes twice
		slices.Sort(roots)
		roots = slices.Compact(roots)
	}
	for _, o := range roots {
		d.bind(e, k, s.chain.slot, o)
	}
}

// bind adds the bindings of constraint k with o in a slot.
func (d *delta) bind(e *env, k, slot int, o graph.ObjID) {
	in := &d.c.infos[k]
	if slot >= len(in.Vars) || !e.bindable(o, in.Vars[slot].Type) {
		return
	}
	if in.Universal == 1 && slot == 0 { // the common case
		d.add(binding{k, [4]graph.ObjID{o}})
		return
	}
	e.clearFrame()
	e.vars[slot] = o
	cond := in.Guard
	if slot >= in.Universal {
		// Found through the body: bindings for which o may be a witness. The
		// guard's variables that the body does not tie are tied by it.
		cond = in.Body
	}
	e.bind(in, cond, in.Universal, func() {
		b := binding{constraint: k}
		copy(b.nodes[:], e.vars[:in.Universal])
		d.add(b)
	})
	e.clearFrame()
}

// add adds a binding.
func (d *delta) add(b binding) {
	if d.listed(&b) {
		return
	}
	d.list = append(d.list, b)
	switch n := len(d.list); {
	case n == fewConcerned+1:
		d.in.fill(d.list)
	case n > fewConcerned:
		d.in.add(d.list)
	}
}

// listed reports whether a binding is in the list: most lists are short.
func (d *delta) listed(b *binding) bool {
	if len(d.list) <= fewConcerned {
		return slices.Contains(d.list, *b)
	}
	return d.in.find(d.list, b)
}

// fewConcerned is how many bindings are looked through.
const fewConcerned = 16

// has reports whether a binding is concerned.
func (d *delta) has(b binding) bool {
	return d.listed(&b) || b.constraint >= 0 && b.constraint < len(d.all) && d.all[b.constraint]
}

// attrSeeds adds the attributes that e's view shows to read what changed.
func (d *delta) attrSeeds(e *env, out map[attrKey]bool) {
	for a, sites := range d.c.attrSites {
		for i := range sites {
			s := &sites[i]
			if s.kind == readsAttr {
				continue
			}
			d.roots = d.rootsOf(e, s, d.roots[:0])
			switch {
			case s.stray && d.ch.Untyped, (s.every || d.loose) && len(d.roots) > 0:
				d.everyOf(e, a, out)
			default:
				for _, o := range d.roots {
					out[attrKey{int32(a), o}] = true
				}
			}
		}
		for i := range d.ch.Dirt {
			if o := &d.ch.Dirt[i]; o.Life && e.g.Object(o.Obj).Type == d.c.spec.Attributes[a].Type {
				out[attrKey{int32(a), o.Obj}] = true
			}
		}
	}
}

func (d *delta) everyOf(e *env, a int, out map[attrKey]bool) {
	for _, o := range e.population(d.c.spec.Attributes[a].Type) {
		out[attrKey{int32(a), o}] = true
	}
}

// cascade adds the attributes that read, directly or not, those in the set.
func (d *delta) cascade(e *env, set map[attrKey]bool) {
	queue := make([]attrKey, 0, len(set))
	for k := range set {
		queue = append(queue, k)
	}
	for len(queue) > 0 {
		k := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		d.c.tick()
		for a, sites := range d.c.attrSites {
			for i := range sites {
				s := &sites[i]
				if s.kind != readsAttr || s.attr != k.attr {
					continue
				}
				d.roots = e.ascend(s.chain.hops, k.obj, true, d.roots[:0])
				if s.every {
					d.roots = append(d.roots[:0], e.population(d.c.spec.Attributes[a].Type)...)
				}
				for _, o := range d.roots {
					if r := (attrKey{int32(a), o}); !set[r] && e.g.Object(o).Type == d.c.spec.Attributes[a].Type {
						set[r] = true
						queue = append(queue, r)
					}
				}
			}
		}
	}
}

// between says which views differ by the delta, and finds out what the sets that are kept have in one but not in the
// other: objects that roots reach in one only begin or end there.
func (d *delta) between(before, after *env) {
	d.before, d.after = before, after
	d.flips = d.c.reach.between(before, after, d.ch)
	for _, s := range d.c.reach.roots {
		for o := range d.flips[s.index] {
			d.ch.Of(o).Life = true
		}
	}
}

// rulesSites returns what the rules of an attribute read.
func rulesSites(a *check.Attribute) []site {
	var out []site
	for i := range a.Rules {
		r := &a.Rules[i]
		out = sitesOf(r.Else, 0, nil, sitesOf(r.Value, 0, nil, sitesOf(r.Guard, 0, nil, out)))
	}
	return out
}
