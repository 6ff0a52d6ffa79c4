package eval

import (
	"encoding/binary"
	"math"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// env evaluates expressions on one view. It remembers what is dear: attributes,
// reachability, sentinels. It is not safe for concurrent use.
type env struct {
	c       *Checker
	g       *graph.Graph
	v       mgpp.View
	t       mgpp.Timestamp
	changed []graph.Span // nil: v is the history's own
	own     mgpp.View    // the history's own view at t

	vars   []graph.ObjID // the current frame's variables, by slot; 0: not bound
	idx    []int64       // its indices; unbound: not bound
	spread bool          // bindings are met in an order of which each part is spread over all of them,
	enough bool          // and no more are wanted: see Tallies
	frames []frame
	used   int

	data  [16]byte
	flags [16]bool
	bytes mgpp.Bytes // scratch over data and flags

	rec     *recorder                          // nil: dependencies are not wanted
	held    []bool                             // the checker's: see GuardHeld
	outside bool                               // an index of a loop led outside the allocation
	cost    uint64                             // nodes visited by path searches
	spared  func(trace.Addr, mgpp.NodeID) bool // see Sparing; nil: nothing is

	attrs    attributes
	beneath  map[attrKey]beneath        // those that were asked for
	below    map[attrKey][]Dep          // what readsOf returned
	depBuf   []Dep                      // scratch of that
	now      mgpp.Timestamp             // how much history there was: more of it changes what is alive
	pops     [][]graph.ObjID            // populations by type
	nils     *[]nilNode                 // sentinels that fields name; nil: not computed
	sums     map[*check.Aggregate]value // aggregates over no outer variable
	reaches  map[pathKey]map[graph.ObjID]bool
	trails   map[trailKey]*trail
	sweeps   map[sweepKey]*sweep // nil: its start was asked for once
	sweeping int                 // how many are not
	refs     [][]graph.Ref       // scratch by depth of use
	depth    int
	filled   filled // the array last asked about
	parts    parts  // the cell last asked about
}

const unbound = math.MinInt64

// nilNode is a node that stands for NULL, or a member of one.
type nilNode struct {
	node   mgpp.NodeID // 0: none, where a member lies in an object in static memory or on a stack
	obj    graph.ObjID
	lo, hi trace.Addr  // of a member, half-open; hi 0: the whole node
	holder graph.ObjID // what the member is of; 0 for a whole node
}

func (n nilNode) within(a trace.Addr) bool { return n.hi == 0 || a >= n.lo && a < n.hi }

func newEnv(c *Checker, v mgpp.View) *env {
	e := &env{c: c, g: c.g, held: c.held}
	changed := graph.Changed(v)
	e.attrs.init(len(c.spec.Attributes), changed != nil)
	e.push()
	e.reset(v, changed)
	return e
}

// reset moves e to another view, which differs from the history's in some places (nil: it is that),
// and forgets everything but attributes.
func (e *env) reset(v mgpp.View, changed []graph.Span) {
	e.v, e.t, e.changed, e.own = v, v.Time(), changed, v
	if changed != nil {
		e.own = e.c.hist.At(e.t)
	}
	e.now = e.g.Now()
	e.nils, e.pops = nil, nil
	clear(e.sums)
	clear(e.reaches)
	clear(e.trails)
	clear(e.sweeps)
	e.sweeping = 0
	e.filled, e.parts = filled{}, parts{list: e.parts.list}
	e.bytes.Written = e.flags[:0]
}

// frame is the variables and indices of a constraint or rule.
type frame struct {
	vars []graph.ObjID
	idx  []int64
}

// push begins a frame in which nothing is bound.
func (e *env) push() {
	if e.used == len(e.frames) {
		e.frames = append(e.frames, frame{make([]graph.ObjID, e.c.slots), make([]int64, e.c.indices)})
	}
	f := e.frames[e.used]
	e.used++
	e.vars, e.idx = f.vars, f.idx
	e.clearFrame()
}

// pop returns to the frame before.
func (e *env) pop() {
	e.used--
	f := e.frames[e.used-1]
	e.vars, e.idx = f.vars, f.idx
}

// clearFrame unbinds everything.
func (e *env) clearFrame() {
	clear(e.vars)
	for i := range e.idx {
		e.idx[i] = unbound
	}
}

// read fills e.data with n bytes at addr.
func (e *env) read(addr trace.Addr, n int64, at check.Expr) why {
	if e.rec != nil {
		e.rec.dep(Dep{Kind: DepBytes, Addr: addr, Size: uint64(n)})
	}
	e.bytes.Data = e.data[:n]
	e.bytes.Written = e.flags[:n]
	v := e.v
	if !e.differs(addr, n) {
		v = e.own
	}
	if !v.Read(addr, &e.bytes) {
		return outsideBlock
	}
	for _, w := range e.bytes.Written {
		if !w {
			return unwritten
		}
	}
	return 0
}

// differs reports whether the view may have other bytes at an address than the history had: nothing else need be asked of
// a hypothetical view, which looks through all that it changes.
func (e *env) differs(addr trace.Addr, n int64) bool {
	for i := range e.changed {
		if s := &e.changed[i]; addr+trace.Addr(n) > s.Lo && addr < s.Hi {
			return true
		}
	}
	return false
}

// location is where a place lies.
type location struct {
	addr trace.Addr
	obj  graph.ObjID // the object that its base is, 0 if unknown
	bad  value       // not 0: why there is no place

	// An index that nothing but the end of the block bounds led here from the element 0 at from.
	open  bool
	from  trace.Addr
	block mgpp.NodeID // it began at the end of this block; 0: in what lies there
}

func (l *location) ok() bool { return l.bad.why == 0 }

// place evaluates where p lies.
func (e *env) place(p *check.Place, at check.Expr) location {
	if n, ok := p.Base.(*check.Node); ok && len(p.Steps) == 0 && p.Cell == nil && e.vars[n.Slot] != 0 { // the common case
		if o := e.g.Object(e.vars[n.Slot]); o.Type == nil || !o.Type.Array {
			return location{addr: o.Addr + trace.Addr(p.Offset), obj: o.ID}
		}
	}
	l := e.baseOf(p)
	if !l.ok() {
		return l
	}
	start := l.addr
	if !l.open {
		l.from = l.addr
	}
	l.addr += trace.Addr(p.Offset)
	for i := range p.Steps {
		s := &p.Steps[i]
		n := e.eval(s.I)
		if !n.defined() {
			l.bad = n
			return l
		}
		if k := n.int(); s.Count >= 0 && (k < 0 || k >= s.Count) {
			l.bad = undef(outsideArray, at)
			return l
		}
		l.addr += trace.Addr(n.int() * s.Stride)
		l.open = l.open || s.Count < 0
		if s.Count < 0 && n.int() < 0 && !s.Back {
			e.leads(outsideBlock, s.I)
			l.bad = undef(outsideBlock, at)
			return l
		}
	}
	if l.obj != 0 && !e.uses(l.obj, int64(l.addr-e.g.Object(l.obj).Addr)) {
		for i := range p.Steps {
			e.leads(outsideBlock, p.Steps[i].I)
		}
		l.bad = undef(unusedElement, at)
	}
	if p.Cell != nil && l.obj != 0 && p.Cell.Stride > 0 {
		if isArray(e.g, l.obj) { // a pointer may lead into the middle of it
			start = e.g.Object(l.obj).Addr
		}
		elem := (int64(l.addr-start) - p.Cell.Offset) / p.Cell.Stride
		if e.applies(l.obj, p.Cell, elem) != yes {
			l.bad = undef(staleCell, at)
		}
	}
	return l
}

// leaves reports whether an index has led out of the block in which it began: into another one, where
// something can be read that is no element.
func (e *env) leaves(l *location) bool {
	if !l.open {
		return false
	}
	if o := l.obj; o != 0 && uint64(l.addr-e.g.Object(o).Addr) < e.g.Size(o, e.t) {
		return false
	}
	begin, ok := l.block, l.block != 0
	if !ok {
		begin, ok = e.v.NodeAt(l.from)
	}
	if !ok {
		return false // on a stack, say: Read knows
	}
	at, ok := e.v.NodeAt(l.addr)
	return ok && at != begin
}

// baseOf is base for a place: an index below 0 goes back into the block at whose end the pointer stands.
func (e *env) baseOf(p *check.Place) location {
	if len(p.Steps) == 0 || !p.Steps[0].Back {
		return e.base(p.Base)
	}
	v := e.eval(p.Base)
	if n := e.eval(p.Steps[0].I); n.defined() && n.int() < 0 {
		if id := e.endsAt(v); id != 0 {
			last := value{kind: pointer, tgt: mgpp.Points, bits: v.bits - 1, node: id}
			l := e.follow(last, pointee(p.Base), p.Base)
			l.addr, l.block = trace.Addr(v.bits), id
			return l
		}
	}
	l := e.follow(v, pointee(p.Base), p.Base)
	e.leads(l.bad.why, p.Steps[0].I)
	return l
}

// leads notes that an index of a loop led outside the allocation.
func (e *env) leads(w why, i check.Expr) {
	if w == outsideBlock && usesIndex(i) {
		e.outside = true
	}
}

// base evaluates what a place hangs off: a node, a global, or a pointer, which
// is followed.
func (e *env) base(x check.Expr) location {
	switch x := x.(type) {
	case *check.Node:
		o := e.vars[x.Slot]
		if o == 0 {
			return location{bad: undef(throughNull, x)}
		}
		return location{addr: e.g.Object(o).Addr, obj: o}
	case *check.GlobalRef:
		o := e.g.Global(x.Global)
		if o == 0 {
			return location{bad: undef(throughWild, x)}
		}
		return location{addr: e.g.Object(o).Addr, obj: o}
	case *check.AddrOf:
		return e.place(&x.Place, x)
	}
	return e.follow(e.eval(x), pointee(x), x)
}

// pointee returns the declared type that a pointer expression leads to, nil if
// it has none.
func pointee(x check.Expr) *check.NodeType {
	switch x := x.(type) {
	case *check.Load:
		return x.To
	case *check.FieldN:
		return x.To
	case *check.Cond:
		return pointee(x.X)
	}
	return nil
}

// follow returns where a pointer leads; to a node of type to, or of a class that derives
// from it, if one is expected.
func (e *env) follow(p value, to *check.NodeType, at check.Expr) location {
	if !p.defined() {
		return location{bad: p}
	}
	if p.kind != pointer {
		return location{bad: undef(notExpected, at)}
	}
	switch p.tgt {
	case mgpp.Null:
		return location{bad: undef(throughNull, at)}
	case mgpp.Dangling:
		return location{bad: e.dead(p, at)}
	}
	l := location{addr: trace.Addr(p.bits), obj: p.obj}
	if to != nil && (p.obj == 0 || !e.g.Object(p.obj).Type.Is(to)) {
		l.obj = e.g.ObjectOf(e.t, mgpp.Target{State: p.tgt, Value: p.bits, Node: p.node}, to)
		if l.obj != 0 {
			return l
		}
		if o := e.ended(p); o != 0 && e.g.Object(o).Type.Is(to) { // nothing has to be declared for it to be one
			l.bad = undef(throughDead, at)
			return l
		}
		l.bad = undef(notExpected, at)
		if l.bad.bits = p.bits; p.tgt == mgpp.Points {
			l.bad.node = p.node
		}
		return l
	}
	if p.tgt == mgpp.Wild && p.obj == 0 {
		l.bad = undef(throughWild, at)
		if _, _, ok := e.extent(p.node); ok {
			l.bad.why = outsideBlock
		}
		l.bad.bits = p.bits
	}
	return l
}

// dead is what is read through a pointer that dangles.
func (e *env) dead(p value, at check.Expr) value {
	v := undef(throughDead, at)
	if _, local := trace.Local(e.c.hist.Node(p.node).Alloc); local {
		v.bits = p.bits // destroyed, and the function still runs: what lies there now, nobody knows
	}
	return v
}

// object evaluates a node or a pointer to one, of type want if that is not nil.
func (e *env) object(x check.Expr, want *check.NodeType) (graph.ObjID, value) {
	switch x := x.(type) {
	case *check.Node:
		if o := e.vars[x.Slot]; o != 0 {
			return o, value{}
		}
		return 0, undef(throughNull, x)
	case *check.GlobalRef, *check.AddrOf:
		p := e.eval(x)
		return e.objectOf(p, want, x)
	}
	return e.objectOf(e.eval(x), want, x)
}

// objectOf returns the object that a pointer leads into. value is undefined
// where there is none, and says why.
func (e *env) objectOf(p value, want *check.NodeType, at check.Expr) (graph.ObjID, value) {
	l := e.follow(p, want, at)
	switch {
	case !l.ok():
		return 0, l.bad
	case l.obj == 0, want != nil && e.g.Object(l.obj).Type != want: // what is computed of nodes, is so of each type for itself
		return 0, undef(notExpected, at)
	}
	return l.obj, value{}
}

// loadPointer reads the pointer cell at addr, which lies in an object, or in one that is not known (0).
func (e *env) loadPointer(in graph.ObjID, addr trace.Addr, as coded.Pointer, weak bool, to *check.NodeType, elem *types.Type, at check.Expr) value {
	if e.rec != nil {
		e.rec.dep(Dep{Kind: DepBytes, Addr: addr, Size: 8})
	}
	v := e.v
	if !e.differs(addr, 8) {
		if v = e.own; in != 0 && as == coded.Plain {
			if o, word, known := e.g.Leads(in, addr, e.t); known {
				return e.led(o, word, elem)
			}
		}
	}
	tgt := v.Target(addr, as)
	if tgt.State == mgpp.Unwritten {
		e.bytes.Data, e.bytes.Written = e.data[:8], e.flags[:8]
		if !e.v.Read(addr, &e.bytes) {
			return undef(outsideBlock, at)
		}
		return undef(unwritten, at)
	}
	p := e.pointer(tgt, to, elem)
	if e.rec != nil {
		e.recordTarget(p)
	}
	if weak && e.expired(p) {
		return null
	}
	return p
}

// led makes a value of a pointer that leads to an object, the only one of its block.
func (e *env) led(o graph.ObjID, word uint64, elem *types.Type) value {
	if o == 0 {
		return null
	}
	node := e.g.Object(o).Host
	p := value{kind: pointer, tgt: mgpp.Points, bits: word, node: node, obj: o}
	if e.isNil(mgpp.Target{State: mgpp.Points, Value: word, Node: node}, elem) {
		p = null
	}
	if e.rec != nil {
		e.recordTarget(p)
	}
	return p
}

// expired reports whether a weak pointer leads to what lives no more.
func (e *env) expired(p value) bool {
	return p.kind == pointer && p.obj == 0 && (p.tgt == mgpp.Dangling || e.ended(p) != 0)
}

// ended returns the object of a block to which a pointer leads, if that has ended and the
// block lives on; 0 otherwise.
func (e *env) ended(p value) graph.ObjID {
	if o := e.former(p); o != 0 && !e.g.Alive(o, e.t) {
		return o
	}
	return 0
}

// former returns the object of a block to which a pointer leads without being one to it: another type's, or one that has ended
// and whose block lives on; 0 if there was none by then.
func (e *env) former(p value) graph.ObjID {
	if p.tgt != mgpp.Points || p.obj != 0 {
		return 0
	}
	if o := e.g.FormerAt(p.node, p.bits); o != 0 && e.g.Object(o).Birth <= e.t {
		return o
	}
	return 0
}

// valueOf is a pointer without the object that it leads to.
func valueOf(tgt mgpp.Target) value {
	p := value{kind: pointer, tgt: tgt.State, bits: tgt.Value, node: tgt.Node}
	if tgt.State == mgpp.Wild {
		p.node = tgt.Past
	}
	return p
}

// pointer makes a value of what a cell leads to.
func (e *env) pointer(tgt mgpp.Target, to *check.NodeType, elem *types.Type) value {
	if tgt.State == mgpp.Null || e.isNil(tgt, elem) {
		return null
	}
	p := valueOf(tgt)
	if to != nil {
		p.obj = e.g.ObjectOf(e.t, tgt, to)
	}
	if p.obj == 0 {
		p.obj = e.g.Resolve(e.t, tgt, elem, to)
	}
	return p
}

// recordTarget notes the lives that a pointer's meaning depends on.
func (e *env) recordTarget(p value) {
	switch {
	case p.obj != 0:
		e.rec.dep(Dep{Kind: DepLife, Obj: p.obj})
	case p.node != 0:
		e.rec.dep(Dep{Kind: DepLife, Node: p.node})
		if o := e.former(p); o != 0 { // it may end before its block, and not be led to then
			e.rec.dep(Dep{Kind: DepLife, Obj: o})
		}
	}
	if p.kind == pointer && p.tgt != mgpp.Null {
		// What has left may lie in what has not: in a declared global, say.
		if o := e.g.Covered(trace.Addr(p.bits), e.t); o != 0 && o != p.obj {
			e.rec.dep(Dep{Kind: DepLife, Obj: o})
		}
	}
}

// isNil reports whether a pointer to a type leads to a sentinel.
func (e *env) isNil(tgt mgpp.Target, elem *types.Type) bool {
	if e.g.IsNil(tgt.Value) {
		return true
	}
	if !e.c.fieldNils || tgt.State != mgpp.Points && tgt.State != mgpp.Wild {
		return false
	}
	for _, n := range e.sentinels() {
		if n.node == tgt.Node && n.within(trace.Addr(tgt.Value)) && (n.obj == 0 || n.obj == e.g.ObjectOf(e.t, tgt, e.g.Object(n.obj).Type)) &&
			!(n.holder != 0 && e.g.Begins(n.holder, trace.Addr(tgt.Value), elem)) {
			return true
		}
	}
	return false
}

// StandsForNull reports whether a pointer to a type (nil: unknown) leads to a sentinel in a view.
func (c *Checker) StandsForNull(tgt mgpp.Target, elem *types.Type, v mgpp.View) bool {
	return len(c.spec.Nils) > 0 && c.env(v).isNil(tgt, elem)
}

// sentinels returns the nodes that fields name as standing for NULL.
func (e *env) sentinels() []nilNode {
	if e.nils != nil {
		return *e.nils
	}
	found := []nilNode{}
	for i := range e.c.spec.Nils {
		n := &e.c.spec.Nils[i]
		if n.Type == nil || n.Place == nil {
			continue
		}
		off := graph.StaticOffset(n.Place)
		for _, o := range e.holders(n.Type) {
			if n.Size > 0 {
				b := e.g.Object(o)
				lo := b.Addr + trace.Addr(off)
				found = append(found, nilNode{node: b.Host, lo: lo, hi: lo + trace.Addr(n.Size), holder: o})
				continue
			}
			tgt := e.v.Target(e.g.Object(o).Addr+trace.Addr(off), coded.Plain)
			if tgt.State == mgpp.Points {
				found = append(found, nilNode{node: tgt.Node, obj: e.g.Resolve(e.t, tgt, nil, n.Type)})
			}
		}
	}
	e.nils = &found
	return found
}

// recordNils notes what makes nodes stand for NULL.
func (e *env) recordNils() {
	for i := range e.c.spec.Nils {
		n := &e.c.spec.Nils[i]
		if n.Type == nil || n.Place == nil {
			continue
		}
		e.rec.dep(Dep{Kind: DepPopulation, Type: n.Type.Index})
		if n.Size > 0 {
			continue // it lies where its holder lies
		}
		for _, o := range e.holders(n.Type) {
			e.rec.dep(Dep{Kind: DepBytes, Addr: e.g.Object(o).Addr + trace.Addr(graph.StaticOffset(n.Place)), Size: 8})
		}
		for _, s := range e.sentinels() {
			e.rec.dep(Dep{Kind: DepLife, Node: s.node})
		}
	}
}

// holders returns the live objects of a type, globals included.
func (e *env) holders(t *check.NodeType) []graph.ObjID {
	out := e.g.Live(t, e.t, nil)
	for i := range e.c.spec.Globals {
		if o := e.g.Global(i); o != 0 && e.g.Object(o).Type == t && e.g.Alive(o, e.t) {
			out = append(out, o)
		}
	}
	return out
}

// isSentinel reports whether an object stands for NULL: no variable binds it.
func (e *env) isSentinel(o graph.ObjID) bool {
	b := e.g.Object(o)
	if e.g.IsNil(uint64(b.Addr)) {
		return true
	}
	if e.c.fieldNils {
		for _, n := range e.sentinels() {
			if n.node == b.Host && n.within(b.Addr) && (n.obj == 0 || n.obj == o) && n.holder != o {
				return true
			}
		}
	}
	return false
}

// scalar reads a number.
func (e *env) scalar(addr trace.Addr, t *types.Type, bitOffset, bitSize int, at check.Expr) value {
	if t == nil {
		return undef(notScalar, at)
	}
	n := t.Stored()
	if bitSize > 0 {
		addr += trace.Addr(bitOffset / 8)
		bitOffset %= 8
		n = int64(bitOffset+bitSize+7) / 8
	}
	if n <= 0 || n > 16 {
		return undef(notScalar, at)
	}
	if w := e.read(addr, n, at); w != 0 {
		return undef(w, at)
	}
	if bitSize == 0 && n <= 8 && t.Kind != types.Float {
		return e.decode(n, t)
	}
	d := t.Decode(e.data[:n], bitOffset, bitSize)
	switch {
	case !d.Defined():
		return undef(notScalar, at)
	case t.Kind == types.Float:
		if math.IsNaN(d.Float) {
			return undef(notANumber, at)
		}
		return real(d.Float)
	}
	k, ok := d.Int()
	if !ok {
		return undef(overflow, at)
	}
	return value{kind: integer, bits: uint64(k), wide: !d.Signed() && k < 0}
}

// decode reads the integer of n <= 8 bytes in e.data.
func (e *env) decode(n int64, t *types.Type) value {
	var u uint64
	switch n {
	case 1:
		u = uint64(e.data[0])
	case 2:
		u = uint64(binary.LittleEndian.Uint16(e.data[:]))
	case 4:
		u = uint64(binary.LittleEndian.Uint32(e.data[:]))
	case 8:
		u = binary.LittleEndian.Uint64(e.data[:])
	default:
		for i := n - 1; i >= 0; i-- {
			u = u<<8 | uint64(e.data[i])
		}
	}
	if t.Kind == types.Int || t.Kind == types.Enum && t.Signed {
		shift := uint(64 - 8*n)
		return number(int64(u<<shift) >> shift)
	}
	return value{kind: integer, bits: u, wide: u > math.MaxInt64}
}

// inRefs returns the pointer cells that lead to o, on which what asks depends. Give the result back with
// done when it has been read.
func (e *env) inRefs(o graph.ObjID) []graph.Ref {
	if e.rec != nil {
		e.rec.dep(Dep{Kind: DepIn, Obj: o})
	}
	if e.depth == len(e.refs) {
		e.refs = append(e.refs, nil)
	}
	e.refs[e.depth] = e.g.AppendRefs(e.v, e.changed, o, e.refs[e.depth][:0])
	e.depth++
	return e.refs[e.depth-1]
}

func (e *env) done() { e.depth-- }

// recorder collects what an evaluation depends on.
type recorder struct {
	deps   []Dep
	id     uint64                    // of this recorder, see trail.told; 0: it follows no trail
	seen   *depSet                   // nil as long as there are few
	whole  *depSet                   // those of a whole trail, which are not in seen; nil: there is none
	room   *depSet                   // empty, for seen; nil: it is made
	counts map[*check.Aggregate]bool // walked
}

func newRecorder() *recorder { return &recorder{} }

// record returns the recorder of an evaluation, which is over before the next one begins.
func (c *Checker) record() *recorder {
	c.records++
	if c.depRoom == nil || len(c.depRoom.slots) > manyDeps {
		c.depRoom = &depSet{}
	}
	c.depRoom.empty()
	return &recorder{id: c.records, room: c.depRoom}
}

const (
	// fewDeps is how many dependencies are looked through one by one.
	fewDeps = 16
	// manyDeps is for how many a set may have room that is used again.
	manyDeps = 1 << 16
)

// depKey is what a Dep is, in two words.
type depKey struct{ a, b uint64 }

func (d *Dep) key() depKey {
	if d.Kind == DepBytes {
		return depKey{uint64(d.Addr), d.Size<<8 | uint64(d.Kind)}
	}
	return depKey{uint64(d.Obj)<<32 | uint64(d.Node), uint64(d.Type)<<8 | uint64(d.Kind)}
}

func (r *recorder) dep(d Dep) {
	if r.whole.has(d.key()) {
		return
	}
	if r.seen == nil {
		if slices.Contains(r.deps, d) {
			return
		}
		r.deps = append(r.deps, d)
		if len(r.deps) == fewDeps {
			r.index()
		}
		return
	}
	if r.seen.add(d.key()) {
		r.deps = append(r.deps, d)
	}
}

// index has seen know the dependencies that there are.
func (r *recorder) index() {
	if r.seen = r.room; r.seen == nil {
		r.seen = &depSet{}
		r.seen.empty()
	}
	for i := range r.deps {
		r.seen.add(r.deps[i].key())
	}
}

func (r *recorder) all(deps []Dep) {
	for _, d := range deps {
		r.dep(d)
	}
}

// trail is all for what a whole trail read, with the keys of that.
func (r *recorder) trail(deps []Dep, keys *depSet) {
	if r.whole != nil || len(r.deps) > fewDeps || len(deps) <= fewDeps {
		r.all(deps)
		return
	}
	had := len(r.deps)
	if r.seen == nil {
		r.index()
	}
	common := slices.ContainsFunc(r.deps, func(d Dep) bool { return keys.has(d.key()) })
	r.whole = keys
	r.deps = slices.Grow(r.deps, len(deps)+fewDeps)
	if !common {
		r.deps = append(r.deps, deps...)
		return
	}
	for _, d := range deps {
		if !slices.Contains(r.deps[:had], d) {
			r.deps = append(r.deps, d)
		}
	}
}

// walks notes that an aggregate is walked through. It is false where one has been.
func (r *recorder) walks(x *check.Aggregate) bool {
	if r.counts[x] {
		return false
	}
	if r.counts == nil {
		r.counts = map[*check.Aggregate]bool{}
	}
	r.counts[x] = true
	return true
}

func (r *recorder) attr(k attrKey) { r.dep(Dep{Kind: DepAttr, Obj: k.obj, Type: int(k.attr)}) }
