package capture

import (
	"encoding/binary"
	"math/bits"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// Window is a piece of the stack of a thread.
type Window struct {
	Base uint64
	Data []byte
}

// Read is an objfile.ReadMem.
func (w *Window) Read(addr uint64, b []byte) bool {
	off := addr - w.Base
	if off >= uint64(len(w.Data)) || uint64(len(w.Data))-off < uint64(len(b)) {
		return false
	}
	copy(b, w.Data[off:])
	return true
}

// word returns the one at addr, if it lies in the window.
func (w *Window) word(addr uint64) (v uint64, ok bool) {
	off := addr - w.Base
	if off >= uint64(len(w.Data)) || uint64(len(w.Data))-off < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.Data[off:]), true
}

// write replaces the word at addr if it lies in the window.
func (w *Window) write(addr, v uint64) {
	if _, ok := w.word(addr); ok {
		binary.LittleEndian.PutUint64(w.Data[addr-w.Base:], v)
	}
}

// FindFile returns the file that is mapped at pc, with its bias: a virtual
// address v of the file is at bias + v.
type FindFile func(pc uint64) (f *objfile.File, bias uint64, ok bool)

// CFI returns an unwinder by call frame information that finds at most depth
// return addresses, as far as the captured stack reaches. What find has told of an address
// must stay so.
func CFI(find FindFile, depth int) *CallFrames {
	return &CallFrames{find: find, depth: depth, frames: make([]frame, 1<<frameBits), paths: new(pathTable)}
}

// CallFrames unwind by call frame information. Programs allocate at the same places again
// and again: they remember the rules of frames that they have met, and whole stacks.
type CallFrames struct {
	// Learned is told of each whole stack that is remembered: at key in the set of that,
	// as one of PathWays, in the place of what was there. It must not keep p. nil: nobody is.
	Learned func(key PathKey, way int, p *Path)

	find   FindFile
	depth  int
	frames []frame
	paths  *pathTable
	evict  int
	marks  marks
	stacks stackSet
	pcs    []trace.Addr // scratch
}

// Unwinder is Unwind; nil if there are none.
func (u *CallFrames) Unwinder() Unwinder {
	if u == nil {
		return nil
	}
	return u.Unwind
}

// Forget forgets the paths that were learned: code has gone, and other code may come to lie there.
func (u *CallFrames) Forget() { u.paths = new(pathTable) }

// Unwind is an Unwinder.
func (u *CallFrames) Unwind(regs *objfile.Regs, stack *Window) []trace.Addr {
	key := PathKey{regs.PC(), regs.SP()}
	set := &u.paths[key.Set()]
	if p := set.find(key, regs, stack); p != nil {
		return p.Stack
	}
	u.marks.begin(stack.Base)
	u.pcs = u.walk(regs, stack, append(u.pcs[:0], trace.Addr(regs.PC())))
	result := u.stacks.intern(u.pcs)
	if u.marks.sound {
		u.evict++
		i := u.evict % PathWays
		set.keys[i] = key
		set.paths[i].learn(result, &u.marks)
		if u.Learned != nil {
			u.Learned(key, i, &set.paths[i])
		}
	}
	return result
}

// walk unwinds frame by frame, and marks on what the result depends.
func (u *CallFrames) walk(regs *objfile.Regs, stack *Window, out []trace.Addr) []trace.Addr {
	exact := false // PC is a return address: the call lies before it
	for len(out) < u.depth {
		pc := regs.PC()
		if !exact {
			pc--
		}
		f, bias, ok := u.find(pc)
		if !ok {
			u.marks.sound = false // it may be known later
			return out
		}
		fr := &u.frames[pc*0x9e3779b97f4a7c15>>(64-frameBits)]
		if fr.pc != pc || fr.file != f || fr.bias != bias {
			*fr = frame{pc: pc, file: f, bias: bias}
			fr.rule, fr.simple = f.Rule(pc - bias)
		}
		sp := regs.SP()
		if fr.simple {
			if !fr.step(regs, stack, &u.marks) {
				return out
			}
			exact = false
		} else {
			u.marks.sound = false
			next, ok := f.Step(pc-bias, regs, stack.Read, bias)
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
func (f *frame) step(regs *objfile.Regs, stack *Window, m *marks) bool {
	r := &f.rule
	if r.Outermost || regs.Known>>r.CFA&1 == 0 {
		return false
	}
	m.address(int(r.CFA), regs)
	cfa := regs.R[r.CFA] + uint64(r.Offset)
	pc, ok := stack.word(cfa - 8)
	m.read(cfa-8, pc, ok)
	if !ok || pc == 0 {
		return false
	}
	for s := r.Saved; s != 0; s &= s - 1 {
		i := bits.TrailingZeros32(s)
		at := cfa + uint64(int64(r.At[i]))
		if v, ok := stack.word(at); ok {
			regs.Set(i, v)
			m.saved(i, at)
		} else {
			regs.Known &^= 1 << i
			m.sound = false
		}
	}
	regs.Known &^= r.Lost
	regs.Set(objfile.RegSP, cfa)
	regs.Set(objfile.RegPC, pc)
	return true
}
