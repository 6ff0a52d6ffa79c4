package slice

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A shape is what steps of the same pieces have in common that have the same uses of their
// own values. So what one piece uses of another one in the step is known without looking at
// the step; only what it has from elsewhere is in its references. In an index:
//
//	shape: a byte, shapeLists if a reference of a group may be a list;
//	       for each piece: uvarint ID, and for each of its references its origin
//
//	origin: originRef           the step's next reference
//	        originNothing       nothing was read, or it is of no interest
//	        originBefore        nothing in the recording wrote it
//	        originParts, n      n origins follow: of units of a group (four), or of memory
//	        originOwn + op      an op of the step
//	        originAgain + n     the step's n-th reference once more
const (
	originRef = iota
	originNothing
	originBefore
	originParts
	originOwn
	originAgain = originOwn + maxStepOps
)

// shapeLists is the first byte of a shape of which references of groups may be lists.
const shapeLists = 1

const (
	// maxParts is how many parts a use has at most in a shape, and maxSplit how many
	// references of a step are made of such: else it is a list.
	maxParts = 8
	maxSplit = 60

	// maxStepRefs is how many references a step has at most.
	maxStepRefs = maxRefs + maxSplit
)

// maxShapes is how many shapes are taken down. In steps beyond it, each use is a reference:
// so they have no more shapes than the run has stretches.
const maxShapes = 1 << 18

// shapeTable has the shapes of an index in the making.
type shapeTable struct {
	ids  map[string]uint32
	raw  []byte // of all, each behind its length
	most int    // that may still come
}

// id is the number of a shape, from 1.
func (t *shapeTable) id(raw []byte) uint32 {
	id := t.ids[string(raw)]
	if id == 0 {
		id = uint32(len(t.ids) + 1)
		t.ids[string(raw)] = id
		t.raw = binary.AppendUvarint(t.raw, uint64(len(raw)))
		t.raw = append(t.raw, raw...)
		t.most--
	}
	return id
}

// shape is a shape, with what each op depends on.
type shape struct {
	parts   []shapePart
	ops     []shapeOp
	static  []uint32 // part of Index.statics
	frames  uint64   // ops that are of no interest (Op.Frame)
	refs    int
	origins origins

	// Of all ops, one after the other.
	locals  []stepUse
	refUses []refUse
	befores []EdgeKind
}

// shapePart is a piece of a shape.
type shapePart struct {
	piece *Piece
	first uint16   // its first op in the step
	insts int      // of the pieces before it
	uses  []origin // of the piece's references
}

// shapeOp is an op of a shape, and where what it uses ends.
type shapeOp struct {
	part   uint8
	local  uint16 // in shape.locals
	ref    uint16 // in shape.refUses
	before uint16 // in shape.befores
}

// ends are those of the op before, at which an op's uses begin.
func (s *shape) ends(op int) shapeOp {
	if op == 0 {
		return shapeOp{}
	}
	return s.ops[op-1]
}

// localUses are what an op uses of the step's own ops.
func (s *shape) localUses(op int) []stepUse { return s.locals[s.ends(op).local:s.ops[op].local] }

// usedRefs are the references that an op uses.
func (s *shape) usedRefs(op int) []refUse { return s.refUses[s.ends(op).ref:s.ops[op].ref] }

// usedBefore are an op's uses of what was there before the recording.
func (s *shape) usedBefore(op int) []EdgeKind { return s.befores[s.ends(op).before:s.ops[op].before] }

// stepUse is a use of an op of the step.
type stepUse struct {
	op   uint8
	kind EdgeKind
}

// refUse is a use of what a reference of the step leads to.
type refUse struct {
	ref   uint8
	units uint8 // of a group, if the reference is a list; 0: all
	kind  EdgeKind
}

// origin says where something that a piece uses is from.
type origin struct {
	kind uint8 // originRef, originNothing, originBefore, originParts or originOwn
	n    uint8 // of originParts: how many
	at   uint16
}

// origins are those of a shape.
type origins struct {
	uses  []origin // of its pieces, one after the other
	parts []origin // of uses that have several, from their place (at) on
}

// of are those that one is of.
func (o *origins) of(one origin) []origin { return o.parts[one.at:][:one.n] }

// maxTable is how many pieces, and how many shapes, an index has at most: so that the number of
// an op among those of all pieces leaves room for two bits more in 32 (user).
const maxTable = 1<<(30-opBits) - 1

// shapeSize is how much there is of a shape: what decoding needs, without its ops.
type shapeSize struct {
	insts, ops, refs uint16
	static           uint32 // where its ops are in Index.statics
}

// readShapes finds the shapes in raw.
func (x *Index) readShapes(c *cursor, n uint64) error {
	var from origins
	for range n {
		size := c.uvarint()
		if size > uint64(len(c.b)-c.at) || c.bad {
			return ErrIndex
		}
		raw := c.b[c.at:][:size]
		c.at += int(size)
		s := shapeSize{static: uint32(len(x.statics))}
		refs, err := x.eachPart(raw, &from, func(p *Piece, _ []origin) {
			s.insts += p.N
			s.ops += uint16(len(p.ops))
			for op := range p.ops {
				x.statics = append(x.statics, p.number+uint32(op))
			}
		})
		if err != nil {
			return err
		}
		s.refs = uint16(refs)
		x.rawShapes = append(x.rawShapes, raw)
		x.sizes = append(x.sizes, s)
	}
	x.shapes = make([]*shape, n)
	return nil
}

// eachPart makes from where what a shape uses is from, and calls part with its pieces, and what
// they use of that; and returns how many references its steps have.
func (x *Index) eachPart(raw []byte, from *origins, part func(p *Piece, uses []origin)) (refs int, err error) {
	from.uses, from.parts = from.uses[:0], from.parts[:0]
	if len(raw) == 0 {
		return 0, ErrIndex
	}
	c := cursor{b: raw, at: 1}
	ops := 0
	for c.at < len(raw) {
		id := c.uvarint()
		if id == 0 || id > uint64(len(x.pieces)) {
			return 0, ErrIndex
		}
		p := x.pieces[id-1]
		begin := len(from.uses)
		ops += len(p.ops)
		for range p.refs {
			from.uses = append(from.uses, c.origin(ops, &refs, from))
		}
		if c.bad || ops > maxStepOps || refs > maxStepRefs {
			return 0, ErrIndex
		}
		part(p, from.uses[begin:])
	}
	if ops == 0 {
		return 0, ErrIndex
	}
	return refs, nil
}

// origin reads one; ops is how many the step has so far, refs how many references.
func (c *cursor) origin(ops int, refs *int, from *origins) origin {
	if c.at >= len(c.b) {
		c.bad = true
		return origin{kind: originNothing}
	}
	v := int(c.b[c.at])
	c.at++
	switch {
	case v == originRef:
		*refs++
		return origin{kind: originRef, at: uint16(*refs - 1)}
	case v == originParts:
		n := c.uvarint()
		if n > maxParts {
			c.bad = true
			return origin{kind: originNothing}
		}
		o := origin{kind: originParts, n: uint8(n), at: uint16(len(from.parts))}
		for range n {
			part := origin{kind: originNothing}
			if c.at < len(c.b) && c.b[c.at] == originParts {
				c.bad = true
			} else {
				part = c.origin(ops, refs, from)
			}
			from.parts = append(from.parts, part)
		}
		return o
	case v < originOwn:
		return origin{kind: uint8(v)}
	case v < originAgain:
		c.bad = c.bad || v-originOwn >= ops
		return origin{kind: originOwn, at: uint16(v - originOwn)}
	}
	c.bad = c.bad || v-originAgain >= *refs
	return origin{kind: originRef, at: uint16(v - originAgain)}
}

// shape returns one by its number.
func (x *Index) shape(id uint32) *shape {
	s := x.shapes[id-1]
	if s == nil {
		s = x.newShape(id)
		x.shapes[id-1] = s
	}
	return s
}

func (x *Index) newShape(id uint32) *shape {
	raw := x.rawShapes[id-1]
	size := &x.sizes[id-1]
	s := &shape{refs: int(size.refs), static: x.statics[size.static:][:size.ops], ops: make([]shapeOp, 0, size.ops)}
	s.origins, s.locals, s.refUses, s.befores = x.made.origins, x.made.locals[:0], x.made.refUses[:0], x.made.befores[:0]
	insts := 0
	// It was without an error when the index was opened.
	_, _ = x.eachPart(raw, &s.origins, func(p *Piece, uses []origin) {
		s.parts = append(s.parts, shapePart{p, uint16(len(s.ops)), insts, uses})
		s.add(p, uses, raw[0] == shapeLists)
		insts += int(p.N)
	})
	x.made = shape{origins: s.origins, locals: s.locals, refUses: s.refUses, befores: s.befores}
	s.origins = origins{slices.Clone(s.origins.uses), slices.Clone(s.origins.parts)}
	s.locals, s.refUses, s.befores = slices.Clone(s.locals), slices.Clone(s.refUses), slices.Clone(s.befores)
	s.parts = slices.Clone(s.parts)
	uses := s.origins.uses
	for i := range s.parts {
		n := len(s.parts[i].uses)
		s.parts[i].uses, uses = uses[:n:n], uses[n:]
	}
	return s
}

// add adds the ops of a piece.
func (s *shape) add(p *Piece, uses []origin, lists bool) {
	part, first := uint8(len(s.parts)-1), uint8(len(s.ops))
	s.frames |= p.frames << first
	for i := range p.ops {
		from := &p.ops[i]
		for _, l := range from.local {
			s.uses(uint8(l.op)+first, usedAs(l.addr))
		}
		for _, g := range from.groups {
			s.from(uses[g.group], g.mask, lists, usedAs(g.addr))
		}
		for _, r := range from.reads {
			s.from(uses[len(p.groups)+int(r)], 0, false, ByMemory)
		}
		s.from(uses[p.refs-1], 0, false, ByControl)
		s.ops = append(s.ops, shapeOp{part, uint16(len(s.locals)), uint16(len(s.refUses)), uint16(len(s.befores))})
	}
}

// uses adds a use of an op of the step by the next op. That what is used comes before is not seen when a damaged index is
// opened.
func (s *shape) uses(def uint8, kind EdgeKind) {
	if int(def) >= len(s.ops) {
		return
	}
	if u := (stepUse{def, kind}); !slices.Contains(s.locals[s.ends(len(s.ops)).local:], u) {
		s.locals = append(s.locals, u)
	}
}

// from adds a use of what is from o, or of units of it, by the next op.
func (s *shape) from(o origin, units uint8, lists bool, kind EdgeKind) {
	before := false
	add := func(o origin) {
		switch o.kind {
		case originOwn:
			s.uses(uint8(o.at), kind)
		case originBefore:
			before = true
		case originRef:
			u := refUse{uint8(o.at), 0, kind}
			if lists {
				u.units = units
			}
			if !slices.Contains(s.refUses[s.ends(len(s.ops)).ref:], u) {
				s.refUses = append(s.refUses, u)
			}
		}
	}
	add(o)
	if o.kind == originParts {
		for i, part := range s.origins.of(o) {
			if units == 0 || units&(1<<i) != 0 {
				add(part)
			}
		}
	}
	if before {
		s.befores = append(s.befores, kind)
	}
}

// follows says that a slice with these options follows uses of a kind.
func (o Options) follows(kind EdgeKind) bool {
	return !(kind == ByAddress && o.NoAddress) && !(kind == ByControl && o.NoControl)
}

// static is the op with a number among those of all pieces.
func (x *Index) static(number uint32) (*Piece, uint16) {
	i, found := slices.BinarySearchFunc(x.pieces, number, func(p *Piece, n uint32) int { return cmp.Compare(p.number, n) })
	if !found {
		i--
	}
	p := x.pieces[i]
	return p, uint16(number - p.number)
}

// of is the piece that an op is of, and which op of it that is.
func (s *shape) of(op uint16) (*shapePart, uint16) {
	p := &s.parts[s.ops[op].part]
	return p, op - p.first
}

// origin calls yield with the definitions that an origin of step k means, or units of it:
// as segment.each.
func (g *segment) origin(k int, o origin, units uint8, yield func(Node)) {
	switch o.kind {
	case originOwn:
		yield(node(g.first+StepID(k), o.at))
	case originBefore:
		yield(0)
	case originRef:
		g.each(g.ref(k, int(o.at)), units, yield)
	case originParts:
		for i, part := range g.shape(k).origins.of(o) {
			if units == 0 || units&(1<<i) != 0 {
				g.origin(k, part, 0, yield)
			}
		}
	}
}
