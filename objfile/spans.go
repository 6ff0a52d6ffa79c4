package objfile

import "sort"

// spans maps half-open ranges of addresses to values; ranges may overlap.
type spans[T any] struct {
	list []span[T] // by lo, then by falling hi
	max  []uint64  // the greatest hi of list[:i+1]
}

type span[T any] struct {
	lo, hi uint64
	v      T
}

func (s *spans[T]) add(lo, hi uint64, v T) {
	if lo < hi {
		s.list = append(s.list, span[T]{lo, hi, v})
	}
}

// index makes the spans ready for find.
func (s *spans[T]) index() {
	sort.SliceStable(s.list, func(i, j int) bool {
		a, b := &s.list[i], &s.list[j]
		return a.lo < b.lo || a.lo == b.lo && a.hi > b.hi
	})
	s.max = make([]uint64, len(s.list))
	var m uint64
	for i := range s.list {
		m = max(m, s.list[i].hi)
		s.max[i] = m
	}
}

// find returns the value of the innermost range that holds addr: the one that
// begins last.
func (s *spans[T]) find(addr uint64) (v T, ok bool) {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].lo > addr }) - 1
	for ; i >= 0 && s.max[i] > addr; i-- {
		if addr < s.list[i].hi {
			return s.list[i].v, true
		}
	}
	return v, false
}
