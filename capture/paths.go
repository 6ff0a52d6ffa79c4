package capture

import (
	"encoding/binary"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// A Path is a stack that was unwound, with all that its unwinding depends on, so
// that it is recognised by looking at some words: by simple rules (frame.step) the
// next frame follows from
//
//   - the return address, which says what the rule is,
//   - the register that the rule counts from. If that is the stack pointer, it
//     follows from where the stack begins. Any other was given in the beginning, or
//     saved in a frame below.
//
// What else frames have saved plays no part.
type Path struct {
	Stack []trace.Addr // never changed
	Regs  []GivenReg
	Words []StackWord
	End   uint64 // the captured stack has no whole word there; 0: it has all that was wanted
}

// PathKey is where a path begins, after the return: programs come by the same places with
// the same stack pointer.
type PathKey struct{ PC, SP uint64 }

// There are 1 << PathBits sets of PathWays paths.
const (
	PathBits = 10
	PathWays = 4
	PathHash = 0x9e3779b97f4a7c15
)

// Set is the number of the set in which a path is looked for.
func (k PathKey) Set() int {
	return int((k.PC*PathHash ^ k.SP) * PathHash >> (64 - PathBits))
}

// pathTable is the paths that are known.
type pathTable [1 << PathBits]pathSet

// pathSet is a few of them. Where each begins lies together, in one line of the cache.
type pathSet struct {
	keys  [PathWays]PathKey
	paths [PathWays]Path
}

// find returns a path that begins at key and leads on as this stack does; nil: none is known.
func (s *pathSet) find(key PathKey, regs *objfile.Regs, stack *Window) *Path {
	for i := range s.keys {
		if s.keys[i] == key && s.paths[i].leads(regs, stack) {
			return &s.paths[i]
		}
	}
	return nil
}

// GivenReg is a register of the beginning, by DWARF's number.
type GivenReg struct {
	Reg  int
	Want uint64
}

// StackWord is a word at Off in the window.
type StackWord struct{ Off, Want uint64 }

// leads says that a stack is unwound as the path was.
func (p *Path) leads(regs *objfile.Regs, stack *Window) bool {
	data := stack.Data
	for i := range p.Words {
		w := &p.Words[i]
		if uint64(len(data)) < w.Off+8 || binary.LittleEndian.Uint64(data[w.Off:]) != w.Want {
			return false
		}
	}
	for i := range p.Regs {
		if g := &p.Regs[i]; regs.R[g.Reg] != g.Want {
			return false
		}
	}
	return p.End == 0 || uint64(len(data)) < p.End+8
}

// learn replaces the path by what has been marked.
func (p *Path) learn(stack []trace.Addr, m *marks) {
	p.Stack, p.End = stack, m.end
	p.Regs = append(p.Regs[:0], m.regs...)
	p.Words = append(p.Words[:0], m.words...)
}

// marks collect what an unwinding depends on.
type marks struct {
	base  uint64
	sound bool // all of it is known
	regs  []GivenReg
	words []StackWord
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
		m.regs = append(m.regs, GivenReg{reg, regs.R[reg]})
	default:
		m.words = append(m.words, StackWord{at - m.base, regs.R[reg]})
	}
}

// read: the return address at addr was read, or could not be.
func (m *marks) read(addr, pc uint64, ok bool) {
	switch off := addr - m.base; {
	case ok:
		m.words = append(m.words, StackWord{off, pc})
	case off >= 1<<32: // below the window, or far away
		m.sound = false
	default:
		m.end = off
	}
}

// saved: a register has the value that was saved at addr.
func (m *marks) saved(reg int, addr uint64) { m.place[reg] = addr }
