package slicing

import (
	"mgtrace/constraints/describe"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/query"
	"mgtrace/session/symbol"
	"mgtrace/slice"
	"mgtrace/slice/tell"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Value implements tell.Program. Memory that the history knows has its name there; a
// variable is known by its place at the instruction that wrote it, or else at the one that
// uses it.
func (n names) Value(l tell.Link) string {
	if l.Kind != slice.ByMemory {
		for r := range x86.Reg(16) {
			if whole := slice.Regs(x86.GPR(r, 0, 8)); l.Regs.Meets(&whole) {
				return n.inRegister(l.Use, r)
			}
		}
		return ""
	}
	if name := n.heap(l.Instant); name != "" {
		return name
	}
	if name := n.variable(l.Def); name != "" {
		return name
	}
	return n.variable(l.Use)
}

// heap names what a store of the history wrote to.
func (n names) heap(instant uint64) string {
	h := n.cells.History()
	t := query.AtInstant(h, trace.Instant(instant))
	if t > h.Now() {
		return ""
	}
	if op := h.Op(t); uint64(op.Instant) == instant && op.Kind == mgpp.OpStore {
		return n.cells.NameAt(h.At(t), op.Addr)
	}
	return ""
}

// variablesAt are the variables in scope at an address.
func (n names) variablesAt(pc uint64) ([]objfile.Variable, *symbol.Image) {
	im, ok := n.s.Image(trace.Addr(pc))
	if pc == 0 || !ok || im.Obj == nil {
		return nil, nil
	}
	return im.Obj.Variables(pc - uint64(im.Bias)), im
}

// inRegister names the variable that an instruction has in a register.
func (n names) inRegister(pc uint64, r x86.Reg) string {
	vars, _ := n.variablesAt(pc)
	for _, v := range vars {
		if v.Loc.Kind == objfile.LocReg && v.Loc.Reg == r.DWARF() {
			return v.Name
		}
	}
	return ""
}

// variable names the variable, or the part of one, that an instruction's memory operand
// is.
func (n names) variable(pc uint64) string {
	vars, im := n.variablesAt(pc)
	if im == nil {
		return ""
	}
	at := pc - uint64(im.Bias)
	in, err := x86.Decode(im.Obj.Code(at, x86.MaxLen), at)
	if err != nil {
		return ""
	}
	o, memory := in.Operand()
	want := objfile.Location{Kind: objfile.LocStatic, Offset: o.Disp}
	switch {
	case !memory:
		return ""
	case o.RIPRelative:
		want.Offset += int64(at) + int64(in.Len)
	case o.Base != x86.NoReg:
		want.Kind, want.Reg = objfile.LocRegOffset, o.Base.DWARF()
	}
	if want.Kind == objfile.LocStatic {
		if v, ok := im.Obj.GlobalAt(uint64(want.Offset)); ok {
			vars = append(vars, v)
		}
	}
	for _, v := range vars {
		off := want.Offset - v.Loc.Offset
		if v.Loc.Kind != want.Kind || v.Loc.Reg != want.Reg || v.Type == nil || off < 0 || off >= max(v.Type.Size, 1) {
			continue
		}
		if o.Index != x86.NoReg {
			return v.Name // which part of it is not known
		}
		return part(&v, off)
	}
	return ""
}

// maxParts bounds the scalars of a variable that are looked through.
const maxParts = 4096

// part names what lies at an offset of a variable.
func part(v *objfile.Variable, off int64) string {
	if v.Type.NumScalars() > maxParts {
		return v.Name
	}
	for _, s := range v.Type.Scalars() {
		if s.Offset <= off && off < s.Offset+s.Size {
			return describe.Join(v.Name, s.Path)
		}
	}
	return v.Name
}
