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

// CFI returns an unwinder by call frame information that finds at most depth
// return addresses, as far as the captured stack reaches.
func CFI(find FindFile, depth int) Unwinder {
	return func(regs *objfile.Regs, mem objfile.ReadMem, out []trace.Addr) []trace.Addr {
		exact := false // PC is a return address: the call lies before it
		for len(out) < depth {
			pc := regs.PC()
			if !exact {
				pc--
			}
			f, bias, ok := find(pc)
			if !ok {
				return out
			}
			next, ok := f.Step(pc-bias, regs, mem, bias)
			if !ok {
				return out
			}
			exact = f.SignalFrame(pc - bias)
			if !exact && next.SP() <= regs.SP() {
				return out // a caller's frame lies above
			}
			*regs = next
			out = append(out, trace.Addr(next.PC()))
		}
		return out
	}
}
