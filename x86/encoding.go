package x86

// Branch says how an instruction's bytes must change for it to do the same at
// another address, as far as control flow goes. Its operands are another
// matter: see Operand and DispAt.
type Branch uint8

// The branches.
const (
	BranchNone         Branch = iota
	BranchJmp                 // jmp rel8, rel32: to Target
	BranchJcc                 // jcc rel8, rel32: to Target on Condition
	BranchLoop                // loop, loope, loopne, jrcxz: to Target, there is no rel32 form
	BranchTransaction         // xbegin: to Target on an abort
	BranchCall                // call rel32: to Target
	BranchCallIndirect        // near call through a register or memory
	BranchCallFar             // pushes CS too
	BranchSyscall             // leaves the address behind it in RCX
	BranchSysenter            // the kernel returns to an address of its own
	BranchTrap                // int3, int1: its address is seen by the one who handles it
)

// Branch classifies the instruction.
func (in *Inst) Branch() Branch {
	if in.vex || in.evex {
		return BranchNone
	}
	op := in.op
	switch in.opmap {
	case map1B:
		switch {
		case op == 0xe9, op == 0xeb:
			return BranchJmp
		case op >= 0x70 && op <= 0x7f:
			return BranchJcc
		case op >= 0xe0 && op <= 0xe3:
			return BranchLoop
		case op == 0xc7 && in.Direct:
			return BranchTransaction
		case op == 0xe8:
			return BranchCall
		case op == 0xff && in.reg == 2:
			return BranchCallIndirect
		case op == 0xff && in.reg == 3:
			return BranchCallFar
		case op == 0xcc, op == 0xf1:
			return BranchTrap
		}
	case map0F:
		switch {
		case op >= 0x80 && op <= 0x8f:
			return BranchJcc
		case op == 0x05:
			return BranchSyscall
		case op == 0x34:
			return BranchSysenter
		}
	}
	return BranchNone
}

// Condition is the condition code of a BranchJcc (SDM volume 2, appendix B.1).
func (in *Inst) Condition() byte { return in.op & 15 }

// OpcodeAt is the offset of the opcode byte in the instruction: behind all
// prefixes and escapes, before ModRM.
func (in *Inst) OpcodeAt() int { return int(in.opAt) }

// DispAt is where the displacement of the ModRM operand lies in the
// instruction and its size in bytes: 1 or 4, 0 if there is none.
func (in *Inst) DispAt() (at, size int) {
	switch {
	case in.dispAt == 0:
		return 0, 0
	case in.disp8:
		return int(in.dispAt), 1
	}
	return int(in.dispAt), 4
}

// OpSize16 says that a 66 prefix counts: there is no REX.W to override it.
func (in *Inst) OpSize16() bool { return in.opsize && !in.w && !in.vex && !in.evex }

// Addr32 says that addresses are truncated to 32 bits, and that loop counts
// are ECX.
func (in *Inst) Addr32() bool { return in.addr32 }

// CallsThrough returns the register that holds the target of an indirect call.
func (in *Inst) CallsThrough() (Reg, bool) {
	return Reg(in.rm | in.b), in.Kind == KindCall && !in.Direct && in.mod == 3
}

// Locked says that there is a LOCK prefix.
func (in *Inst) Locked() bool { return in.lock }
