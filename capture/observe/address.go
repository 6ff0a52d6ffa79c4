package observe

import (
	"mgtrace/target/mem"
	"mgtrace/x86"
)

// effective is the effective address of an operand (Intel SDM volume 1, section 3.7.5) of the
// instruction of size bytes at r.RIP. more is added to its offset.
func effective(o *x86.Operand, size int, more uint64, r *mem.Regs) uint64 {
	a := uint64(o.Disp) + more
	if o.RIPRelative {
		a += r.RIP + uint64(size)
	}
	if o.Base != x86.NoReg {
		a += General(r, o.Base)
	}
	if o.Index != x86.NoReg {
		a += General(r, o.Index) * uint64(max(o.Scale, 1))
	}
	if o.Addr32 {
		a = uint64(uint32(a))
	}
	switch o.Segment {
	case 'f':
		a += r.FSBase
	case 'g':
		a += r.GSBase
	}
	return a
}

// Address is where the store that begins at r.RIP writes.
func Address(s *x86.Store, r *mem.Regs) uint64 {
	a := effective(&s.Operand, s.Len, 0, r)
	if s.Shape == x86.ShapeBit {
		a += BitOffset(s.Width, General(r, s.Value))
	}
	return a
}

// AccessAddress is where an access of the instruction of size bytes at r.RIP is.
func AccessAddress(m *x86.MemAccess, size int, r *mem.Regs) uint64 {
	more := uint64(0)
	if m.Shape == x86.MemXlat {
		more = r.RAX & 0xff
	}
	a := effective(&m.Operand, size, more, r)
	if m.Shape == x86.MemBit {
		a += BitOffset(m.Size, General(r, m.Value))
	}
	return a
}

// Reads are the ranges of memory, half-open, that the instruction at r.RIP reads with these
// registers, as far as they tell.
func Reads(memory mem.Memory, r *mem.Regs) (out [][2]uint64) {
	code := make([]byte, x86.MaxLen)
	n, _ := memory.ReadMemory(code, r.RIP) // n tells
	in, err := x86.Decode(code[:n], r.RIP)
	if err != nil {
		return nil
	}
	var e x86.Effects
	in.Effects(&e)
	for i := range e.Mem[:e.NMem] {
		if m := &e.Mem[i]; m.Read && m.Shape != x86.MemVector {
			at := AccessAddress(m, in.Len, r)
			out = append(out, [2]uint64{at, at + uint64(m.Size)})
		}
	}
	return out
}
