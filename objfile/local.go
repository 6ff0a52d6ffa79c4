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

// opFbreg is DW_OP_fbreg (DWARF 5, section 7.7.1).
const opFbreg = 0x91

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
			if sv.read(); sv.desc.name != name || sv.desc.param || f.static(sv, s) {
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
func (f *File) static(sv *scopeVar, s *subprogram) bool {
	return slices.ContainsFunc(sv.entries, func(e dwarf.Entry) bool {
		expr, list, found := e.ExprAt(dwarf.AttrLocation, s.ranges[0][0])
		return found && !list && f.placeAt(&e, s, s.ranges[0][0], expr).Kind == LocStatic
	})
}

func (f *File) placeAt(e *dwarf.Entry, s *subprogram, pc uint64, expr []byte) Location {
	l := locator{file: f, unit: e.Unit, sub: s, addr: pc}
	return l.locate(expr)
}

// framePlace is where a variable lies, from the canonical frame address, if that is the same in all of the function: its
// location is no list, and an offset from the frame base. gcc's frame base is the CFA, clang's the frame pointer, or else
// the stack pointer as it is in the function's body: so it is taken from what most of the function has. Where the
// stack is realigned for the sake of a variable, the CFA is no register plus a number, and the place depends on more.
func (f *File) framePlace(sv *scopeVar, s *subprogram) (offset int64, ok bool) {
	sv.read()
	i := slices.IndexFunc(sv.entries, func(e dwarf.Entry) bool {
		_, _, found := e.ExprAt(dwarf.AttrLocation, s.ranges[0][0])
		return found
	})
	if i < 0 {
		return 0, false
	}
	body := s.ranges[0]
	expr, list, _ := sv.entries[i].ExprAt(dwarf.AttrLocation, body[0])
	_, frame, _ := f.frameRow(body[0])
	if list || len(expr) == 0 || expr[0] != opFbreg || frame == nil {
		return 0, false
	}
	bytes := map[int64]uint64{} // of code, by offset
	for k := range frame.rows {
		row := &frame.rows[k]
		if row.cfa.kind != ruleRegister {
			return 0, false
		}
		end := body[1]
		if k+1 < len(frame.rows) {
			end = min(end, frame.rows[k+1].pc)
		}
		if row.pc < body[0] || row.pc >= end {
			continue
		}
		loc := f.placeAt(&sv.entries[i], s, row.pc, expr)
		if loc.Kind != LocRegOffset || loc.Reg != int(row.cfa.reg) {
			continue
		}
		at := loc.Offset - int64(row.cfa.n)
		if bytes[at] += end - row.pc; !ok || bytes[at] > bytes[offset] {
			offset, ok = at, true
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
