package analysis

import "mgtrace/mgpp"

// times are ascending times, of which a program may have millions: 4 bytes each, in pieces that stay
// where they are.
type times struct{ pieces [][]uint32 } // of timesPiece each, but for the last

const timesPiece = 1 << 12

func (x *times) len() int {
	if n := len(x.pieces); n > 0 {
		return (n-1)*timesPiece + len(x.pieces[n-1])
	}
	return 0
}

func (x *times) at(i int) mgpp.Timestamp {
	return mgpp.Timestamp(x.pieces[i/timesPiece][i%timesPiece])
}

// add appends a time, unless it is there.
func (x *times) add(t mgpp.Timestamp) {
	n := x.len()
	if n > 0 && x.at(n-1) >= t {
		return
	}
	if n%timesPiece == 0 {
		x.pieces = append(x.pieces, make([]uint32, 0, timesPiece))
	}
	last := &x.pieces[len(x.pieces)-1]
	*last = append(*last, uint32(t)) // a history has no more operations
}

// all are the times in one piece.
func (x *times) all() []mgpp.Timestamp {
	out := make([]mgpp.Timestamp, 0, x.len())
	for _, p := range x.pieces {
		for _, t := range p {
			out = append(out, mgpp.Timestamp(t))
		}
	}
	return out
}
