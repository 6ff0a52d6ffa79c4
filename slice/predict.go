package slice

// predictor says what the next step of a segment is likely to be, and its references: the
// piece that came after the same piece last; and what the piece's last execution referred to, of
// the segment's own ops in their latest execution. A register that a piece has from another one
// it has from the latest execution of that, so that nearly all is as predicted. Writer and reader
// of a segment have the same one; it begins anew with each segment.
type predictor struct {
	number []metNumber // by piece
	epoch  uint32      // the segment
	met    []metPiece
	slots  []slot
}

// metNumber is the number of a piece among those that were met in a segment.
type metNumber struct{ epoch, number uint32 }

// metPiece is a piece that was met in the segment.
type metPiece struct {
	piece  *Piece
	slots  uint32 // its first
	next   uint32 // the number + 1 of the piece that came after it last; 0: none has
	latest uint32 // the number of the first op of its latest execution
}

// slot predicts a reference of a piece: as it was last, or else as it was before it was so.
type slot struct{ last, other guess }

// guess is number<<opBits | op for an op of the latest execution of a piece, or a reference
// from refSource on.
type guess uint32

// begin begins a segment.
func (p *predictor) begin() {
	p.epoch++
	p.met, p.slots = p.met[:0], p.slots[:0]
}

// known is the number of a piece, if it was met.
func (p *predictor) known(piece *Piece) (number uint32, ok bool) {
	if more := int(piece.ID) - len(p.number); more > 0 {
		p.number = append(p.number, make([]metNumber, more)...)
	}
	n := p.number[piece.ID-1]
	return n.number, n.epoch == p.epoch
}

// meet gives a piece that is not known a number.
func (p *predictor) meet(piece *Piece) uint32 {
	n := uint32(len(p.met))
	p.number[piece.ID-1] = metNumber{p.epoch, n}
	p.met = append(p.met, metPiece{piece: piece, slots: uint32(len(p.slots))})
	for range piece.refs {
		p.slots = append(p.slots, slot{guess(refBefore), guess(refBefore)})
	}
	return n
}

// of is the reference that is guessed.
func (p *predictor) of(g guess) ref {
	if g >= guess(refSource) {
		return ref(g)
	}
	return ref(p.met[g>>opBits].latest + uint32(g)&(maxPieceOps-1))
}

// was takes down what a reference was.
func (s *slot) was(g guess) {
	if g != s.last {
		s.last, s.other = g, s.last
	}
}
