package capture

import (
	"encoding/binary"
	"math/bits"

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
// return addresses, as far as the captured stack reaches. It remembers the rules
// of frames that it has met, for programs allocate at the same places again and
// again.
func CFI(find FindFile, depth int) Unwinder {
	known := make([]frame, 1<<frameBits)
	buf := make([]byte, 8)
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
			fr := &known[pc*0x9e3779b97f4a7c15>>(64-frameBits)]
			if fr.pc != pc || fr.file != f || fr.bias != bias {
				*fr = frame{pc: pc, file: f, bias: bias}
				fr.rule, fr.simple = f.Rule(pc - bias)
			}
			sp := regs.SP()
			if fr.simple {
				if !fr.step(regs, mem, buf) {
					return out
				}
				exact = false
			} else {
				next, ok := f.Step(pc-bias, regs, mem, bias)
				if !ok {
					return out
				}
				exact = f.SignalFrame(pc - bias)
				*regs = next
			}
			if !exact && regs.SP() <= sp {
				return out // a caller's frame lies above
			}
			out = append(out, trace.Addr(regs.PC()))
		}
		return out
	}
}

// frameBits makes room for the frames of 1024 places, of which a program that
// allocates meets a few again and again.
const frameBits = 10

// frame is how to unwind at a program counter of the process.
type frame struct {
	pc     uint64
	file   *objfile.File
	bias   uint64
	rule   objfile.FrameRule
	simple bool // rule holds
}

// step does what File.Step does, by a simple rule.
func (f *frame) step(regs *objfile.Regs, mem objfile.ReadMem, buf []byte) bool {
	r := &f.rule
	if regs.Known>>r.CFA&1 == 0 {
		return false
	}
	cfa := regs.R[r.CFA] + uint64(r.Offset)
	if !mem(cfa-8, buf) {
		return false
	}
	pc := binary.LittleEndian.Uint64(buf)
	if pc == 0 {
		return false
	}
	for m := r.Saved; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		if mem(cfa+uint64(int64(r.At[i])), buf) {
			regs.Set(i, binary.LittleEndian.Uint64(buf))
		} else {
			regs.Known &^= 1 << i
		}
	}
	regs.Known &^= r.Lost
	regs.Set(objfile.RegSP, cfa)
	regs.Set(objfile.RegPC, pc)
	return true
}
