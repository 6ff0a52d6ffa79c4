package symbol

import (
	"mgtrace/trace"
	"mgtrace/x86"
)

// generals are the general registers of x86 by their DWARF numbers (System V ABI for x86-64, figure 3.36). Read-only.
var generals = [16]x86.Reg{x86.RAX, x86.RDX, x86.RCX, 3, x86.RSI, x86.RDI, x86.RBP, x86.RSP, 8, 9, 10, 11, 12, 13, 14, 15}

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
		for n, r := range generals {
			if e.Read.Intersects(x86.GPR(r, 0, 8)) {
				reads = append(reads, n)
			}
		}
	}
	return x86.Text(code, at), reads
}
