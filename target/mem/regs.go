package mem

import (
	"encoding/binary"
	"fmt"
)

// Regs are the general registers of a thread in the order of the kernel's
// struct user_regs_struct (arch/x86/include/asm/user_64.h), which PTRACE_GETREGS
// and the NT_PRSTATUS note of a core file both use.
type Regs struct {
	R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8 uint64
	RAX, RCX, RDX, RSI, RDI, OrigRAX               uint64
	RIP, CS, EFlags, RSP, SS                       uint64
	FSBase, GSBase                                 uint64
	DS, ES, FS, GS                                 uint64
}

// RegsSize is the size of Regs in the kernel's form, in bytes.
const RegsSize = 27 * 8

// DecodeRegs reads the kernel's form.
func DecodeRegs(b []byte) (Regs, error) {
	var r Regs
	if len(b) < RegsSize {
		return r, fmt.Errorf("registers: %d bytes of %d", len(b), RegsSize)
	}
	_, err := binary.Decode(b, binary.LittleEndian, &r)
	return r, err
}

// Encode writes the kernel's form.
func (r *Regs) Encode() []byte {
	b, err := binary.Append(make([]byte, 0, RegsSize), binary.LittleEndian, r)
	if err != nil {
		panic("mem: Regs is not of fixed size: " + err.Error())
	}
	return b
}

// DWARF returns register n in the numbering of the System V ABI for x86-64
// (figure 3.36); 16 is the return address column, RIP.
func (r *Regs) DWARF(n int) (value uint64, ok bool) {
	order := [...]uint64{
		r.RAX, r.RDX, r.RCX, r.RBX, r.RSI, r.RDI, r.RBP, r.RSP,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.RIP,
	}
	if n < 0 || n >= len(order) {
		return 0, false
	}
	return order[n], true
}
