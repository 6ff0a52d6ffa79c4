package provenance

import "mgtrace/x86"

// sums are what the program has just added to numbers that are in registers, in the straight
// line of code that it is in: gcc without optimisation adds to an index what of the offset of an array is a
// multiple of 16 bytes, right before it uses that.
type sums struct {
	known uint16 // registers of which it is known, by bit
	added [16]int64
}

// of is what was added to what is in a place, and in that times a number.
func (s *sums) of(p x86.Place, scale uint8) int64 {
	if p.Kind != x86.InGeneral || s.known>>(p.Reg&15)&1 == 0 {
		return 0
	}
	return s.added[p.Reg&15] * int64(max(scale, 1))
}

// in is the part of the offset of an array that is in an index.
func (s *sums) in(index int8, scale uint8) int64 {
	return s.offset(x86.Place{Kind: x86.InGeneral, Reg: uint8(index)}, scale)
}

func (s *sums) offset(p x86.Place, scale uint8) int64 {
	if n := s.of(p, scale); n > 0 && n%16 == 0 {
		return n
	}
	return 0
}

// take takes in an instruction that has been executed. number says that what it gave is no address.
func (s *sums) take(o *op, number bool) {
	if !o.sums || o.library {
		s.known &^= o.wipes | o.touches
		return
	}
	d := &o.d
	n := d.Const + s.of(d.B, d.Scale)
	if d.B.Kind != x86.NoPlace {
		n += s.of(d.A, 1)
	}
	s.known &^= o.wipes | o.touches
	if number && n != 0 {
		s.known |= 1 << (d.To.Reg & 15)
		s.added[d.To.Reg&15] = n
	}
}
