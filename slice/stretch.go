package slice

import "slices"

// stretch is pieces that a thread executed one after the other. Its execution is a step.
type stretch struct {
	piece *Piece // the last
	ops   int    // of all its pieces
	refs  int
	next  []*stretch // with one piece more; the one that was asked for last comes first
}

// maxRefs is how many references the pieces of a stretch have at most: as many as one
// piece may have.
const maxRefs = NumUnits/4 + maxPieceReads + 1

// maxStretches is how many stretches of more than one piece a run has at most. Beyond it,
// steps are cut where they go on as none did before.
const maxStretches = 1 << 18

// stretches are those of a run.
type stretches struct {
	most  int
	begin []*stretch // by the ID of their piece, - 1
}

// of returns the stretch that is one piece.
func (s *stretches) of(p *Piece) *stretch {
	if n := int(p.ID) - len(s.begin); n > 0 {
		s.begin = append(s.begin, make([]*stretch, n)...)
	}
	w := s.begin[p.ID-1]
	if w == nil {
		w = &stretch{piece: p, ops: len(p.ops), refs: p.refs}
		s.begin[p.ID-1] = w
	}
	return w
}

// with returns w with one piece more; nil if it must not be so long. What did no
// instruction is a step of its own.
func (s *stretches) with(w *stretch, p *Piece) *stretch {
	for i, n := range w.next {
		if n.piece == p {
			w.next[0], w.next[i] = n, w.next[0]
			return n
		}
	}
	if w.ops+len(p.ops) > maxStepOps || w.refs+p.refs > maxRefs || w.piece.Code == nil || p.Code == nil || s.most == 0 {
		return nil
	}
	s.most--
	n := &stretch{piece: p, ops: w.ops + len(p.ops), refs: w.refs + p.refs}
	w.next = slices.Insert(w.next, 0, n)
	return n
}
