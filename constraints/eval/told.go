package eval

import "slices"

// told is what is broken, in order and with reasons. Of thousands that stay broken from one C-point to the next
// only those are put into their places again that were evaluated since.
type told struct {
	list []Inconsistency
	anew map[binding]bool // evaluated since the list was made
}

// put files inconsistencies under their bindings.
func (s *state) put(list []Inconsistency) {
	for _, inc := range list {
		b := binding{inc.Instance.Constraint, inc.Instance.Nodes}
		s.broken[b] = append(s.broken[b], inc)
		s.told.differs(b)
	}
}

// forget takes what was broken of a binding out.
func (s *state) forget(b binding) {
	if _, was := s.broken[b]; was {
		delete(s.broken, b)
		s.told.differs(b)
	}
}

// drop forgets all bindings of a constraint.
func (s *state) drop(constraint int) {
	for b := range s.broken {
		if b.constraint == constraint {
			s.forget(b)
		}
	}
}

func (x *told) differs(b binding) {
	if x.anew == nil {
		x.anew = map[binding]bool{}
	}
	x.anew[b] = true
}

// list returns all inconsistencies in order: the state's own, until it changes.
func (s *state) list() []Inconsistency {
	if s.whole() {
		return nil
	}
	if len(s.broken) > 0 {
		s.env.g.Exact() // what is said of them, and what is asked next, is of other times too
	}
	s.tell()
	if cycles := s.cyclic(nil); len(cycles) > 0 {
		out := slices.Concat(s.told.list, cycles)
		sortInconsistencies(out)
		return out
	}
	return s.told.list
}

// tell brings the list up to date.
func (s *state) tell() {
	x := &s.told
	if len(x.anew) > 64+len(x.list)/8 { // to move the rest each time would cost more
		x.list = x.list[:0]
		for b := range s.broken {
			x.list = append(x.list, s.explained(b)...)
		}
		sortInconsistencies(x.list)
	} else {
		for b := range x.anew {
			lo, _ := slices.BinarySearchFunc(x.list, b, beside)
			hi := lo
			for hi < len(x.list) && beside(x.list[hi], b) == 0 {
				hi++
			}
			x.list = slices.Replace(x.list, lo, hi, s.explained(b)...)
		}
	}
	clear(x.anew)
}

// explained is what is broken of a binding, in order.
func (s *state) explained(b binding) []Inconsistency {
	l := s.broken[b]
	for i := range l {
		s.env.explain(&l[i])
	}
	sortInconsistencies(l)
	return l
}

// beside compares an inconsistency's binding with one.
func beside(inc Inconsistency, b binding) int {
	return Instance{Constraint: inc.Instance.Constraint, Nodes: inc.Instance.Nodes}.Compare(Instance{Constraint: b.constraint, Nodes: b.nodes})
}
