package slice

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Slice is a set of executed ops, by what was executed: how often, and how far
// from the criterion.
type Slice struct {
	Criteria Criteria
	Options  Options
	Ops      uint64 // executed ops in it
	First    uint64 // the earliest instant in it
	Last     uint64

	x       *Index
	forward bool     // ops come in ascending order
	stats   [][]Stat // by piece: its ops
	log     pathLog
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

// staticOp is an op of the program, and how it uses a value.
type staticOp struct {
	piece uint32 // its ID
	op    uint16
	kind  EdgeKind
}

// used notes that an op is used by another.
func (s *Slice) used(p *Piece, op uint16, by staticOp) {
	st := &s.of(p)[op]
	u := User{s.x.pieces[by.piece-1], by.op, by.kind}
	for _, v := range st.Users {
		if v == u {
			return
		}
	}
	if len(st.Users) < maxUsers {
		st.Users = append(st.Users, u)
	}
}

// of returns the ops of a piece.
func (s *Slice) of(p *Piece) []Stat {
	row := s.stats[p.ID-1]
	if row == nil {
		row = make([]Stat, len(p.ops))
		s.stats[p.ID-1] = row
	}
	return row
}

// PC is the address of the instruction; 0 for what a cause did.
func (s *Stat) PC() uint64 { return s.Piece.PC(s.Op) }

func (s *Stat) before(k EdgeKind, quad uint8) {
	if k == ByMemory {
		s.BeforeMemory++
	} else {
		s.BeforeRegister++
	}
}

func newSlice(x *Index, c Criteria, o Options) *Slice {
	s := &Slice{Criteria: c, Options: o, x: x, stats: make([][]Stat, len(x.pieces)), First: ^uint64(0)}
	s.log.limit = o.Paths
	if s.log.limit == 0 {
		s.log.limit = 256 << 20
	}
	return s
}

// take counts an op, and notes how it was reached.
func (s *Slice) take(n Node, d *stepDeps, v needed) *Stat {
	p := d.piece
	st := &s.of(p)[n.Op()]
	instant := d.instant
	if p.Code != nil {
		instant += uint64(p.insts[n.Op()] - p.From)
	}
	if st.Count == 0 || v.dist-1 < st.Distance {
		st.Piece, st.Op, st.Distance, st.Nearest, st.Instant, st.Thread = p, n.Op(), v.dist-1, n, instant, d.thread
	}
	st.Count++
	s.Ops++
	s.First = min(s.First, instant)
	s.Last = max(s.Last, instant)
	s.log.add(n, v.via, v.kind, s.forward)
	return st
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
	_, _, ok := s.log.find(n)
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
		via, kind, ok := s.log.find(n)
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

// pathLog has of each op in the slice the op by which it was reached. Ops come in
// descending order, or, of a forward slice, in ascending order: then Nodes are
// turned around (^n) and the same holds.
type pathLog struct {
	buf   []byte
	marks []mark
	last  Node
	n     int
	limit int
	full  bool

	forward bool
}

// mark is a place in the log from which it can be read.
type mark struct {
	node Node
	at   int
}

const markEvery = 128

func (l *pathLog) add(n, via Node, kind EdgeKind, forward bool) {
	if l.forward = forward; forward {
		n = ^n
		if via != 0 {
			via = ^via
		}
	}
	if l.full {
		return
	}
	if len(l.buf) > l.limit {
		l.full = true
		return
	}
	if l.n%markEvery == 0 {
		l.marks = append(l.marks, mark{n, len(l.buf)})
		l.last = n
	}
	l.n++
	l.buf = binary.AppendUvarint(l.buf, uint64(l.last-n))
	d := uint64(0)
	if via != 0 {
		d = uint64(via - n)
	}
	l.buf = binary.AppendUvarint(l.buf, d<<2|uint64(kind))
	l.last = n
}

func (l *pathLog) find(n Node) (via Node, kind EdgeKind, ok bool) {
	if l.forward {
		via, kind, ok = l.search(^n)
		if via != 0 {
			via = ^via
		}
		return via, kind, ok
	}
	return l.search(n)
}

func (l *pathLog) search(n Node) (via Node, kind EdgeKind, ok bool) {
	i, exact := slices.BinarySearchFunc(l.marks, n, func(m mark, n Node) int { return cmp.Compare(n, m.node) })
	if !exact {
		i--
	}
	if i < 0 {
		return 0, 0, false
	}
	c := cursor{b: l.buf, at: l.marks[i].at}
	at := l.marks[i].node
	for range markEvery {
		if c.at >= len(c.b) {
			break
		}
		at -= Node(c.uvarint())
		v := c.uvarint()
		if at < n {
			break
		}
		if at == n {
			if v>>2 == 0 {
				return 0, EdgeKind(v & 3), true
			}
			return n + Node(v>>2), EdgeKind(v & 3), true
		}
	}
	return 0, 0, false
}
