package query

import (
	"fmt"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// Cell is what a path leads to at a time.
type Cell struct {
	Name string // "qdtree#1.child[0]"; an address where no node is
	Node mgpp.NodeID
	Dead bool // the node has died before that time
	Addr trace.Addr
	Size uint64      // bytes
	Type *types.Type // nil: unknown

	// as is what the path says that lies there, where the layout of the node does not, as of a
	// union's member, or where it is a bit-field, beside others in the same bytes; else its Type
	// is nil.
	as types.Scalar
}

// field is the cell as the field that the path says.
func (c Cell) field() Field { return Field{Addr: c.Addr, Size: c.Size, scalar: c.as} }

// ResolveError says where a path ends, and why.
type ResolveError struct {
	Path string // up to where it leads
	Msg  string
	// Cell holds what the path can not go beyond; its Size is 0 if there is none.
	Cell Cell
}

func (e *ResolveError) Error() string { return e.Path + ": " + e.Msg }

// place is where a path has come to.
type place struct {
	node  mgpp.NodeID
	dead  bool
	addr  trace.Addr
	typ   *types.Type // nil: unknown
	array bool        // of typ, up to the end of the node
	bit   int         // of a bit-field: where it begins in the byte
	bits  int         // and how many it has; 0: it is none
}

// Resolve follows a path in the graph of a view.
func (n *Names) Resolve(p Path, v mgpp.View) (Cell, error) {
	at, err := n.root(p, v)
	if err != nil {
		return Cell{}, err
	}
	for i, s := range p.Steps {
		if at, err = n.step(at, s, v, p, i); err != nil {
			return Cell{}, err
		}
	}
	c := n.cell(at, v)
	if t := c.Type; t != nil && len(p.Steps) > 0 && (t.HasMembers() || t.Kind == types.Array) {
		c.Name = p.String() // it has several fields
	}
	return c, nil
}

// ResolveNode follows a path to a node: that which its last field points to, if it is a pointer, or
// in which it lies. 0: no node was at the address.
func (n *Names) ResolveNode(p Path, v mgpp.View) (mgpp.NodeID, error) {
	c, err := n.Resolve(p, v)
	if err != nil || len(p.Steps) == 0 || c.Type == nil || c.Type.Kind != types.Pointer {
		return c.Node, err
	}
	at, err := n.follow(place{node: c.Node, dead: c.Dead, addr: c.Addr, typ: c.Type}, v, p.String())
	return at.node, err
}

func (n *Names) root(p Path, v mgpp.View) (place, error) {
	r := p.Root
	if r.Global == "" && r.Node == "" {
		return n.rootAt(trace.Addr(r.Addr), v), nil
	}
	var id mgpp.NodeID
	var err error
	if r.Global != "" {
		id, err = n.Global(r.Global)
	} else {
		id, err = n.Node(r.Node, r.Number)
	}
	if err != nil {
		return place{}, err
	}
	node, t := n.hist.Node(id), n.Type(id)
	if node.Birth > v.Time() {
		return place{}, fmt.Errorf("%s does not exist at change %d: it was allocated at change %d", n.Name(id), v.Time(), node.Birth)
	}
	_, alive := v.Node(id)
	return place{node: id, dead: !alive, addr: node.Start + trace.Addr(max(t.Offset, 0)), typ: t.Type, array: t.Array}, nil
}

// rootAt is an address: the field there, if it lies in a node.
func (n *Names) rootAt(addr trace.Addr, v mgpp.View) place {
	id, ok := v.NodeAt(addr)
	dead := false
	if !ok {
		if id, dead = n.hist.FormerAt(addr, v.Time()); !dead {
			return place{addr: addr}
		}
	}
	at := place{node: id, dead: dead, addr: addr}
	if t := n.Type(id); t.Type != nil && addr == n.hist.Node(id).Start+trace.Addr(t.Offset) {
		at.typ, at.array = t.Type, t.Array
	}
	return at
}

func (n *Names) step(at place, s Step, v mgpp.View, p Path, i int) (place, error) {
	stop := func(format string, a ...any) (place, error) {
		return place{}, &ResolveError{Path: p.before(i), Msg: fmt.Sprintf(format, a...)}
	}
	if at.typ == nil {
		why := ""
		if at.node != 0 {
			why = ": " + n.Type(at.node).Why
		}
		return stop("its type is not known%s", why)
	}
	if f, ok := at.typ.Smart(); ok {
		if _, _, own := at.typ.Member(s.Field); !own {
			at.addr, at.typ = at.addr+trace.Addr(f.Offset), f.Type
		}
	}
	if s.Field == "" {
		return n.element(at, s.Index, v, p, i)
	}
	if at.typ.Kind == types.Pointer {
		var err error
		if at, err = n.follow(at, v, p.before(i)); err != nil {
			return place{}, err
		}
	}
	if at.typ == nil {
		return stop("it leads to memory of unknown type")
	}
	if !at.typ.HasMembers() {
		return stop("%s has no fields", at.typ)
	}
	m, off, ok := at.typ.Member(s.Field)
	if !ok {
		return stop("%s", at.typ.NoMember(s.Field))
	}
	if m.Type == nil {
		return stop("the type of %s is not known", s.Field)
	}
	next := place{node: at.node, dead: at.dead, addr: at.addr + trace.Addr(off), typ: m.Type, bits: m.BitSize}
	if m.BitSize > 0 {
		next.addr += trace.Addr(m.BitOffset / 8)
		next.bit = m.BitOffset % 8
	}
	return next, nil
}

// element is an element of an array, or of what a pointer leads to.
func (n *Names) element(at place, i int64, v mgpp.View, p Path, step int) (place, error) {
	stop := func(format string, a ...any) (place, error) {
		return place{}, &ResolveError{Path: p.before(step), Msg: fmt.Sprintf(format, a...)}
	}
	elem := at.typ
	switch {
	case at.array:
	case at.typ.Kind == types.Array && at.typ.Elem != nil:
		elem = at.typ.Elem
		if at.typ.Bound() > 0 && i >= at.typ.Count {
			return stop("it has %d elements", at.typ.Count)
		}
	case at.typ.Kind == types.Pointer && at.typ.Elem != nil:
		var err error
		if at, err = n.follow(at, v, p.before(step)); err != nil {
			return place{}, err
		}
		if elem = at.typ; elem == nil {
			return stop("it leads to memory of unknown type")
		}
	default:
		return stop("%s is no array", at.typ)
	}
	if elem.Size <= 0 || i > 1<<40 {
		return stop("it has no element %d", i)
	}
	to := at.addr + trace.Addr(i*elem.Size)
	if at.node != 0 {
		node := n.hist.Node(at.node)
		if size := n.hist.NodeSize(at.node, v.Time()); uint64(to-node.Start)+uint64(elem.Size) > size {
			return stop("element %d lies beyond its end, %d bytes", i, size)
		}
	}
	return place{node: at.node, dead: at.dead, addr: to, typ: elem}, nil
}

// follow follows a pointer.
func (n *Names) follow(at place, v mgpp.View, path string) (place, error) {
	c := n.cell(at, v)
	stop := func(format string, a ...any) (place, error) {
		return place{}, &ResolveError{Path: path, Msg: fmt.Sprintf(format, a...), Cell: c}
	}
	if at.dead {
		return stop("its block was freed before change %d", v.Time())
	}
	t := v.Target(at.addr, coded.Plain)
	switch t.State {
	case mgpp.Unwritten:
		return stop("it holds no known pointer at change %d", v.Time())
	case mgpp.Null:
		return stop("it is NULL at change %d", v.Time())
	case mgpp.Points:
		elem := at.typ.Elem
		if elem != nil && (elem.Kind == types.Void || elem.Size <= 0) { // the node knows better
			if typed := n.Type(t.Node); t.Offset == uint64(max(typed.Offset, 0)) {
				elem = typed.Type
			} else {
				elem = nil
			}
		}
		return place{node: t.Node, addr: trace.Addr(t.Value), typ: elem}, nil
	}
	return stop("it is %s at change %d", n.target(t), v.Time())
}

// cell is what lies at a place.
func (n *Names) cell(at place, v mgpp.View) Cell {
	c := Cell{Node: at.node, Dead: at.dead, Addr: at.addr, Type: at.typ, Size: 8, Name: fmt.Sprintf("%#x", uint64(at.addr))}
	if at.node == 0 {
		return c
	}
	node := n.hist.Node(at.node)
	off, size := uint64(at.addr-node.Start), n.hist.NodeSize(at.node, v.Time())
	c.Name = n.Name(at.node)
	f, ok := n.fieldOf(at, v)
	switch {
	case at.bits > 0:
		c.Size = uint64(at.bit+at.bits+7) / 8
	case at.typ != nil && at.array:
		c.Size = size - off
	case at.typ != nil && at.typ.Size > 0:
		c.Size = uint64(at.typ.Size)
	case ok:
		c.Size, c.Type = f.Size-uint64(at.addr-f.Addr), f.scalar.Type
	default: // padding
		c.Size = 8 - off%8
		c.Name += fmt.Sprintf("+%d", off)
	}
	if scalar := c.Type != nil && c.Type.Kind < types.Struct && c.Type.Kind > types.Void; ok && scalar && c.Size <= size-off && (at.bits > 0 || f.scalar.Type == nil) {
		c.as = types.Scalar{Size: int64(c.Size), Type: c.Type, BitOffset: at.bit, BitSize: at.bits}
	}
	if c.Size > size-off {
		c.Size = size - off
	}
	if ok && (c.Size <= f.Size || off > 0) {
		c.Name = join(c.Name, f.Path)
		if d := at.addr - f.Addr; d > 0 {
			c.Name += fmt.Sprintf("+%d", d)
		}
	}
	return c
}

func (n *Names) fieldOf(at place, v mgpp.View) (f Field, ok bool) {
	off := uint64(at.addr - n.hist.Node(at.node).Start)
	if at.dead {
		v = n.hist.At(n.hist.Node(at.node).Death - 1)
	}
	n.each(v, at.node, off, off+1, func(x Field) bool {
		if at.bits > 0 && x.scalar.BitSize > 0 && (x.Addr != at.addr || x.scalar.BitOffset != at.bit) {
			return true // another bit-field of the byte
		}
		f, ok = x, true
		return false
	})
	return f, ok
}
