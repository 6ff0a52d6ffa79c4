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

func byteText(code []byte) string {
	return fmt.Sprintf(".byte % x", code)
}
