package objfile

import (
	"slices"

	"mgtrace/objfile/dwarf"
	"mgtrace/types"
)

// Local is a variable of a function's outermost scope, and where it lies as long as the function runs.
type Local struct {
	Func   Func
	Name   string
	Type   *types.Type
	Offset int64 // from the canonical frame address (CFA): the stack pointer before the call
	Size   uint64
	Why    string // it has no such place, and why; "": it has
}

// Opcodes of DWARF expressions (DWARF 5, section 7.7.1).
const (
	opAddr         = 0x03 // DW_OP_addr
	opAddrx        = 0xa1 // DW_OP_addrx
	opFbreg        = 0x91 // DW_OP_fbreg
	opCallFrameCFA = 0x9c // DW_OP_call_frame_cfa
	opRegBP        = 0x56 // DW_OP_reg6
	opRegSP        = 0x57 // DW_OP_reg7
)

// Locals returns the variables of this name in the functions that a name or pattern means, one of each function that has
// code of its own. One that is static, or lies in no function's outermost scope, is none.
func (f *File) Locals(pattern, name string) (found []Local) {
	for _, fn := range f.FuncsNamed(pattern) {
		_, s := f.subprogramAt(fn.Addr)
		if s == nil || s.ranges[0][0] != fn.Addr {
			continue
		}
		top := f.scopes(s)
		for _, sv := range top.vars {
			if sv.read(); sv.desc.name != name || sv.desc.param || static(sv, s) {
				continue
			}
			l := Local{Func: fn, Name: name, Type: f.conv.convert(sv.desc.typ)}
			if l.Type != nil && l.Type.Size > 0 {
				l.Size = uint64(l.Type.Size)
			}
			var ok bool
			if l.Offset, ok = f.framePlace(sv, s); !ok || l.Size == 0 {
				l.Why = "the compiler has given it no place in the function's frame that stays the same"
			} else if other := f.sharer(top, sv, s, l.Offset, l.Size); other != "" {
				l.Why = "the compiler has put `" + other + "` in the same place of the function's frame"
			}
			found = append(found, l)
		}
	}
	return found
}

// LocalNames are the names of the variables in the outermost scope of the functions that a pattern means, but for parameters.
func (f *File) LocalNames(pattern string) (names []string) {
	for _, fn := range f.FuncsNamed(pattern) {
		if _, s := f.subprogramAt(fn.Addr); s != nil && s.ranges[0][0] == fn.Addr {
			for _, sv := range f.scopes(s).vars {
				if sv.read(); sv.desc.name != "" && !sv.desc.param {
					names = append(names, sv.desc.name)
				}
			}
		}
	}
	return names
}

// static: a variable lies at an address.
func static(sv *scopeVar, s *subprogram) bool {
	return slices.ContainsFunc(sv.entries, func(e dwarf.Entry) bool {
		expr, list, found := e.ExprAt(dwarf.AttrLocation, s.ranges[0][0])
		return found && !list && len(expr) > 0 && (expr[0] == opAddr || expr[0] == opAddrx)
	})
}

// framePlace is where a variable lies, from the canonical frame address, if that is the same in all of the function: its
// location is no list, and an offset from a frame base that is one itself. gcc's frame base is the CFA, clang's
// the frame pointer, or else the stack pointer as it is in the function's body.
func (f *File) framePlace(sv *scopeVar, s *subprogram) (offset int64, ok bool) {
	if sv.read(); len(sv.entries) == 0 {
		return 0, false
	}
	for i := range sv.entries {
		expr, list, found := sv.entries[i].ExprAt(dwarf.AttrLocation, s.ranges[0][0])
		if !found {
			continue
		}
		if list || len(expr) < 2 || expr[0] != opFbreg {
			return 0, false
		}
		b := dwarf.NewBuf(expr, 1)
		offset = b.Sleb()
		if b.Bad() || b.More() || !f.steadyCFA(s) {
			return 0, false
		}
		base, ok := f.frameBaseOf(s)
		return offset + base, ok
	}
	return 0, false
}

// steadyCFA says that the CFA of a function is a register plus a number in all of it: where the stack is realigned
// for the sake of a variable, the place depends on more.
func (f *File) steadyCFA(s *subprogram) bool {
	_, rows, _ := f.frameRow(s.ranges[0][0])
	return rows != nil && !slices.ContainsFunc(rows.rows, func(r frameRow) bool { return r.cfa.kind != ruleRegister })
}

// frameBaseOf is the frame base of a function, from the CFA.
func (f *File) frameBaseOf(s *subprogram) (offset int64, ok bool) {
	var e dwarf.Entry
	if !s.ref.Read(&e) {
		return 0, false
	}
	expr, list, found := e.ExprAt(dwarf.AttrFrameBase, s.ranges[0][0])
	if !found || list || len(expr) != 1 {
		return 0, false
	}
	switch expr[0] {
	case opCallFrameCFA:
		return 0, true
	case opRegBP:
		offset, ok = f.bodyCFA(s, RegBP)
	case opRegSP:
		offset, ok = f.bodyCFA(s, RegSP)
	}
	return -offset, ok
}

// bodyCFA is the offset of the CFA from a register in the body of a function: by the row of the call frame information
// that most of its first range has.
func (f *File) bodyCFA(s *subprogram, reg int) (offset int64, ok bool) {
	bytes := map[int64]uint64{}
	r := s.ranges[0]
	_, rows, _ := f.frameRow(r[0])
	if rows == nil {
		return 0, false
	}
	for i := range rows.rows {
		row := &rows.rows[i]
		end := r[1]
		if i+1 < len(rows.rows) {
			end = min(end, rows.rows[i+1].pc)
		}
		if row.cfa.kind != ruleRegister || int(row.cfa.reg) != reg || row.pc < r[0] || row.pc >= end {
			continue
		}
		n := int64(row.cfa.n)
		if bytes[n] += end - row.pc; !ok || bytes[n] > bytes[offset] {
			offset, ok = n, true
		}
	}
	return offset, ok
}

// sharer is a variable of any scope of the function, inlined ones included, that lies in the same place: compilers put there
// what is not used at the same time. "": there is none.
func (f *File) sharer(in *scope, of *scopeVar, s *subprogram, offset int64, size uint64) string {
	for _, sv := range in.vars {
		if sv == of {
			continue
		}
		at, ok := f.framePlace(sv, s)
		if !ok {
			continue
		}
		n := int64(1)
		if t := f.conv.convert(sv.desc.typ); t != nil && t.Size > 0 {
			n = t.Size
		}
		if at < offset+int64(size) && offset < at+n {
			return sv.desc.name
		}
	}
	for _, inner := range in.inner {
		if name := f.sharer(inner, of, s, offset, size); name != "" {
			return name
		}
	}
	return ""
}

// CFA returns where the canonical frame address is at pc: a register, by its DWARF number, plus an offset.
func (f *File) CFA(pc uint64) (reg int, offset int64, ok bool) { return f.cfaAt(pc) }
