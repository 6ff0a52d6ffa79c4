package eval

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// eval evaluates an expression in the current frame.
func (e *env) eval(x check.Expr) value {
	e.c.tick()
	switch x := x.(type) {
	case *check.Const:
		if x.IsFloat {
			return real(x.Float)
		}
		return number(x.Int)
	case *check.Null:
		return null
	case *check.Index:
		if x.Slot >= len(e.idx) || e.idx[x.Slot] == unbound {
			return undef(noRule, x)
		}
		return number(e.idx[x.Slot])
	case *check.Node:
		if e.vars[x.Slot] == 0 {
			return undef(throughNull, x)
		}
		return e.node(e.vars[x.Slot])
	case *check.GlobalRef:
		o := e.g.Global(x.Global)
		if o == 0 {
			return undef(throughWild, x)
		}
		return e.node(o)
	case *check.Load:
		return e.load(x)
	case *check.FieldN:
		return e.fieldN(x)
	case *check.AddrOf:
		return e.addrOf(x)
	case *check.Attr:
		return e.attrOf(x)
	case *check.Degree:
		return e.degree(x)
	case *check.Builtin:
		return e.builtin(x)
	case *check.Unary:
		return e.unary(x)
	case *check.Binary:
		return e.binary(x)
	case *check.Cond:
		switch e.eval(x.C).tri() {
		case yes:
			return e.eval(x.X)
		case no:
			return e.eval(x.Y)
		}
		return e.eval(x.C)
	case *check.Relation:
		return e.relation(x)
	case *check.Aggregate:
		return e.aggregate(x)
	}
	return undef(noRule, x)
}

// node makes a reference to an object.
func (e *env) node(o graph.ObjID) value {
	b := e.g.Object(o)
	return value{kind: pointer, tgt: mgpp.Points, bits: uint64(b.Addr), obj: o, node: b.Host, whole: true}
}

func (e *env) load(x *check.Load) value {
	l := e.place(&x.Place, x)
	if !l.ok() {
		return l.bad
	}
	var v value
	switch {
	case e.leaves(&l):
		if e.rec != nil {
			e.rec.dep(Dep{Kind: DepBytes, Addr: l.addr, Size: 1}) // its own block may grow to there
		}
		v = undef(outsideBlock, x)
	case isPointer(x):
		v = e.loadPointer(l.obj, l.addr, x.Coded, x.Weak, x.To, elemOf(x.Type), x)
	default:
		v = e.scalar(l.addr, x.Type, x.BitOffset, x.BitSize, x)
	}
	if v.why == outsideBlock {
		for i := range x.Place.Steps {
			e.leads(outsideBlock, x.Place.Steps[i].I)
		}
		if e.rec != nil && l.obj != 0 {
			e.rec.dep(Dep{Kind: DepLife, Obj: l.obj})
		}
	}
	return v
}

// isPointer reports whether a load reads a word that leads somewhere.
func isPointer(x *check.Load) bool {
	return x.Type != nil && x.Type.Kind == types.Pointer || x.To != nil || x.Coded != coded.Plain
}

func elemOf(t *types.Type) *types.Type {
	if t == nil || t.Kind != types.Pointer {
		return nil
	}
	return t.Elem
}

// fieldN evaluates X[e]: the e-th scalar, from 1.
func (e *env) fieldN(x *check.FieldN) value {
	base := e.base(x.Base)
	if !base.ok() {
		return base.bad
	}
	n := e.eval(x.N)
	if !n.defined() {
		return n
	}
	s, off, w := scalarN(x.Of, n.int())
	if w != 0 {
		e.leads(w, x.N)
		return undef(w, x)
	}
	addr := base.addr + trace.Addr(off+s.Offset)
	if base.obj != 0 && !e.uses(base.obj, int64(addr-e.g.Object(base.obj).Addr)) {
		e.leads(outsideBlock, x.N)
		return undef(unusedElement, x)
	}
	var v value
	if s.Type.Kind == types.Pointer && !s.VTable {
		v = e.loadPointer(0, addr, x.Of.CodedAt(off+s.Offset), false, x.Of, s.Type.Elem, x)
	} else {
		v = e.scalar(addr, s.Type, s.BitOffset, s.BitSize, x)
	}
	if v.why == outsideBlock {
		e.leads(outsideBlock, x.N)
		if e.rec != nil && base.obj != 0 {
			e.rec.dep(Dep{Kind: DepLife, Obj: base.obj})
		}
	}
	return v
}

// word is the scalar of an array of unknown elements; read-only.
var word = types.Scalar{Size: 8, Type: &types.Type{Kind: types.Int, Name: "long", Size: 8, Signed: true}}

// scalarN finds the n-th scalar of a type: of an array, through its elements.
func scalarN(t *check.NodeType, n int64) (s types.Scalar, offset int64, w why) {
	if !t.Array {
		if t.Layout != nil {
			if s, ok := t.Layout.ScalarN(n); ok {
				return s, 0, 0
			}
		}
		return s, 0, outsideArray
	}
	if n < 1 || n > 1<<48 {
		return s, 0, outsideBlock
	}
	if t.Elem == nil {
		return word, (n - 1) * 8, 0
	}
	k := t.Elem.NumScalars()
	if k == 0 {
		return s, 0, notScalar
	}
	s, ok := t.Elem.ScalarN((n-1)%k + 1)
	if !ok {
		return s, 0, notScalar
	}
	return s, (n - 1) / k * t.Elem.Size, 0
}

// addrOf makes a reference to what lies at a place.
func (e *env) addrOf(x *check.AddrOf) value {
	l := e.place(&x.Place, x)
	if !l.ok() {
		return l.bad
	}
	tgt := mgpp.Target{State: mgpp.Wild, Value: uint64(l.addr)}
	if id, ok := e.v.NodeAt(l.addr); ok {
		tgt.State, tgt.Node = mgpp.Points, id
	} else if id, ok := e.v.NodeAt(l.addr - 1); ok {
		tgt.Past = id // an array without elements
	}
	v := e.pointer(tgt, nil, x.Place.Type)
	if v.obj == 0 && e.rec != nil && mayBegin(x) {
		e.rec.dep(Dep{Kind: DepBytes, Addr: l.addr, Size: uint64(max(1, x.Place.Type.Size))})
	}
	return v
}

func (e *env) unary(x *check.Unary) value {
	v := e.eval(x.X)
	if x.Op == "not" {
		switch v.tri() {
		case yes:
			return truth(false)
		case no:
			return truth(true)
		}
		return v
	}
	if !v.defined() {
		return v
	}
	switch {
	case x.Op == "~":
		return number(^v.int())
	case x.Op == "-" && v.kind == float:
		return real(-v.float())
	case x.Op == "-":
		return arithmetic("-", number(0), v, false, x)
	case v.kind == float:
		return real(max(v.float(), -v.float()))
	case v.wide || v.int() >= 0:
		return v
	}
	return arithmetic("-", number(0), v, false, x)
}

func (e *env) binary(x *check.Binary) value {
	switch x.Op {
	case "and", "or":
		return e.logic(x)
	}
	a := e.eval(x.X)
	if !a.defined() {
		if e.rec != nil {
			e.eval(x.Y)
		}
		return a
	}
	b := e.eval(x.Y)
	if !b.defined() {
		return b
	}
	if x.Elem > 0 {
		return e.ordered(x, a, b)
	}
	switch x.Op {
	case "==", "!=":
		if a.kind == pointer || b.kind == pointer {
			return truth(e.identical(a, b, x.Alike) == (x.Op == "=="))
		}
		return truth(holds(x.Op, compareNumbers(a, b, x.Unsigned)))
	case "<", "<=", ">", ">=":
		return truth(holds(x.Op, compareNumbers(a, b, x.Unsigned || a.kind == pointer)))
	case "min", "max":
		if (compareNumbers(a, b, x.Unsigned) <= 0) == (x.Op == "min") {
			return a
		}
		return b
	}
	return arithmetic(x.Op, a, b, x.Unsigned, x)
}

// logic evaluates and, or: three-valued, short-circuit where the left side
// decides.
func (e *env) logic(x *check.Binary) value {
	a := e.eval(x.X)
	decided := a.tri() == no && x.Op == "and" || a.tri() == yes && x.Op == "or"
	if decided && e.rec == nil {
		return truth(x.Op == "or")
	}
	b := e.eval(x.Y)
	switch {
	case decided:
		return truth(x.Op == "or")
	case b.tri() == no && x.Op == "and":
		return truth(false)
	case b.tri() == yes && x.Op == "or":
		return truth(true)
	case a.tri() == unknown:
		return a
	}
	return b
}

// identical compares references by what they lead to: a pointer equals a node
// if it leads into it, and another pointer if both lead into one node. Pointers of
// one type are compared as in C: to the elements of an array, or into a text.
func (e *env) identical(a, b value, alike check.Alike) bool {
	switch {
	case a.kind != pointer || b.kind != pointer:
		return a.bits == b.bits
	case a.isNull() || b.isNull():
		return a.isNull() && b.isNull()
	case alike == check.AlikeTyped, alike == check.AlikeVoid && a.obj == 0 && b.obj == 0:
		return a.bits == b.bits && (a.node == b.node && a.tgt == b.tgt || e.oneEnd(a, b))
	case a.obj != 0 && a.obj == b.obj:
		return true
	case b.whole:
		return e.into(a, b.obj)
	case a.whole:
		return e.into(b, a.obj)
	case a.obj == 0 && b.obj == 0 && a.tgt == mgpp.Points && b.tgt == mgpp.Points:
		return a.node == b.node
	}
	return a.bits == b.bits && a.node == b.node && a.tgt == b.tgt
}

// into reports whether a pointer leads into an object.
func (e *env) into(p value, o graph.ObjID) bool {
	return p.tgt == mgpp.Points && p.node == e.g.Object(o).Host && e.covers(o, p.bits) || p.obj == o
}

// covers reports whether an address lies in an object.
func (e *env) covers(o graph.ObjID, addr uint64) bool {
	b := e.g.Object(o)
	return addr >= uint64(b.Addr) && addr-uint64(b.Addr) < e.g.Size(o, e.t)
}

func (e *env) builtin(x *check.Builtin) value {
	switch x.Kind {
	case check.BuiltinTag:
		l, ok := x.Base.(*check.Load)
		if !ok {
			return undef(notScalar, x)
		}
		at := e.place(&l.Place, l)
		if !at.ok() {
			return at.bad
		}
		if w := e.read(at.addr, 8, x); w != 0 {
			return undef(w, l)
		}
		v := e.decode(8, word.Type)
		return value{kind: integer, bits: x.Coded.Tag(v.bits, uint64(at.addr))}
	case check.BuiltinExists:
		return e.exists(x)
	}
	var want *check.NodeType
	if x.Kind == check.BuiltinCount {
		want = pointee(x.Base)
	}
	o, bad := e.object(x.Base, want)
	switch {
	case o == 0 && x.Kind == check.BuiltinCount && bad.why == throughNull:
		return number(0) // NULL has no elements
	case o == 0:
		return bad
	}
	if e.rec != nil {
		e.rec.dep(Dep{Kind: DepLife, Obj: o})
	}
	switch x.Kind {
	case check.BuiltinSize:
		return number(int64(e.g.Size(o, e.t)))
	case check.BuiltinCount:
		lo, hi := e.part(o)
		return number((hi - lo) / elemSize(e.g.Object(o).Type))
	}
	return number(e.dangling(o))
}

func elemSize(t *check.NodeType) int64 {
	if t != nil && t.Elem != nil && t.Elem.Size > 0 {
		return t.Elem.Size
	}
	return 8
}

// exists evaluates (X.f).EXISTS: points into a live node or declared object.
// It is never undefined.
func (e *env) exists(x *check.Builtin) value {
	p := e.eval(x.Base)
	if !p.defined() || p.kind != pointer {
		return truth(false)
	}
	return truth(p.obj != 0 || p.tgt == mgpp.Points && e.ended(p) == 0 || e.spares(p))
}

// dangling counts the edge cells of o that hold something else than an edge or
// NULL. A pointer to void may lead to any live block.
func (e *env) dangling(o graph.ObjID) int64 {
	n := int64(0)
	e.eachDangling(o, func(*check.EdgeCell, int64, value) bool {
		n++
		return true
	})
	return n
}

// eachDangling calls f for these cells, until it returns false.
func (e *env) eachDangling(o graph.ObjID, f func(c *check.EdgeCell, elem int64, p value) bool) {
	typ := e.g.Object(o).Type
	if typ == nil {
		return
	}
	for i := range typ.Edges {
		c := &typ.Edges[i]
		if !graph.Counts(typ, c, nil) {
			continue
		}
		for k, end := int64(0), graph.Elems(c, e.g.Size(o, e.t)); k < end; k++ {
			if e.applies(o, c, k) != yes {
				continue
			}
			if e.rec != nil {
				e.rec.dep(Dep{Kind: DepBytes, Addr: e.g.CellAddr(o, c, k), Size: 8})
			}
			tgt := e.v.Target(e.g.CellAddr(o, c, k), c.Coded)
			if tgt.State == mgpp.Unwritten {
				continue
			}
			p := e.pointer(tgt, nil, c.Elem)
			if e.rec != nil {
				e.recordTarget(p)
			}
			if e.strays(c, p) && !e.leftOver(o, tgt.Since) && !e.spares(p) && !f(c, k, p) {
				return
			}
		}
	}
}

// leftOver reports whether what was written to a node at t is what lay in its block when an allocator of the program's own
// gave it out: as in a new block of malloc's, a pointer there that the program has not stored since means nothing.
func (e *env) leftOver(o graph.ObjID, t mgpp.Timestamp) bool {
	b := e.g.Object(o)
	if b.Host == 0 || b.Type.Intrusive {
		return false
	}
	n, ok := e.v.Node(b.Host)
	return ok && n.Alloc != "" && !n.Before && !n.Tracked && n.Global == 0 && e.c.hist.Op(t).Name == trace.UnrecordedWrite
}

// strays reports whether a cell's pointer leads to nothing that it may lead to.
func (e *env) strays(c *check.EdgeCell, p value) bool {
	switch {
	case p.isNull() || p.obj != 0 || c.Weak && e.expired(p):
		return false
	case c.Elem == nil || c.Part:
		return p.tgt != mgpp.Points || e.ended(p) != 0
	}
	return true
}
