package symbol

import (
	"mgtrace/trace"
	"mgtrace/x86"
)

// Instruction is the one at an address, in Intel syntax, and the general registers that it reads, by their DWARF numbers; "" if no file has it.
func (t *Table) Instruction(pc trace.Addr) (text string, reads []int) {
	im, ok := t.Image(pc)
	if !ok || im.Obj == nil {
		return "", nil
	}
	at := uint64(pc - im.Bias)
	code := im.Obj.Code(at, x86.MaxLen)
	in, err := x86.Decode(code, at)
	if err != nil {
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
