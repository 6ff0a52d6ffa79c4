package eval

import (
	"math"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// relation evaluates X -> Y and its kin. "No edge" and "no path" from NULL are
// true; from anything else that is no node they are undefined.
func (e *env) relation(x *check.Relation) value {
	from, bad := e.object(x.From, nil)
	if from == 0 || e.g.Object(from).Type == nil {
		if bad.why == throughNull {
			return truth(x.Not) // nothing is led to by NULL
		}
		if from != 0 {
			bad = undef(notExpected, x.From)
			if o := e.g.Object(from); pointee(x.From) != nil { // a pointer to an element of an array: see Result.Through
				bad.bits, bad.node = uint64(o.Addr), o.Host
			}
		}
		return bad
	}
	to, bad := e.object(x.To, nil)
	if to == 0 {
		if bad.why == throughNull || bad.why == throughDead || bad.why == throughWild || bad.why == notExpected {
			return truth(x.Not) // nothing leads to what is no node
		}
		return bad
	}
	if x.Path {
		return truth(e.path(x, from, to) != x.Not)
	}
	return truth(e.edge(from, to, x.Fields) != x.Not)
}

// edge reports whether a counting cell of one object leads to the other.
func (e *env) edge(from, to graph.ObjID, fields []check.Field) bool {
	typ := e.g.Object(from).Type
	size := e.g.Size(from, e.t)
	found := false
	for i := range typ.Edges {
		c := &typ.Edges[i]
		if !counts(typ, i, fields) {
			continue
		}
		for k, n := int64(0), graph.Elems(c, size); k < n; k++ {
			if e.leadsTo(from, c, k, to) {
				if e.rec == nil {
					return true
				}
				found = true
			}
		}
	}
	return found
}

// counts reports whether the i-th edge cell of a type is one of the fields, or
// counts by default.
func counts(t *check.NodeType, i int, fields []check.Field) bool {
	if fields == nil {
		return t.Default == 0 || i < t.Default
	}
	for _, f := range fields {
		if f.Means(t, &t.Edges[i]) {
			return true
		}
	}
	return false
}

// cell returns the object that an element of an edge cell leads to, 0 if none.
func (e *env) cell(from graph.ObjID, c *check.EdgeCell, k int64) (graph.ObjID, value) {
	if e.applies(from, c, k) != yes {
		return 0, value{}
	}
	addr := e.g.CellAddr(from, c, k)
	if e.rec != nil {
		e.rec.dep(Dep{Kind: DepBytes, Addr: addr, Size: 8})
	}
	p, ok := e.ledBy(from, c, addr)
	if !ok {
		return 0, value{}
	}
	if e.rec != nil {
		e.recordTarget(p)
	}
	if p.obj != 0 && e.g.Object(p.obj).Type == nil {
		return 0, p // a global of no declared type is no node of a structure
	}
	return p.obj, p
}

// ledBy is the pointer in an edge cell; it is not ok if that is NULL, or stands for it.
func (e *env) ledBy(from graph.ObjID, c *check.EdgeCell, addr trace.Addr) (p value, ok bool) {
	v := e.v
	if !e.differs(addr, 8) {
		if v = e.own; c.Coded == coded.Plain {
			if o, word, known := e.g.Leads(from, addr, e.t); known {
				node := e.g.Object(o).Host
				p = value{kind: pointer, tgt: mgpp.Points, bits: word, node: node, obj: o}
				return p, o != 0 && !e.isNil(mgpp.Target{State: mgpp.Points, Value: word, Node: node}, c.Elem)
			}
		}
	}
	tgt := v.Target(addr, c.Coded)
	if tgt.State == mgpp.Null || tgt.State == mgpp.Unwritten || e.isNil(tgt, c.Elem) {
		return p, false
	}
	p = valueOf(tgt)
	p.obj = e.g.Resolve(e.t, tgt, c.Elem, e.g.Object(from).Type)
	return p, true
}

// leadsTo reports whether an element of a cell leads into an object.
func (e *env) leadsTo(from graph.ObjID, c *check.EdgeCell, k int64, to graph.ObjID) bool {
	o, p := e.cell(from, c, k)
	return o == to || o != 0 && e.g.Object(o).Host == e.g.Object(to).Host && e.covers(to, p.bits)
}

// degree evaluates X.INDEGREE and X.OUTDEGREE: edges between nodes of one
// structure.
func (e *env) degree(x *check.Degree) value {
	o, bad := e.object(x.Base, nil)
	if o == 0 {
		return bad
	}
	typ := e.g.Object(o).Type
	if typ == nil {
		return undef(notExpected, x.Base)
	}
	if x.In {
		return number(e.inDegree(o, typ, x.Fields))
	}
	return number(e.outDegree(o, typ, x.Fields))
}

func (e *env) inDegree(o graph.ObjID, typ *check.NodeType, fields []check.Field) int64 {
	n := int64(0)
	refs := e.inRefs(o)
	for i := range refs {
		if e.counted(&refs[i], typ, fields) {
			n++
		}
	}
	e.done()
	return n
}

// counted reports whether a pointer cell is an edge of o's structure.
func (e *env) counted(r *graph.Ref, typ *check.NodeType, fields []check.Field) bool {
	if !r.Edge {
		return false
	}
	from := e.g.Object(r.From).Type
	return from != nil && from.Group == typ.Group && e.g.Alive(r.From, e.t) &&
		graph.Counts(from, r.Cell, fields) && e.applies(r.From, r.Cell, r.Elem) == yes && !e.isSentinel(r.From)
}

func (e *env) outDegree(o graph.ObjID, typ *check.NodeType, fields []check.Field) int64 {
	n, size := int64(0), e.g.Size(o, e.t)
	for i := range typ.Edges {
		if !counts(typ, i, fields) {
			continue
		}
		c := &typ.Edges[i]
		for k, end := int64(0), graph.Elems(c, size); k < end; k++ {
			if to, _ := e.cell(o, c, k); to != 0 && e.g.Object(to).Type.Group == typ.Group {
				n++
			}
		}
	}
	return n
}

// successors appends the objects that o's edges lead to, over all declared
// types.
func (e *env) successors(o graph.ObjID, fields []check.Field, buf []graph.ObjID) []graph.ObjID {
	return e.successorsIn(o, fields, 0, math.MaxInt64, buf)
}

// successorsBy is successors by those cells only that d touches, if that is not nil.
func (e *env) successorsBy(o graph.ObjID, fields []check.Field, d *graph.Dirt, buf []graph.ObjID) []graph.ObjID {
	if d == nil || d.Life {
		return e.successors(o, fields, buf)
	}
	d.EachPart(e.g.Size(o, e.t), func(lo, hi int64) { buf = e.successorsIn(o, fields, lo, hi, buf) })
	return buf
}

// successorsIn is successors by those cells only that overlap the bytes [lo, hi) of o.
func (e *env) successorsIn(o graph.ObjID, fields []check.Field, lo, hi int64, buf []graph.ObjID) []graph.ObjID {
	typ := e.g.Object(o).Type
	if typ == nil {
		return buf
	}
	size := e.g.Size(o, e.t)
	for i := range typ.Edges {
		if !counts(typ, i, fields) {
			continue
		}
		c := &typ.Edges[i]
		for k, end := graph.Overlap(c, lo, hi, size); k < end; k++ {
			if to, _ := e.cell(o, c, k); to != 0 {
				buf = append(buf, to)
			}
		}
	}
	return buf
}

// predecessors appends the objects with edges to o.
func (e *env) predecessors(o graph.ObjID, fields []check.Field, buf []graph.ObjID) []graph.ObjID {
	refs := e.inRefs(o)
	for i := range refs {
		if e.isEdge(&refs[i], fields) {
			buf = append(buf, refs[i].From)
		}
	}
	e.done()
	return buf
}

// isEdge reports whether a pointer cell is an edge by one of the fields.
func (e *env) isEdge(r *graph.Ref, fields []check.Field) bool {
	from := e.g.Object(r.From).Type
	return r.Edge && from != nil && e.g.Alive(r.From, e.t) && graph.Counts(from, r.Cell, fields) && e.applies(r.From, r.Cell, r.Elem) == yes
}
