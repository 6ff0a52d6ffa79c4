package capture

import (
	"slices"

	"mgtrace/trace"
)

// stackSet keeps one copy of each call stack: programs allocate at the same
// places again and again.
type stackSet struct {
	byHash map[uint64][][]trace.Addr
	ones   [1 << onesBits]oneStack // of one address each, by it
}

const onesBits = 8

type oneStack struct {
	pc    trace.Addr
	stack []trace.Addr
}

// intern returns the copy that is kept of a stack.
func (s *stackSet) intern(stack []trace.Addr) []trace.Addr {
	if len(stack) == 1 {
		return s.one(stack[0])
	}
	return s.find(stack)
}

// one returns the copy that is kept of a stack of one address.
func (s *stackSet) one(pc trace.Addr) []trace.Addr {
	have := &s.ones[uint64(pc)*0x9e3779b97f4a7c15>>(64-onesBits)]
	if have.pc != pc || have.stack == nil {
		*have = oneStack{pc, s.find([]trace.Addr{pc})}
	}
	return have.stack
}

func (s *stackSet) find(stack []trace.Addr) []trace.Addr {
	h := uint64(len(stack))
	for _, pc := range stack {
		h = (h ^ uint64(pc)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, have := range s.byHash[h] {
		if slices.Equal(have, stack) {
			return have
		}
	}
	if s.byHash == nil {
		s.byHash = make(map[uint64][][]trace.Addr)
	}
	own := slices.Clone(stack)
	s.byHash[h] = append(s.byHash[h], own)
	return own
}
