package evidence

import (
	"golang.org/x/arch/x86/x86asm"

	"mgtrace/objfile"
	"mgtrace/types"
)

// step applies an instruction that is neither a call, a jump nor a return.
// False: it is not understood well enough to go on.
func (w *walk) step(pc uint64, in x86asm.Inst, st *state) bool {
	switch in.Op {
	case x86asm.CMP, x86asm.TEST:
		st.test = w.nullTest(in, st)
		return true
	case x86asm.NOP, x86asm.PAUSE, x86asm.PREFETCHT0, x86asm.PREFETCHW, x86asm.PREFETCHNTA, x86asm.UCOMISD,
		x86asm.UCOMISS, x86asm.COMISD, x86asm.COMISS, x86asm.BT, x86asm.CLD, x86asm.MFENCE, x86asm.LFENCE, x86asm.SFENCE:
		st.test = -1
		return true
	case x86asm.HLT, x86asm.UD2, x86asm.INT, x86asm.SYSCALL, x86asm.LJMP, x86asm.LCALL, x86asm.LRET, x86asm.IRET, x86asm.ENTER:
		return false
	case x86asm.MOV:
		w.mov(pc, in, st)
		return true
	}
	switch in.Op { // those below change flags or do not matter to them
	case x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.CDQE, x86asm.LEA, x86asm.PUSH, x86asm.POP:
	default:
		st.test = -1
	}
	switch in.Op {
	case x86asm.PUSH:
		w.push(pc, in, st)
	case x86asm.POP:
		v := st.load(slotKey{off: st.sp})
		st.sp += 8
		setArg(in.Args[0], v, st)
	case x86asm.LEAVE:
		st.reg[5] = value{}
		st.loseStack()
	case x86asm.LEA:
		w.lea(pc, in, st)
	case x86asm.ADD, x86asm.SUB:
		w.addSub(pc, in, st)
	case x86asm.SHL, x86asm.IMUL:
		w.multiply(pc, in, st)
	case x86asm.MOVSX, x86asm.MOVSXD, x86asm.MOVZX:
		setArg(in.Args[0], widened(w.operand(pc, in, in.Args[1], st)), st)
	case x86asm.CDQE:
		st.reg[0] = widened(st.reg[0])
	case x86asm.XCHG:
		w.xchg(pc, in, st)
	case x86asm.XOR:
		if a, _, ok := anyReg(in.Args[0]); ok && in.Args[0] == in.Args[1] {
			st.reg[a] = constant(0)
			break
		}
		w.forget(in, st)
	default:
		w.forget(in, st)
	}
	return true
}

// nullTest returns the register that an instruction compares with 0, or -1.
func (w *walk) nullTest(in x86asm.Inst, st *state) int8 {
	a, ok := generalReg(in.Args[0])
	if !ok {
		return w.nullTestOfSlot(in, st)
	}
	if in.Op == x86asm.TEST && in.Args[0] == in.Args[1] || in.Op == x86asm.CMP && in.Args[1] == x86asm.Imm(0) {
		return int8(a)
	}
	return -1
}

// nullTestOfSlot handles "cmp qword ptr [rbp-8], 0": any register that holds
// the same as the slot stands for it.
func (w *walk) nullTestOfSlot(in x86asm.Inst, st *state) int8 {
	m, isMem := in.Args[0].(x86asm.Mem)
	if !isMem || in.Op != x86asm.CMP || in.Args[1] != x86asm.Imm(0) || in.MemBytes != 8 {
		return -1
	}
	key, ok := w.slotOfMem(m, st)
	if v := st.load(key); ok && v.isFresh() {
		for r, have := range st.reg {
			if have == v {
				return int8(r)
			}
		}
	}
	return -1
}

// mov copies between registers, memory and immediates. What a call has returned as void * is
// a pointer as is stored where it goes:
//
//	head->tbl = malloc(…); head->tbl->buckets = malloc(…)
func (w *walk) mov(pc uint64, in x86asm.Inst, st *state) {
	v := w.operand(pc, in, in.Args[1], st)
	if m, ok := in.Args[0].(x86asm.Mem); ok {
		w.storeTo(m, v, int64(in.MemBytes), st)
		if v.kind == unknown && v.call != 0 {
			if t, _ := w.pointerStoredAt(w.address(pc, in, m, st), nil); t != nil && t.Kind != types.Void && t.Kind != types.Func {
				st.learn(v.call, t)
			}
		}
		return
	}
	setArg(in.Args[0], v, st)
}

func (w *walk) storeTo(m x86asm.Mem, v value, size int64, st *state) {
	if key, ok := w.slotOfMem(m, st); ok {
		st.store(key, v, max(size, 1))
	}
}

func (w *walk) push(pc uint64, in x86asm.Inst, st *state) {
	v := w.operand(pc, in, in.Args[0], st)
	st.sp -= 8
	st.store(slotKey{off: st.sp}, v, 8)
}

func (w *walk) lea(pc uint64, in x86asm.Inst, st *state) {
	m, ok := in.Args[1].(x86asm.Mem)
	if !ok {
		return
	}
	if key, isSlot := w.slotOfMem(m, st); isSlot {
		setArg(in.Args[0], value{kind: place, frame: key.frame, off: key.off}, st)
		return
	}
	setArg(in.Args[0], w.address(pc, in, m, st), st)
}

func (w *walk) addSub(pc uint64, in x86asm.Inst, st *state) {
	m, isMem := in.Args[0].(x86asm.Mem)
	if isMem {
		w.storeTo(m, value{}, int64(in.MemBytes), st)
		return
	}
	x, y := w.operand(pc, in, in.Args[0], st), w.operand(pc, in, in.Args[1], st)
	if in.Args[0] == x86asm.RSP {
		if n, ok := y.exact(); ok {
			if in.Op == x86asm.SUB {
				n = -n
			}
			st.sp += n
		} else {
			st.loseStack() // alloca
		}
		return
	}
	if in.Op == x86asm.ADD && in.Args[0] == in.Args[1] {
		setArg(in.Args[0], scale(x, 2), st)
		return
	}
	if in.Op == x86asm.SUB {
		if y.kind != number {
			setArg(in.Args[0], value{}, st)
			return
		}
		y = scale(y, -1)
	}
	setArg(in.Args[0], add(x, y), st)
}

func (w *walk) multiply(pc uint64, in x86asm.Inst, st *state) {
	x, y := w.operand(pc, in, in.Args[0], st), in.Args[1]
	if in.Args[2] != nil { // imul r, r/m, imm
		x, y = w.operand(pc, in, in.Args[1], st), in.Args[2]
	}
	n, ok := y.(x86asm.Imm)
	_, _, isReg := anyReg(in.Args[0])
	switch {
	case !isReg || in.Args[1] == nil || !ok || in.Op == x86asm.SHL && n > 62:
		w.forget(in, st)
		if isReg {
			setArg(in.Args[0], anyNumber(), st)
		}
	case in.Op == x86asm.SHL:
		setArg(in.Args[0], scale(x, 1<<uint(n)), st)
	default:
		setArg(in.Args[0], scale(x, int64(n)), st)
	}
}

// widened is an integer that was extended from fewer bits.
func widened(v value) value {
	if v.kind == number {
		return v
	}
	return anyNumber()
}

func (w *walk) xchg(pc uint64, in x86asm.Inst, st *state) {
	x, y := w.operand(pc, in, in.Args[0], st), w.operand(pc, in, in.Args[1], st)
	for i, v := range [2]value{y, x} {
		if m, ok := in.Args[i].(x86asm.Mem); ok {
			w.storeTo(m, v, int64(in.MemBytes), st)
		} else {
			setArg(in.Args[i], v, st)
		}
	}
}

// forget forgets what an instruction of no further interest may write: its
// first operand and the registers that it names without saying so.
func (w *walk) forget(in x86asm.Inst, st *state) {
	if m, ok := in.Args[0].(x86asm.Mem); ok {
		w.storeTo(m, value{}, max(int64(in.MemBytes), 8), st)
	} else if in.Args[0] != nil {
		setArg(in.Args[0], value{}, st)
	}
	switch in.Op {
	case x86asm.XADD, x86asm.CMPXCHG:
		if r, _, ok := anyReg(in.Args[1]); ok {
			st.reg[r] = value{}
		}
		st.reg[0] = value{}
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV, x86asm.IMUL, x86asm.CDQ, x86asm.CQO, x86asm.CWD, x86asm.CMPXCHG16B, x86asm.RDTSC,
		x86asm.CPUID, x86asm.RDTSCP, x86asm.XGETBV:
		for _, r := range [...]int{0, 1, 2, 3} {
			if r == 0 || r == 2 || in.Op == x86asm.CPUID || in.Op == x86asm.RDTSCP && r == 1 {
				st.reg[r] = value{}
			}
		}
	case x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ, x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ,
		x86asm.CMPSB, x86asm.CMPSW, x86asm.CMPSQ, x86asm.SCASB, x86asm.SCASW, x86asm.SCASD, x86asm.SCASQ,
		x86asm.LODSB, x86asm.LODSW, x86asm.LODSD, x86asm.LODSQ:
		if _, isReg := in.Args[0].(x86asm.Reg); !isReg || in.Op != x86asm.MOVSD { // not the SSE movsd
			st.reg[1], st.reg[6], st.reg[7] = value{}, value{}, value{}
		}
	}
}

// setArg writes a register operand. Writing fewer than 8 bytes leaves no pointer.
func setArg(a x86asm.Arg, v value, st *state) {
	r, width, ok := anyReg(a)
	switch {
	case !ok:
		return
	case r == 4: // only push, pop, add and sub are followed
		st.loseStack()
		return
	case width == 4 && v.kind != number:
		v = anyNumber()
	case width < 4:
		v = value{}
	}
	st.reg[r] = v
	if st.test == int8(r) {
		st.test = -1
	}
}

// operand returns the value of a source operand.
func (w *walk) operand(pc uint64, in x86asm.Inst, a x86asm.Arg, st *state) value {
	switch a := a.(type) {
	case x86asm.Imm:
		return constant(int64(a))
	case x86asm.Reg:
		r, width, ok := anyReg(a)
		if !ok {
			return value{}
		}
		v := w.value(pc, r, st)
		if width < 8 && v.kind != number {
			return anyNumber()
		}
		return v
	case x86asm.Mem:
		if in.MemBytes != 8 {
			return anyNumber()
		}
		return w.load(pc, in, a, st)
	}
	return value{}
}

// value returns what a register holds: what the walk saw, else what debug
// information says of it.
func (w *walk) value(pc uint64, r int, st *state) value {
	held := st.reg[r]
	if held.sure() {
		return held
	}
	for _, v := range w.variables(pc) {
		at, ok := register(v.Loc.Reg)
		if !ok || at != r {
			continue
		}
		switch known := ofType(v.Type, 0); {
		case v.Loc.Kind == objfile.LocReg && known.kind != unknown:
			return known
		case v.Loc.Kind == objfile.LocRegValue && known.kind == pointer:
			known.off = -v.Loc.Offset
			return known
		}
	}
	return held
}

// ofType is the value of a variable or field of type t, or of the pointer off
// bytes into it.
func ofType(t *types.Type, off int64) value {
	if t == nil {
		return value{}
	}
	if to := pointerAt(t, off, 0); to != nil {
		return value{kind: pointer, to: to}
	}
	switch t.Kind {
	case types.Int, types.Uint, types.Bool, types.Enum:
		return anyNumber()
	}
	return value{}
}

// load reads 8 bytes of memory.
func (w *walk) load(pc uint64, in x86asm.Inst, m x86asm.Mem, st *state) value {
	if key, ok := w.slotOfMem(m, st); ok {
		held := st.load(key)
		if !held.sure() {
			if v := w.variableAt(pc, key, st); v.kind != unknown {
				return v
			}
		}
		return held
	}
	switch at := w.address(pc, in, m, st); at.kind {
	case pointer:
		if to := throughPointer(at.to, at.off, at.stride, nil); to != nil {
			return value{kind: pointer, to: to}
		}
	case number:
		if v, ok := w.global(at.off); ok {
			if to := pointerAt(v.Type, at.off-v.Loc.Offset, at.stride); to != nil {
				return value{kind: pointer, to: to}
			}
		}
	}
	return value{}
}

// variableAt returns the value of the variable that lies in a stack slot.
func (w *walk) variableAt(pc uint64, key slotKey, st *state) value {
	for _, v := range w.variables(pc) {
		if v.Loc.Kind != objfile.LocRegOffset || v.Type == nil {
			continue
		}
		at, ok := w.slotOf(v.Loc.Reg, v.Loc.Offset, st)
		if off := key.off - at.off; ok && at.frame == key.frame && off >= 0 && off < v.Type.Size {
			if known := ofType(v.Type, off); known.kind != unknown {
				return known
			}
		}
	}
	return value{}
}

// address computes the address of a memory operand.
func (w *walk) address(pc uint64, in x86asm.Inst, m x86asm.Mem, st *state) value {
	if m.Segment == x86asm.FS || m.Segment == x86asm.GS {
		return value{}
	}
	if m.Base == x86asm.RIP {
		return constant(int64(pc) + int64(in.Len) + m.Disp)
	}
	sum := constant(m.Disp)
	if r, ok := generalReg(m.Base); ok {
		sum = add(w.value(pc, r, st), sum)
	} else if m.Base != 0 {
		return value{}
	}
	if r, ok := generalReg(m.Index); ok {
		index := w.value(pc, r, st)
		if m.Scale > 1 || index.kind == unknown {
			index = scale(index, int64(max(m.Scale, 1)))
		}
		sum = add(sum, index)
	} else if m.Index != 0 {
		return value{}
	}
	return sum
}

// slotOf returns the stack slot at a DWARF register plus an offset. Relative to
// the stack pointer it is sure only where that is as at the call: clang names
// places by it without regard to arguments that were pushed since.
func (w *walk) slotOf(dwarf int, off int64, st *state) (slotKey, bool) {
	switch dwarf {
	case objfile.RegSP:
		return slotKey{off: st.sp + off}, st.sp == 0
	case objfile.RegBP:
		return slotKey{frame: true, off: off}, w.framed
	}
	return slotKey{}, false
}

// slotOfMem returns the stack slot that a memory operand names.
func (w *walk) slotOfMem(m x86asm.Mem, st *state) (slotKey, bool) {
	if m.Index != 0 || m.Segment == x86asm.FS || m.Segment == x86asm.GS {
		return slotKey{}, false
	}
	switch m.Base {
	case x86asm.RSP:
		return slotKey{off: st.sp + m.Disp}, true
	case x86asm.RBP:
		return slotKey{frame: true, off: m.Disp}, w.framed
	}
	return slotKey{}, false
}
