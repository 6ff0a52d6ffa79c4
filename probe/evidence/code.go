package evidence

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
	"golang.org/x/arch/x86/x86asm"

	"mgtrace/objfile"
	"mgtrace/types"
	"mgtrace/x86"
)

// decode reads the instruction at pc.
func decode(f *objfile.File, pc uint64) (x86asm.Inst, bool) {
	in, err := x86.Disassembled(f.Code(pc, 15))
	return in, err == nil && in.Len > 0
}

// argumentRegs are rdi, rsi, rdx, rcx, r8, r9.
func argumentRegs() [6]int { return [6]int{7, 6, 2, 1, 8, 9} }

// register converts a DWARF register number (x86-64 psABI figure 3.36).
func register(dwarf int) (int, bool) {
	if dwarf < 0 || dwarf > 15 {
		return 0, false
	}
	return [16]int{0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15}[dwarf], true
}

// generalReg returns the number of a 64-bit register operand.
func generalReg(a x86asm.Arg) (int, bool) {
	r, ok := a.(x86asm.Reg)
	if !ok || r < x86asm.RAX || r > x86asm.R15 {
		return 0, false
	}
	return int(r - x86asm.RAX), true
}

// anyReg returns the number of a general register operand of any width, and
// its width in bytes.
func anyReg(a x86asm.Arg) (reg, width int, ok bool) {
	r, isReg := a.(x86asm.Reg)
	switch {
	case !isReg:
		return 0, 0, false
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + 4, 1, true
	}
	return 0, 0, false
}

func branchTarget(in x86asm.Inst, next uint64) (uint64, bool) {
	if rel, ok := in.Args[0].(x86asm.Rel); ok {
		return next + uint64(int64(rel)), true
	}
	return 0, false
}

// target returns where a jump or call leads. A call through an entry of the
// global offset table (-fno-plt) leads to that entry, by which calleeName
// knows the import.
func (w *walk) target(in x86asm.Inst, next uint64) (uint64, bool) {
	if m, ok := in.Args[0].(x86asm.Mem); ok && m.Base == x86asm.RIP && (in.Op == x86asm.CALL || in.Op == x86asm.JMP) {
		slot := next + uint64(m.Disp)
		return slot, w.file.ImportSlot(slot) != ""
	}
	return branchTarget(in, next)
}

func isConditional(op x86asm.Op) bool {
	switch op {
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JCXZ, x86asm.JE, x86asm.JECXZ, x86asm.JG, x86asm.JGE, x86asm.JL,
		x86asm.JLE, x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JRCXZ, x86asm.JS,
		x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE:
		return true
	}
	return false
}

// branch says which ways of a conditional jump the new pointer goes: not where
// it was found to be NULL.
func (s *state) branch(op x86asm.Op) (taken, falls bool) {
	if s.test < 0 || s.reg[s.test].kind != fresh || !s.reg[s.test].isFresh() || s.reg[s.test].off != 0 {
		return true, true
	}
	switch op {
	case x86asm.JE:
		return false, true
	case x86asm.JNE:
		return true, false
	}
	return true, true
}

// afterCall forgets what a call may change.
func (s *state) afterCall(result value) {
	for r := range s.reg {
		if result.call != 0 && s.reg[r].call == result.call {
			s.reg[r] = value{} // what it returned the last time
		}
	}
	for _, r := range [...]int{0, 1, 2, 6, 7, 8, 9, 10, 11} {
		s.reg[r] = value{}
	}
	s.reg[0] = result
	s.test = -1
}

// resultOf returns the result of a call that returns to ret, as far as it is known.
func (w *walk) resultOf(target uint64, direct bool, ret uint64, st *state) value {
	if !direct {
		return value{call: ret}
	}
	switch w.calleeLinkage(target) {
	case "memset", "memcpy", "memmove", "strcpy", "strncpy":
		return st.reg[7]
	case "_ZnwmPv", "_ZnamPv":
		return st.reg[6] // the placement form of operator new or new[] (C++17 [new.delete.placement]): without optimisation it is called
	}
	if st.reg[7].kind == fresh && w.passes(target) {
		return st.reg[7]
	}
	if t := pointee(w.file.ReturnType(target)); t != nil {
		return value{kind: pointer, to: t}
	}
	return value{call: ret}
}

// passes reports whether a function returns its first argument, as one does that
// checks for NULL: need(malloc(n)).
func (w *walk) passes(target uint64) bool {
	if is, known := w.pass[target]; known || w.inside {
		return is
	}
	is := false
	if t := w.file.ReturnType(target); t != nil && t.Kind == types.Pointer && w.steps < maxSteps {
		c := newWalk(w.file, target+1, w.statics) // FuncAt of an address inside
		c.start, c.inside, c.steps = target, true, maxSteps-maxInside
		c.framed = c.hasFramePointer()
		st := state{test: -1}
		st.reg[7] = value{kind: fresh}
		c.from(st)
		is = c.fn.Addr == target && c.returned && c.returnOffset == 0 && !c.other && c.steps < maxSteps
	}
	w.pass[target] = is
	return is
}

// calleeName returns the plain name of a called function, of its import where
// it is called through the procedure linkage table.
func (w *walk) calleeName(target uint64) string { return plainName(w.calleeLinkage(target)) }

// calleeLinkage is calleeName as the linker has it, without a version.
func (w *walk) calleeLinkage(target uint64) string {
	name := w.imported(target)
	if name == "" {
		name = w.file.LinkageAt(target)
	}
	name, _, _ = strings.Cut(name, "@")
	return name
}

// imported is the linker name of an import that is called through the procedure linkage table, or by its slot; "": it is none.
func (w *walk) imported(target uint64) string {
	if name := w.file.Import(target); name != "" {
		return name
	}
	return w.file.ImportSlot(target)
}

// plainName demangles a function's name and leaves out its parameters.
func plainName(linkage string) string { return demangle.Filter(linkage, demangle.NoParams) }

// noReturn reports whether a called function never returns: behind such a call
// lies other code.
func (w *walk) noReturn(target uint64) bool {
	if fn, ok := w.file.FuncAt(target); ok && fn.NoReturn {
		return true
	}
	switch w.calleeName(target) {
	case "abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert_perror_fail", "__stack_chk_fail",
		"__fortify_fail", "__chk_fail", "err", "errx", "verr", "verrx", "longjmp", "siglongjmp", "_longjmp", "pthread_exit",
		"__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "std::terminate", "__cxa_throw_bad_array_new_length", "xalloc_die":
		return true
	}
	return strings.HasPrefix(w.calleeName(target), "std::__throw_")
}

// variables returns the variables in scope at pc.
func (w *walk) variables(pc uint64) []objfile.Variable {
	v, ok := w.vars[pc]
	if !ok {
		v = w.file.Variables(pc)
		w.vars[pc] = v
	}
	return v
}

// beforeCall computes what is known just behind the call that returns to the
// start of the walk.
func (w *walk) beforeCall() state {
	block, call := w.blockBefore()
	// The first pass finds how far the stack pointer moves in the block, so
	// that in the second it is 0 at the call (see slotOf).
	moved := w.through(block, 0).sp
	st := w.through(block, -moved)
	regs := argumentRegs()
	for i := range w.args {
		w.args[i] = st.reg[regs[i]]
	}
	if target, direct := w.target(call, w.start); direct && call.Op == x86asm.CALL {
		w.callee = w.calleeName(target)
	}
	st.afterCall(value{kind: fresh})
	return st
}

// through applies a straight run of instructions.
func (w *walk) through(block []located, sp int64) state {
	st := state{test: -1, sp: sp}
	for _, in := range block {
		if in.inst.Op == x86asm.CALL {
			ret := in.pc + uint64(in.inst.Len)
			target, direct := w.target(in.inst, ret)
			st.afterCall(w.resultOf(target, direct, ret, &st))
		} else if !w.step(in.pc, in.inst, &st) {
			st = state{test: -1, sp: st.sp}
		}
	}
	return st
}

type located struct {
	pc   uint64
	inst x86asm.Inst
}

// blockBefore returns the instructions from the last place before the call to
// which a branch leads, up to the call, and the call.
func (w *walk) blockBefore() (block []located, call x86asm.Inst) {
	lo := w.fn.Addr
	for _, r := range w.fn.Ranges {
		if r[0] <= w.start-1 && w.start-1 < r[1] {
			lo = r[0]
		}
	}
	if lo == 0 || lo >= w.start || w.start-lo > maxLinear {
		return nil, call
	}
	w.framed = w.hasFramePointer()
	targets := map[uint64]bool{}
	for pc := lo; pc < w.start; {
		in, ok := decode(w.file, pc)
		if !ok || pc+uint64(in.Len) > w.start {
			return nil, call
		}
		next := pc + uint64(in.Len)
		if next == w.start {
			call = in
			break
		}
		block = append(block, located{pc, in})
		if in.Op == x86asm.JMP || in.Op == x86asm.RET {
			targets[next] = true
		}
		if t, ok := branchTarget(in, next); ok && in.Op != x86asm.CALL {
			targets[t] = true
		}
		pc = next
	}
	w.addBackEdges(targets)
	from := 0
	for i, in := range block {
		if targets[in.pc] {
			from = i
		}
	}
	return block[from:], call
}

// addBackEdges adds the targets of jumps that stand behind the call.
func (w *walk) addBackEdges(targets map[uint64]bool) {
	for _, r := range w.fn.Ranges {
		pc := r[0]
		if pc <= w.start && w.start <= r[1] {
			pc = w.start
		}
		for n := 0; pc < r[1] && n < maxLinear; n++ {
			in, ok := decode(w.file, pc)
			if !ok {
				break
			}
			pc += uint64(in.Len)
			if t, ok := branchTarget(in, pc); ok && in.Op != x86asm.CALL {
				targets[t] = true
			}
		}
	}
}

// hasFramePointer reports whether the function begins with push rbp; mov rbp, rsp.
func (w *walk) hasFramePointer() bool {
	pushed := false
	for pc, n := w.fn.Addr, 0; n < 6; n++ {
		in, ok := decode(w.file, pc)
		if !ok {
			return false
		}
		pc += uint64(in.Len)
		switch {
		case in.Op == x86asm.PUSH && in.Args[0] == x86asm.RBP:
			pushed = true
		case in.Op == x86asm.MOV && in.Args[0] == x86asm.RBP && in.Args[1] == x86asm.RSP:
			return pushed
		}
	}
	return false
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// global returns the variable in static memory that holds addr.
func (w *walk) global(addr int64) (objfile.Variable, bool) {
	return w.statics.at(w.file, addr)
}
