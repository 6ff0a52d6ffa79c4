package eval

import "math/bits"

// DepSet is a set of dependencies.
type DepSet struct{ set depSet }

// Add is false where it was there.
func (s *DepSet) Add(d Dep) bool {
	if s.set.round == 0 {
		s.set.empty()
	}
	return s.set.add(d.key())
}

// Has reports whether it is there.
func (s *DepSet) Has(d Dep) bool { return s.set.has(d.key()) }

// depSet is a set of dependencies that is emptied at no cost: evaluations follow one another, and each has its own.
type depSet struct {
	slots []depSlot // a power of two
	n     int
	round uint32 // what is in a slot of another round is not there
}

type depSlot struct {
	key   depKey
	round uint32
}

func (s *depSet) empty() {
	s.n = 0
	if s.round++; s.round == 0 {
		clear(s.slots)
		s.round = 1
	}
}

// slot is where a key is, or is to be put.
func (s *depSet) slot(k depKey) *depSlot {
	h := (k.a ^ bits.RotateLeft64(k.b, 32)) * 0x9e3779b97f4a7c15 // Knuth, The Art of Computer Programming, volume 3, 6.4
	mask := uint64(len(s.slots) - 1)
	for i := h >> bits.LeadingZeros64(mask); ; i++ {
		if at := &s.slots[i&mask]; at.round != s.round || at.key == k {
			return at
		}
	}
}

// has: of no set it is false.
func (s *depSet) has(k depKey) bool {
	return s != nil && s.n > 0 && s.slot(k).round == s.round
}

// add is false where it was there.
func (s *depSet) add(k depKey) bool {
	if 4*s.n >= 3*len(s.slots) {
		s.grow()
	}
	at := s.slot(k)
	if at.round == s.round {
		return false
	}
	*at = depSlot{k, s.round}
	s.n++
	return true
}

func (s *depSet) grow() {
	old, round := s.slots, s.round
	*s = depSet{slots: make([]depSlot, max(8*fewDeps, 2*len(old))), round: 1}
	for i := range old {
		if old[i].round == round {
			s.add(old[i].key)
		}
	}
}
