package evidence

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/objfile"
	"mgtrace/types"
)

// Handed is the address of an object, or of a part of one, that a call hands to a function of another file: in one of the registers of the
// first six arguments, whether the function takes so many or not.
type Handed struct {
	Of      *types.Type // of the object
	Offset  int64       // how far behind its start the address is, and
	Stride  int64       // any multiple of this, if it is not 0
	Linkage string      // of the function
	Call    uint64
}

// Function is the name of the function, without its parameters.
func (h *Handed) Function() string { return plainName(h.Linkage) }

// Handed lists what the code of a file hands to imports that are asked for by their linker names.
func (f *Finder) Handed(file *objfile.File, to func(linkage string) bool) (list []Handed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !file.ImportsAny(to) {
		return nil
	}
	for _, fn := range file.Funcs() {
		for _, r := range fn.Ranges {
			w := makeWalk(file, fn, r[0], f.statics)
			list = append(list, w.hands(r, to)...)
		}
	}
	return list
}

// hands looks at the calls of imports in a piece of code.
func (w *walk) hands(r [2]uint64, to func(linkage string) bool) (list []Handed) {
	code, targets := w.straight(r)
	from := 0
	for i, at := range code {
		if targets[at.pc] {
			from = i
		}
		next := at.pc + uint64(at.inst.Len)
		if at.inst.Op != x86asm.CALL && at.inst.Op != x86asm.JMP {
			continue
		}
		target, direct := w.target(at.inst, next)
		if !direct || w.inFunction(target) {
			continue
		}
		linkage := w.imported(target)
		if linkage == "" || !to(linkage) {
			continue
		}
		w.framed = w.hasFramePointer()
		st := w.through(code[from:i], -w.through(code[from:i], 0).sp) // as in beforeCall
		for _, reg := range argumentRegs() {
			v := w.value(at.pc, reg, &st)
			if of, ok := w.global(v.off); v.kind == number && v.stride == 0 && ok {
				v = value{kind: pointer, to: of.Type, off: v.off - of.Loc.Offset}
			}
			if v.kind == pointer && v.to != nil && v.to.HasMembers() && v.off >= 0 { // the address of a number says nothing of whose it is
				list = append(list, Handed{Of: v.to, Offset: v.off, Stride: v.stride, Linkage: linkage, Call: at.pc})
			}
		}
	}
	return list
}

// straight are the instructions of a piece of code, and where control comes to from elsewhere.
func (w *walk) straight(r [2]uint64) (code []located, targets map[uint64]bool) {
	targets = map[uint64]bool{}
	for pc := r[0]; pc < r[1]; {
		in, ok := decode(w.file, pc)
		if !ok {
			break
		}
		code = append(code, located{pc, in})
		pc += uint64(in.Len)
		if in.Op == x86asm.JMP || in.Op == x86asm.RET {
			targets[pc] = true
		}
		if t, ok := branchTarget(in, pc); ok && in.Op != x86asm.CALL {
			targets[t] = true
		}
	}
	return code, targets
}

// Covers reports whether a byte of an object of type t lies in what was handed, by the type of that: in the largest part of the object that begins
// at the address, or in any object of its type inside of it. perhaps: the address is that of the object itself, and which part is meant is not known.
func (h *Handed) Covers(t *types.Type, offset int64) (surely, perhaps bool) {
	return h.covers(t, offset, 0), same(t, h.Of) && h.Offset == 0 && h.Stride == 0
}

func (h *Handed) covers(t *types.Type, offset int64, depth int) bool {
	if t == nil || depth > maxNesting {
		return false
	}
	if same(t, h.Of) && h.reaches(t, offset, depth == 0) {
		return true
	}
	switch t.Kind {
	case types.Array:
		return t.Elem != nil && t.Elem.Size > 0 && h.covers(t.Elem, offset%t.Elem.Size, depth+1)
	case types.Struct, types.Union:
		for _, m := range t.Members {
			if covers(m, offset) && m.BitSize == 0 && h.covers(m.Type, offset-m.Offset, depth+1) {
				return true
			}
		}
	}
	return false
}

// reaches: the part of the type that begins at the address has the byte at an offset.
func (h *Handed) reaches(t *types.Type, offset int64, outermost bool) bool {
	parts := partsAt(t, h.Offset)
	at := h.Offset
	if i := slices.IndexFunc(parts, func(p part) bool { return p.repeats(h.Stride) }); i >= 0 && parts[i].has(offset) && offset >= at {
		at += (offset - at) / h.Stride * h.Stride
		parts = partsAt(t, at)
	}
	if at == 0 {
		return !outermost
	}
	i := slices.IndexFunc(parts, func(p part) bool { return p.start == at })
	return i >= 0 && parts[i].has(offset)
}

// part is a part of an object, an offset behind its start.
type part struct {
	*types.Type
	start int64
}

// has: the byte at an offset lies in the part, which may have no end of its own.
func (p part) has(offset int64) bool {
	return offset >= p.start && (offset < p.start+p.Size || p.Kind == types.Array && p.Count < 0)
}

// repeats: the part is an array, and what is a multiple of the stride apart is the same place in its elements.
func (p part) repeats(stride int64) bool {
	return stride > 0 && p.Kind == types.Array && p.Elem != nil && p.Elem.Size > 0 && stride%p.Elem.Size == 0
}

// partsAt are the parts of an object of type t that have the byte at an offset, the outer ones first; of a union's members the largest one's.
func partsAt(t *types.Type, offset int64) (parts []part) {
	in := part{t, 0}
	for len(parts) < maxNesting {
		var next part
		switch {
		case in.HasMembers():
			for _, m := range in.Members {
				if covers(m, offset-in.start) && m.BitSize == 0 && (next.Type == nil || m.Type.Size > next.Size) {
					next = part{m.Type, in.start + m.Offset}
				}
			}
		case in.Kind == types.Array && in.Elem != nil && in.Elem.Size > 0:
			next = part{in.Elem, offset - (offset-in.start)%in.Elem.Size}
		}
		if next.Type == nil {
			break
		}
		parts = append(parts, next)
		in = next
	}
	return parts
}
