package x86

// KernelProbeable says whether Linux accepts a uprobe on the instruction at the
// start of code, and if not, why. The rules are those of uprobe_init_insn in
// arch/x86/kernel/uprobes.c (kernel 5.0 to 6.18): some prefixes, the
// instructions that mask the next one's exceptions, and a table of opcodes. It
// is asked with the opcode byte alone whatever the map, so a VEX or EVEX
// instruction is refused if its byte is a bad opcode of the one-byte map.
//
// Worse, and rules of our own: the kernel accepts a probe on some instructions
// that it then executes wrongly (TestKernelExecutes of package probe, kernel
// 6.18).
//
//   - branch_setup_xol_ops and push_setup_xol_ops look at the byte of a VEX or
//     EVEX instruction too, and take it for the jump, call, push or nop of the
//     one-byte map, which they emulate. The program goes on without the
//     instruction having executed: vmovdqu to memory (7F) stores nothing.
//   - arch_uprobe_analyze_insn does the same for what needs care after a
//     single-step: vcmpps (C2) is taken for ret, so the program goes on behind
//     the copy that was stepped; vfnmadd132ss (9D) for popf.
//   - xchg of r8 with rax is 90 with REX.B, and emulated as a nop.
//   - A nop of five bytes becomes a call after its first hits (since 6.18). Its
//     return address overwrites the red zone of a leaf function.
func KernelProbeable(code []byte) (ok bool, reason string) {
	in, err := Decode(code, 0)
	if err != nil {
		return false, err.Error()
	}
	return in.KernelProbeable()
}

// KernelProbeable is as the function of this name.
func (in *Inst) KernelProbeable() (ok bool, reason string) {
	op := in.op
	switch {
	case in.lock:
		return false, "LOCK prefix"
	case in.badSegment:
		return false, "CS, DS, ES or SS prefix"
	case in.opmap == mapXOP:
		return false, "XOP instruction"
	case in.opmap == map1B && !in.vex && !in.evex && op == 0x8e && in.reg == 2:
		return false, "mov to SS"
	case in.opsize && in.nearBranch():
		return false, "branch with an operand-size prefix"
	case in.Len == 5 && in.IsNop():
		return false, "nop that the kernel replaces by a call"
	case !in.vex && !in.evex && in.opmap != map1B:
		return true, "" // the table accepts 0F, and asks no further
	case (in.vex || in.evex) && kernelMistakes(op):
		return false, "vector instruction that the kernel takes for another"
	case !in.vex && !in.evex && op == 0x90 && in.b != 0:
		return false, "xchg that the kernel takes for a nop"
	case !kernelBad.has(op):
		return true, ""
	case in.vex || in.evex:
		return false, "vector instruction that the kernel does not single-step"
	}
	return false, "instruction that the kernel does not single-step"
}

// VectorOnly says that the instruction changes vector registers alone, neither
// general registers nor flags nor memory: behind it a function's arguments and
// stack pointer are still what they were before. It knows those with which
// functions begin: vmovd, vmovq, vpbroadcast, vpxor, vxorps, vzeroupper.
func (in *Inst) VectorOnly() bool {
	if !in.vex && !in.evex || in.Effect != EffectNone {
		return false
	}
	switch in.opmap {
	case map0F:
		return in.op == 0x57 || in.op == 0x6e || in.op == 0x77 || in.op == 0xef
	case map38:
		return in.op == 0x58 || in.op == 0x59 || in.op >= 0x78 && in.op <= 0x7c
	}
	return false
}

// kernelMistakes says that the kernel treats the instruction with this byte in
// the one-byte map in its own way: it emulates push, jcc, nop, call, jmp, and
// mends the state after popf, far call, ret, indirect calls and jumps.
func kernelMistakes(op byte) bool {
	switch op {
	case 0x90, 0xe8, 0xe9, 0xeb, 0x9a, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xea, 0xff:
		return true
	}
	return op >= 0x50 && op <= 0x57 || op >= 0x70 && op <= 0x7f
}

// nearBranch: the direct branches that the kernel emulates. With prefix 66 it
// does not, as AMD and Intel disagree on what that does (branch_setup_xol_ops).
func (in *Inst) nearBranch() bool {
	if in.vex || in.evex {
		return false
	}
	op := in.op
	switch in.opmap {
	case map1B:
		return op >= 0x70 && op <= 0x7f || op == 0xe8 || op == 0xe9 || op == 0xeb
	case map0F:
		return op >= 0x80 && op <= 0x8f
	}
	return false
}

// kernelBad is the complement of good_insns_64.
var kernelBad = ranges(0x06, 0x07, 0x0e, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x27, 0x2f, 0x2f,
	0x37, 0x37, 0x3f, 0x3f, 0x60, 0x62, 0x6c, 0x6f, 0x82, 0x82, 0x9a, 0x9a, 0xcc, 0xcf,
	0xd4, 0xd6, 0xe4, 0xe7, 0xea, 0xea, 0xec, 0xef, 0xf1, 0xf1, 0xf4, 0xf4, 0xfa, 0xfb)
