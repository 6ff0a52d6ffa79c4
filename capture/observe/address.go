package observe

import (
	"mgtrace/target/mem"
	"mgtrace/x86"
)

// AccessAddress is the effective address of an access (Intel SDM volume 1, section 3.7.5) of
// the instruction of size bytes at r.RIP.
func AccessAddress(m *x86.MemAccess, size int, r *mem.Regs) uint64 {
	a := uint64(m.Disp)
	if m.RIPRelative {
		a += r.RIP + uint64(size)
	}
	if m.Base != x86.NoReg {
		a += General(r, m.Base)
	}
	if m.Index != x86.NoReg {
		a += General(r, m.Index) * uint64(max(m.Scale, 1))
	}
	if m.Shape == x86.MemXlat {
		a += r.RAX & 0xff
	}
	if m.Addr32 {
		a = uint64(uint32(a))
	}
	switch m.Segment {
	case 'f':
		a += r.FSBase
	case 'g':
		a += r.GSBase
	}
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
