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
		image := max(0, slices.IndexFunc(b.plan.Images, func(im *Image) bool { return l.Path != "" && im.Path == l.Path }))
		if !b.plan.Images[image].Traced {
			continue // none of its stores is captured
		}
		fn, ok := b.plan.Images[image].File.FuncAt(l.Entry)
		f := Func{Name: fn.Name, Role: RoleFrame, File: fn.File, Line: fn.Line}
		at := located{image, fn}
		if !ok || !b.enter(&f, at) {
			return fmt.Errorf("%s can not be followed: the function can not be probed where it begins", l.Name)
		}
		k := slices.IndexFunc(b.plan.Funcs, func(o Func) bool { return o.Role == RoleFrame && o.Entry == f.Entry })
		if k < 0 {
			f.Returns = b.returns(at)
			b.land(at, f.Returns)
			k = len(b.plan.Funcs)
			b.plan.Funcs = append(b.plan.Funcs, f)
		}
		locals := append(b.plan.Funcs[k].Locals, l)
		slices.SortFunc(locals, func(x, y Local) int { return cmp.Compare(x.Offset, y.Offset) })
		b.plan.Funcs[k].Locals = locals
	}
	return nil
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
