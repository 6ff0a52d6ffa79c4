package capture

import (
	"encoding/binary"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// window is a piece of the stack of a thread.
type window struct {
	base uint64
	data []byte
}

func (w *window) read(addr uint64, b []byte) bool {
	off := addr - w.base
	if off >= uint64(len(w.data)) || uint64(len(w.data))-off < uint64(len(b)) {
		return false
	}
	copy(b, w.data[off:])
	return true
}

// write replaces the word at addr if it lies in the window.
func (w *window) write(addr, v uint64) {
	off := addr - w.base
	if off < uint64(len(w.data)) && uint64(len(w.data))-off >= 8 {
		binary.LittleEndian.PutUint64(w.data[off:], v)
	}
}

// FindFile returns the file that is mapped at pc, with its bias: a virtual
// address v of the file is at bias + v.
type FindFile func(pc uint64) (f *objfile.File, bias uint64, ok bool)

// CFI returns an unwinder by call frame information that goes up at most depth
// frames, as far as the captured stack reaches.
func CFI(find FindFile, depth int) Unwinder {
	return func(regs *objfile.Regs, mem objfile.ReadMem, out []trace.Addr) []trace.Addr {
		for len(out) < depth {
			pc := regs.PC()
			f, bias, ok := find(pc)
			if !ok {
				return out
			}
			// The frame is inside the call, which ends where it returns to.
			next, ok := f.Step(pc-1, regs, mem, bias)
			if !ok || next.PC() == 0 || next.SP() <= regs.SP() {
				return out
			}
			*regs = next
			out = append(out, trace.Addr(next.PC()))
		}
		return out
	}
}
