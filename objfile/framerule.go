package objfile

// FrameRule is a row of call frame information that computes nothing: the
// canonical frame address (CFA) is a register plus an offset, the return address
// lies right below it, and other registers are saved at offsets from it.
type FrameRule struct {
	Outermost bool  // there is no caller, or nothing tells it; the rest is 0
	CFA       uint8 // register number in DWARF's numbering
	Offset    int64
	Saved     uint32    // registers that are saved, by bit
	At        [16]int32 // where, from the CFA
	Lost      uint32    // registers that the caller's value of is not known
}

// Rule returns the row at pc, an address of the file as for Step, if it is so
// simple, and is not that of a signal handler's return.
func (f *File) Rule(pc uint64) (FrameRule, bool) {
	row, _, d := f.frameRow(pc)
	if row == nil {
		return FrameRule{Outermost: true}, true
	}
	if k := row.regs[RegPC].kind; k == ruleNone || k == ruleUndefined {
		return FrameRule{Outermost: true}, true
	}
	if d.cie.signal || row.cfa.kind != ruleRegister || row.cfa.reg >= RegPC {
		return FrameRule{}, false
	}
	if ra := row.regs[RegPC]; ra.kind != ruleOffset || ra.n != -8 {
		return FrameRule{}, false
	}
	r := FrameRule{CFA: row.cfa.reg, Offset: int64(row.cfa.n)}
	for i := range RegPC {
		switch row.regs[i].kind {
		case ruleNone:
			if calleeSaved>>i&1 == 0 {
				r.Lost |= 1 << i
			}
		case ruleSame:
		case ruleUndefined:
			r.Lost |= 1 << i
		case ruleOffset:
			r.Saved |= 1 << i
			r.At[i] = row.regs[i].n
		default:
			return FrameRule{}, false
		}
	}
	return r, true
}
