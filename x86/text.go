package x86

import (
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Text returns the instruction at the start of code in Intel syntax, for
// reports. What the disassembler does not know is shown as bytes.
func Text(code []byte, pc uint64) string {
	in, err := Decode(code, pc)
	if err != nil {
		return byteText(code[:min(len(code), 1)])
	}
	if in.IsNop() && in.op == 0x1e {
		return "endbr64"
	}
	asm, err := x86asm.Decode(code[:in.Len], 64)
	if err != nil || asm.Len != in.Len {
		return byteText(code[:in.Len])
	}
	return strings.TrimSpace(x86asm.IntelSyntax(asm, pc, nil))
}

// Disassembled is the instruction at the start of code as x86asm knows it, for those who interpret its operands. What x86asm takes for
// something else is put right: endbr64 and endbr32 are nops of 4 bytes, and a displacement of 32 bits is signed (Intel SDM volume 2,
// 2.2.1.3). The error is x86asm's.
func Disassembled(code []byte) (x86asm.Inst, error) {
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && (code[3] == 0xfa || code[3] == 0xfb) {
		return x86asm.Inst{Op: x86asm.NOP, Len: 4}, nil
	}
	in, err := x86asm.Decode(code, 64)
	for i, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Disp>>32 == 0 {
			m.Disp = int64(int32(m.Disp))
			in.Args[i] = m
		}
	}
	return in, err
}

func byteText(code []byte) string {
	return fmt.Sprintf(".byte % x", code)
}
