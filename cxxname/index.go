package cxxname

import "slices"

// Index knows by their last components which of many functions a pattern may mean: a few, where each would have
// to be asked else.
type Index struct {
	all  []int            // indices
	last map[string][]int // "": of those whose last components tell nothing
}

// NewIndex is that of functions that have one name or several.
func NewIndex(funcs [][]Name) *Index {
	x := &Index{last: map[string][]int{}}
	for i, names := range funcs {
		x.all = append(x.all, i)
		for _, n := range names {
			list := x.last[n.last]
			if len(list) == 0 || list[len(list)-1] != i {
				x.last[n.last] = append(list, i)
			}
		}
	}
	return x
}

// Candidates are the indices of the functions that a pattern may mean, ascending.
func (x *Index) Candidates(p *Pattern) []int {
	if p.last == "" {
		return x.all
	}
	found := append(slices.Clone(x.last[p.last]), x.last[""]...)
	slices.Sort(found)
	return slices.Compact(found)
}
