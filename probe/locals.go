package probe

import (
	"cmp"
	"fmt"
	"slices"

	"mgtrace/objfile"
	"mgtrace/x86"
)

// planLocals adds the functions whose variables are nodes.
func (b *builder) planLocals() error {
	for _, l := range b.request.Locals {
		image := b.plan.ImageOf(l.Path)
		if !b.plan.Images[image].Traced {
			continue // none of its stores is captured
		}
		fn, ok := b.plan.Images[image].File.FuncAt(l.Entry)
		f := Func{Name: fn.Name, Role: RoleFrame, File: fn.File, Line: fn.Line}
		at := located{image, fn}
		if !ok || !b.enter(&f, at) {
			if l.Optional {
				continue
			}
			return fmt.Errorf("%s can not be followed: the function can not be probed where it begins", l.Name)
		}
		k := slices.IndexFunc(b.plan.Funcs, func(o Func) bool { return o.Role == RoleFrame && o.Entry == f.Entry })
		if k < 0 {
			f.Returns = b.returns(at)
			b.land(at, f.Returns)
			k = len(b.plan.Funcs)
			b.plan.Funcs = append(b.plan.Funcs, f)
		}
		if l.Ender != "" {
			b.ender(l.Ender)
		}
		locals := append(b.plan.Funcs[k].Locals, l)
		slices.SortFunc(locals, func(x, y Local) int { return cmp.Compare(x.Offset, y.Offset) })
		b.plan.Funcs[k].Locals = locals
	}
	for image := range b.plan.Images {
		b.inlinedEnders(image)
	}
	return nil
}

// ender adds a destructor that has code of its own.
func (b *builder) ender(name string) {
	for _, l := range b.find(name) {
		f := Func{Name: l.fn.Name, Role: RoleFrame, Ends: true, File: l.fn.File, Line: l.fn.Line}
		if !b.enter(&f, l) || slices.ContainsFunc(b.plan.Funcs, func(o Func) bool { return o.Role == RoleFrame && o.Entry == f.Entry }) {
			continue
		}
		f.Returns = b.returns(l)
		b.plan.Funcs = append(b.plan.Funcs, f)
	}
}

// inlinedEnders plans where inlined destructors end variables of the function that they are inlined into.
func (b *builder) inlinedEnders(image int) {
	for _, c := range b.frameCodes(image) {
		for _, name := range enders(c.locals) {
			s := b.code(image)
			mine := slices.DeleteFunc(slices.Clone(c.locals), func(l Local) bool { return l.Ender != name })
			for _, in := range s.file.Inlined(name) {
				if c.fn.Contains(in.Entry) {
					b.endedBy(image, s, &in, mine)
				}
			}
		}
	}
}

// enders are the destructors of some variables.
func enders(locals []Local) (names []string) {
	for _, l := range locals {
		if l.Ender != "" && !slices.Contains(names, l.Ender) {
			names = append(names, l.Ender)
		}
	}
	return names
}

// endedBy plans where an inlined destructor of one of these variables begins: where it lies in several pieces, or is left by what
// throws, the debug information does not tell what leaves it for good.
func (b *builder) endedBy(image int, s *sweep, in *objfile.Inlined, locals []Local) {
	if this, ok := thisOf(s.file, in); ok {
		k := slices.IndexFunc(locals, func(l Local) bool { return l.Offset == this })
		if k < 0 {
			return // another object of the class
		}
		locals = locals[k : k+1]
	}
	entries := s.inlineEntries(*in)
	if len(entries) == 0 {
		entries = []uint64{in.Entry}
	}
	for _, addr := range entries {
		site, ok := b.site(image, addr)
		if probeable, _ := b.options.probeable(s.file.Code(addr, x86.MaxLen)); ok && probeable && s.starts.has(addr) {
			b.plan.Ends = append(b.plan.Ends, End{Site: site, Frame: frameAt(s.file, addr), Locals: locals})
		}
	}
}

// thisOf is which object an inlined member function is of, from the canonical frame address.
func thisOf(file *objfile.File, in *objfile.Inlined) (offset int64, ok bool) {
	reg, cfa, known := file.CFA(in.Entry)
	for _, p := range file.ParamsIn(in, in.Entry) {
		if p.Name == "this" && known && p.Loc.Kind == objfile.LocRegValue && p.Loc.Reg == reg {
			return p.Loc.Offset - cfa, true
		}
	}
	return 0, false
}

// frameCode is the code of a function whose variables are nodes.
type frameCode struct {
	fn     objfile.Func
	locals []Local
}

// frameCodes lists these functions of an image.
func (b *builder) frameCodes(image int) (list []frameCode) {
	im := b.plan.Images[image]
	for _, l := range b.request.Locals {
		if l.Path != im.Path && (l.Path != "" || image != 0) {
			continue
		}
		k := slices.IndexFunc(list, func(c frameCode) bool { return c.fn.Addr == l.Entry })
		if k < 0 {
			fn, ok := im.File.FuncAt(l.Entry)
			if !ok {
				continue
			}
			k = len(list)
			list = append(list, frameCode{fn: fn})
		}
		list[k].locals = append(list[k].locals, l)
	}
	return list
}

// hitsLocal says whether the store at addr, whose operand is an offset from rsp or rbp, may write to a variable that is a
// node: call frame information tells where the frame is. Of what it does not tell, it may.
func hitsLocal(file *objfile.File, frames []frameCode, addr uint64, st *x86.Store) bool {
	for i := range frames {
		f := &frames[i]
		if !f.fn.Contains(addr) {
			continue
		}
		reg, offset, ok := file.CFA(addr)
		base := objfile.RegSP
		if st.Base == x86.RBP {
			base = objfile.RegBP
		}
		if !ok || reg != base {
			return true
		}
		lo := int64(st.Disp) - offset
		if slices.ContainsFunc(f.locals, func(l Local) bool {
			return lo < l.Offset+int64(l.Size) && l.Offset < lo+int64(st.Width)
		}) {
			return true
		}
	}
	return false
}
