package objfile

// calleeSaved are the registers that a function leaves as they were (x86-64
// psABI, section 3.2.1): rbx, rbp, r12 to r15.
const calleeSaved = 1<<3 | 1<<RegBP | 1<<12 | 1<<13 | 1<<14 | 1<<15

// Step unwinds one frame: from the registers in a function to those of its
// caller just after the call returns.
//
// pc chooses the row of the table, as an address of the file: the program
// counter itself in the innermost frame and in one that a signal interrupted
// (SignalFrame of the frame above it), and the return address minus 1
// otherwise, since a call may be the last instruction of its function. bias is
// where the file is mapped: an address of the process minus that of the file.
// It is false if there is no caller or it can not be told; registers that the
// callee may have lost are not Known in the result.
func (f *File) Step(pc uint64, regs *Regs, mem ReadMem, bias uint64) (Regs, bool) {
	row, tab, _ := f.frameRow(pc)
	if row == nil {
		return Regs{}, false
	}
	t := f.cfiTable()
	buf := t.pool.Get().(*[8]byte)
	defer t.pool.Put(buf)
	m := exprMachine{regs: regs, mem: mem, buf: buf, bias: bias}

	cfa, ok := m.cfa(row, tab)
	if !ok {
		return Regs{}, false
	}
	var out Regs
	for i := range row.regs {
		r := &row.regs[i]
		if r.kind == ruleNone {
			switch {
			case i == RegSP:
				out.Set(i, cfa)
			case calleeSaved>>i&1 != 0 && regs.Known>>i&1 != 0:
				out.Set(i, regs.R[i])
			}
			continue
		}
		if v, ok := m.rule(r, tab, i, cfa); ok {
			out.Set(i, v)
		}
	}
	return out, out.Known>>RegPC&1 != 0 && out.R[RegPC] != 0
}

// SignalFrame says whether pc lies in the code that returns from a signal
// handler: its caller is then where the signal struck, not a call.
func (f *File) SignalFrame(pc uint64) bool {
	t := f.cfiTable()
	i := findFDE(t.fdes, pc)
	return i >= 0 && t.fdes[i].cie.signal
}

// Level is one activation on a stack.
type Level struct {
	Regs Regs
	// Exact says that the program counter is that of the instruction to be
	// executed; otherwise it is a return address, and the call lies before it.
	Exact bool
}

// Lookup returns the address by which the level's place is found.
func (l *Level) Lookup() uint64 {
	if l.Exact {
		return l.Regs.PC()
	}
	return l.Regs.PC() - 1
}

// Unwind returns the activations of a stack, innermost first, at most limit of
// them. find gives the file that is mapped at an address of the process.
func Unwind(regs Regs, limit int, find func(pc uint64) (f *File, bias uint64, ok bool), mem ReadMem) []Level {
	var stack []Level
	level := Level{Regs: regs, Exact: true}
	for len(stack) < limit {
		stack = append(stack, level)
		pc := level.Lookup()
		f, bias, ok := find(pc)
		if !ok {
			break
		}
		next, ok := f.Step(pc-bias, &level.Regs, mem, bias)
		if !ok {
			break
		}
		signal := f.SignalFrame(pc - bias)
		if !signal && next.SP() <= level.Regs.SP() {
			break // stacks grow down: a caller's frame lies above
		}
		level = Level{Regs: next, Exact: signal}
	}
	return stack
}

// exprMachine evaluates the rules of a row for given registers.
type exprMachine struct {
	regs *Regs
	mem  ReadMem
	buf  *[8]byte
	bias uint64
}

func (m *exprMachine) cfa(row *frameRow, tab *frameRows) (uint64, bool) {
	switch row.cfa.kind {
	case ruleRegister:
		v, ok := m.reg(uint64(row.cfa.reg))
		return v + uint64(int64(row.cfa.n)), ok
	case ruleValExpr:
		return m.eval(tab.exprs[row.cfa.n], 0, false)
	}
	return 0, false
}

func (m *exprMachine) rule(r *frameRule, tab *frameRows, reg int, cfa uint64) (uint64, bool) {
	switch r.kind {
	case ruleSame:
		return m.reg(uint64(reg))
	case ruleOffset:
		return m.word(cfa+uint64(int64(r.n)), 8)
	case ruleValOffset:
		return cfa + uint64(int64(r.n)), true
	case ruleRegister:
		return m.reg(uint64(r.reg))
	case ruleExpr:
		addr, ok := m.eval(tab.exprs[r.n], cfa, true)
		if !ok {
			return 0, false
		}
		return m.word(addr, 8)
	case ruleValExpr:
		return m.eval(tab.exprs[r.n], cfa, true)
	}
	return 0, false
}

func (m *exprMachine) reg(i uint64) (uint64, bool) {
	if i >= uint64(len(m.regs.R)) || m.regs.Known>>i&1 == 0 {
		return 0, false
	}
	return m.regs.R[i], true
}

// word reads size bytes of memory as an unsigned number.
func (m *exprMachine) word(addr uint64, size int) (uint64, bool) {
	if size < 1 || size > 8 || !m.mem(addr, m.buf[:size]) {
		return 0, false
	}
	var v uint64
	for i := size - 1; i >= 0; i-- {
		v = v<<8 | uint64(m.buf[i])
	}
	return v, true
}
