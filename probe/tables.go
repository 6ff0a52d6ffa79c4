package probe

import (
	"encoding/binary"

	"mgtrace/x86"
)

// maxTable bounds the entries of one jump table.
const maxTable = 4096

// markTables adds to the branch targets those of the jump tables of a range.
// Two kinds are recognised: 32-bit distances from the table's start, whose
// address a LEA computes (position-independent code of gcc and clang), and
// 64-bit addresses, named by the jump or load itself. A table ends with the
// first entry that leads out of the range. What no table explains is taken
// for a tail call, which leaves the function.
func (s *sweep) markTables(home int) {
	r := s.ranges[home]
	s.each(r, func(pc uint64, in *x86.Inst) {
		op, ok := in.Operand()
		if !ok {
			return
		}
		if _, lea := in.IsLea(); lea && op.RIPRelative {
			table := pc + uint64(in.Len) + uint64(op.Disp)
			s.markDistances(r, table)
			s.markAddresses(r, table)
		}
		if op.Index != x86.NoReg && op.Scale == 8 && op.Base == x86.NoReg {
			s.markAddresses(r, uint64(op.Disp))
		}
	})
}

// each visits the instructions of a range.
func (s *sweep) each(r coderange, visit func(pc uint64, in *x86.Inst)) {
	for pc := r.lo; pc < r.hi; {
		in, ok := s.inst(pc)
		if !ok {
			pc++
			continue
		}
		visit(pc, &in)
		pc += uint64(in.Len)
	}
}

func (s *sweep) markDistances(r coderange, table uint64) {
	data := s.file.Code(table, 4*maxTable)
	for ; len(data) >= 4; data = data[4:] {
		to := table + uint64(int64(int32(binary.LittleEndian.Uint32(data))))
		if to < r.lo || to >= r.hi || !s.starts.has(to) {
			return
		}
		s.targets.set(to)
	}
}

func (s *sweep) markAddresses(r coderange, table uint64) {
	data := s.file.Code(table, 8*maxTable)
	for ; len(data) >= 8; data = data[8:] {
		to := binary.LittleEndian.Uint64(data)
		if to < r.lo || to >= r.hi || !s.starts.has(to) {
			return
		}
		s.targets.set(to)
	}
}
