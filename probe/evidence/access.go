package evidence

import (
	"golang.org/x/arch/x86/x86asm"

	"mgtrace/objfile"
)

// ForAccess returns the type of the object that the instruction at addr accesses: that which the pointer has that its address is computed from. Offset is how far behind
// the object's first byte the access is.
func (f *Finder) ForAccess(file *objfile.File, addr uint64) Evidence {
	if file == nil {
		return Evidence{Why: "the access is in a module that is not known"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fr := Frame{file, addr}
	s := f.accesses[fr]
	if s == nil {
		s = &Evidence{Why: "the access is not understood"}
		if in, ok := decode(file, addr); ok {
			*s = access(newWalk(file, addr+uint64(in.Len), f.statics))
		}
		f.accesses[fr] = s
	}
	return *s
}

// access judges the last instruction before the start of a walk.
func access(w *walk) Evidence {
	block, in := w.blockBefore()
	// As in beforeCall: the stack pointer is 0 at the instruction.
	moved := w.through(block, 0).sp
	st := w.through(block, -moved)
	pc := w.start - uint64(in.Len)
	for _, a := range in.Args {
		m, ok := a.(x86asm.Mem)
		if !ok {
			continue
		}
		v := w.address(pc, in, m, &st)
		if v.kind == pointer && v.stride == 0 && v.to != nil && v.to.Size > 0 && v.off >= 0 && v.off < v.to.Size {
			return Evidence{Type: v.to, Offset: v.off, Why: "accessed as " + v.to.String()}
		}
	}
	return Evidence{Why: "the type of what is accessed is not seen"}
}
