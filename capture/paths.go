package capture

import (
	"encoding/binary"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// A path is a stack that was unwound, with all that its unwinding depends on, so
// that it is recognised by looking at some words: by simple rules (frame.step) the
// next frame follows from
//
//   - the return address, which says what the rule is,
//   - the register that the rule counts from. If that is the stack pointer, it
//     follows from where the stack begins. Any other was given in the beginning, or
//     saved in a frame below.
//
// What else frames have saved plays no part.
type path struct {
	stack []trace.Addr // never changed
	regs  []givenReg
	words []stackWord
	end   uint64 // a word could not be read there; 0: none
}

// pathKey is where a path begins: programs come by the same places with the same
// stack pointer.
type pathKey struct{ pc, sp uint64 }

const (
	pathBits = 10
	pathWays = 4
)

func (k pathKey) hash() uint64 {
	return (k.pc*0x9e3779b97f4a7c15 ^ k.sp) * 0x9e3779b97f4a7c15 >> (64 - pathBits)
}

// pathTable is the paths that are known, by the hash of where they begin.
type pathTable [1 << pathBits]pathSet

// pathSet is a few of them. Where each begins lies together, in one line of the cache.
type pathSet struct {
	keys  [pathWays]pathKey
	paths [pathWays]path
}

// find returns a path that begins at key and leads on as this stack does; nil: none is known.
func (s *pathSet) find(key pathKey, regs *objfile.Regs, stack *Window) *path {
	for i := range s.keys {
		if s.keys[i] == key && s.paths[i].leads(regs, stack) {
			return &s.paths[i]
		}
	}
	return nil
}

// givenReg is a register of the beginning.
type givenReg struct {
	reg  int
	want uint64
}

// stackWord is a word at off in the window.
type stackWord struct{ off, want uint64 }

// leads says that a stack is unwound as the path was.
func (p *path) leads(regs *objfile.Regs, stack *Window) bool {
	data := stack.Data
	for i := range p.words {
		w := &p.words[i]
		if uint64(len(data)) < w.off+8 || binary.LittleEndian.Uint64(data[w.off:]) != w.want {
			return false
		}
	}
	for i := range p.regs {
		if g := &p.regs[i]; regs.R[g.reg] != g.want {
			return false
		}
	}
	return p.end == 0 || uint64(len(data)) < p.end+8
}

// learn replaces the path by what has been marked.
func (p *path) learn(stack []trace.Addr, m *marks) {
	p.stack, p.end = stack, m.end
	p.regs = append(p.regs[:0], m.regs...)
	p.words = append(p.words[:0], m.words...)
}

// marks collect what an unwinding depends on.
type marks struct {
	base  uint64
	sound bool // all of it is known
	regs  []givenReg
	words []stackWord
	end   uint64

	place [objfile.RegPC]uint64 // where each register was saved last; 0: as it was given
}

func (m *marks) begin(base uint64) {
	*m = marks{base: base, sound: true, regs: m.regs[:0], words: m.words[:0]}
}

// address: an address is computed from a register.
func (m *marks) address(reg int, regs *objfile.Regs) {
	switch at := m.place[reg]; {
	case reg == objfile.RegSP:
	case at == 0:
		m.regs = append(m.regs, givenReg{reg, regs.R[reg]})
	default:
		m.words = append(m.words, stackWord{at - m.base, regs.R[reg]})
	}
}

// read: the return address at addr was read, or could not be.
func (m *marks) read(addr, pc uint64, ok bool) {
	switch off := addr - m.base; {
	case ok:
		m.words = append(m.words, stackWord{off, pc})
	case off >= 1<<32: // below the window, or far away
		m.sound = false
	default:
		m.end = off
	}
}

// saved: a register has the value that was saved at addr.
func (m *marks) saved(reg int, addr uint64) { m.place[reg] = addr }
