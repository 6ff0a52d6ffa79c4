package analysis

import (
	"slices"

	"mgtrace/objfile"
	"mgtrace/replay"
	"mgtrace/trace"
)

// A call that the compiler has inlined is executed again where it stands, with the registers that it began with; if that does not do what
// was recorded, since it needs more of the frame that it is in, the function's own copy is, if there is one.

// inlinedAt is how a call began, by the registers and the stack that were told, and where; nil: that is not known, or not every exit of it.
func (a *Analysis) inlinedAt(k *call, told []uint64) (b *replay.Begun, entry trace.Addr) {
	if len(told) < trace.BegunRegs {
		return nil, 0
	}
	entry = trace.Addr(told[trace.BegunRegs-1])
	fn := trace.FuncID(0)
	for i := range a.prog.Points {
		if p := &a.prog.Points[i]; p.At == entry && p.Kind == "inline-entry" && p.Function == k.Function {
			fn = p.Func
		}
	}
	if fn == 0 {
		return nil, 0
	}
	b = &replay.Begun{Regs: [16]uint64(told), Frame: told[trace.BegunRegs:]}
	for i := range a.prog.Points {
		if p := &a.prog.Points[i]; p.At != 0 && p.Kind == "inline-exit" && p.Func == fn {
			b.Leaves = append(b.Leaves, uint64(p.At))
		}
	}
	return b, entry
}

// given are the arguments of an inlined call that began at entry, by their names, as the debug information has them there. There is none of
// what it does not tell.
func (a *Analysis) given(k *call, entry trace.Addr, b *replay.Begun) map[string]uint64 {
	im, ok := a.Symbols.Image(entry)
	if !ok || im.Obj == nil {
		return nil
	}
	at := uint64(entry - im.Bias)
	list := im.Obj.InlinedAt(at)
	i := slices.IndexFunc(list, func(in objfile.Inlined) bool { return in.Name == k.Function })
	if i < 0 {
		return nil
	}
	given := map[string]uint64{}
	for _, v := range im.Obj.ParamsIn(&list[i], at) {
		switch l := v.Loc; {
		case l.Kind == objfile.LocReg && l.Reg < len(b.Regs):
			given[v.Name] = b.Regs[l.Reg]
		case l.Kind == objfile.LocRegValue && l.Reg < len(b.Regs):
			given[v.Name] = b.Regs[l.Reg] + uint64(l.Offset)
		case l.Kind == objfile.LocConst:
			given[v.Name] = uint64(l.Offset)
		}
	}
	return given
}
