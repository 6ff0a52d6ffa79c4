package slice

import (
	"cmp"
	"slices"
)

// Slice is a set of executed ops, by what was executed: how often, and how far
// from the criterion.
type Slice struct {
	Criteria Criteria
	Options  Options
	Ops      uint64 // executed ops in it

	x     *Index
	stats [][]Stat // by piece: its ops
	ways  ways
}

// ways has of each op in a slice the op by which it was reached first.
type ways interface {
	// find returns that op, 0 if n is of the criteria; false if n is not in the slice, or
	// was not kept.
	find(n Node) (via Node, kind EdgeKind, ok bool)
}

// Stat is an op of the program in a slice.
type Stat struct {
	Piece    *Piece
	Op       uint16
	Count    uint64 // executions in the slice
	Distance uint32 // dependences between the nearest of them and the criterion
	Nearest  Node   // the latest of those
	Instant  uint64 // of the nearest
	Thread   uint32 // of the nearest

	// Executions that used what was there before the recording, and nobody
	// wrote: in registers, in memory.
	BeforeRegister, BeforeMemory uint64

	// Users are ops that use its value directly, of a backward slice; at most maxUsers.
	Users []User
}

// User is an op that uses a value.
type User struct {
	Piece *Piece
	Op    uint16
	Kind  EdgeKind
}

// maxUsers bounds the users that are told of an op.
const maxUsers = 8

// of returns what there is of an op of a shape.
func (s *Slice) of(from *shape, op uint16) *Stat {
	part, op := from.of(op)
	row := s.stats[part.piece.ID-1]
	if row == nil {
		row = make([]Stat, len(part.piece.ops))
		s.stats[part.piece.ID-1] = row
	}
	return &row[op]
}

// PC is the address of the instruction; 0 for what a cause did.
func (s *Stat) PC() uint64 { return s.Piece.PC(s.Op) }

func newSlice(x *Index, c Criteria, o Options) *Slice {
	return &Slice{Criteria: c, Options: o, x: x, stats: make([][]Stat, len(x.pieces))}
}

// reached notes how far an op of a segment is from the criterion.
func (s *Slice) reached(n Node, g *segment, dist uint32) {
	k := int(n.Step() - g.first)
	if st := s.of(g.shape(k), n.Op()); st.Piece == nil || dist < st.Distance {
		at := g.at(k, n.Op())
		st.Piece, st.Op, st.Distance, st.Nearest, st.Instant, st.Thread = at.Piece, at.Op, dist, n, at.Instant, at.Thread
	}
}

// Stats returns the ops of the program that are in the slice, the nearest first.
func (s *Slice) Stats() []*Stat {
	var out []*Stat
	for _, row := range s.stats {
		for i := range row {
			if row[i].Count > 0 {
				out = append(out, &row[i])
			}
		}
	}
	slices.SortFunc(out, func(a, b *Stat) int {
		if c := cmp.Compare(a.Distance, b.Distance); c != 0 {
			return c
		}
		return cmp.Compare(b.Nearest, a.Nearest)
	})
	return out
}

// Has says that an executed op is in the slice, as long as its path is kept.
func (s *Slice) Has(n Node) bool {
	_, _, ok := s.ways.find(n)
	return ok
}

// Hop is an op on a path, and how the one before it in the path (the use) depends
// on it.
type Hop struct {
	Node
	Kind EdgeKind
}

// Path returns a shortest path from a criterion to an op of the slice: the
// criterion first. It is cut where paths were not kept. Of a forward slice, each op
// depends on the one before it.
func (s *Slice) Path(n Node) (path []Hop, whole bool) {
	for {
		via, kind, ok := s.ways.find(n)
		if !ok {
			return reversed(path), false
		}
		path = append(path, Hop{n, kind})
		if via == 0 {
			return reversed(path), true
		}
		n = via
	}
}

func reversed(p []Hop) []Hop {
	slices.Reverse(p)
	return p
}
