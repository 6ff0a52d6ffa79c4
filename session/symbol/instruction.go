package symbol

import (
	"slices"

	"mgtrace/cxxname"
	"mgtrace/trace"
	"mgtrace/x86"
)

// decoded is the instruction at an address, and its code; not ok if no file has it.
func (t *Table) decoded(pc trace.Addr) (in x86.Inst, at uint64, code []byte, ok bool) {
	im, ok := t.Image(pc)
	if !ok || im.Obj == nil {
		return in, 0, nil, false
	}
	at = uint64(pc - im.Bias)
	code = im.Obj.Code(at, x86.MaxLen)
	in, err := x86.Decode(code, at)
	return in, at, code, err == nil
}

// Instruction is the one at an address, in Intel syntax, and the general registers that it reads, by their DWARF numbers; "" if no file has it.
func (t *Table) Instruction(pc trace.Addr) (text string, reads []int) {
	in, at, code, ok := t.decoded(pc)
	if !ok {
		return "", nil
	}
	var e x86.Effects
	in.Effects(&e)
	if !e.Unknown {
		for r := range x86.Reg(16) {
			if e.Read.Intersects(x86.GPR(r, 0, 8)) {
				reads = append(reads, r.DWARF())
			}
		}
	}
	return x86.Text(code, at), reads
}

// Reaches are the registers of which an instruction computes the addresses of the memory that it reads or writes, by their DWARF numbers: not
// those of which it stores what they hold.
func (t *Table) Reaches(pc trace.Addr) (list []int) {
	in, _, _, ok := t.decoded(pc)
	if !ok {
		return nil
	}
	var e x86.Effects
	in.Effects(&e)
	for i := range e.Mem[:e.NMem] {
		for _, r := range [2]x86.Reg{e.Mem[i].Operand.Base, e.Mem[i].Operand.Index} {
			if r != x86.NoReg && !slices.Contains(list, r.DWARF()) {
				list = append(list, r.DWARF())
			}
		}
	}
	return list
}

// CalledBefore is the function of another file that the call before an address calls by a stub of the procedure linkage table, "" if that is
// none: what runs of it may be a part that the compiler has put elsewhere, without a symbol.
func (t *Table) CalledBefore(next trace.Addr) string {
	const size = 5 // of such a call
	in, _, _, ok := t.decoded(next - size)
	if !ok || in.Kind != x86.KindCall || !in.Direct || in.Len != size {
		return ""
	}
	im, _ := t.Image(next - size)
	return cxxname.Demangle(im.Obj.Import(in.Target))
}
