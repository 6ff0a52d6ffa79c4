package check

import (
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/types"
)

// This file knows what of the C++ library's types is in use at a time: the value of a
// std::optional, the alternative of a std::variant, the block of a std::string that is not
// short, the elements of a container that is not empty. Pointers in the rest are left from
// what was there before, or lead back.

// holds adds a condition: the member m of the structure in which the cell lies is value.
func (c *EdgeCell) holds(m types.Member, value uint64) {
	c.Holds = append(slices.Clip(c.Holds), Holds{Off: m.Offset - c.Offset, Size: m.Type.Size, Value: value})
}

// engaged returns the flag of a std::optional, as a member of the structure that holds the
// value too.
func engaged(t *types.Type) (types.Member, bool) {
	if t.Kind != types.Struct || !strings.HasPrefix(t.Name, "std::") {
		return types.Member{}, false
	}
	for _, m := range t.Members {
		if (m.Name == "_M_engaged" || m.Name == "__engaged_") && m.Type != nil && m.Type.Kind == types.Bool {
			return m, true
		}
	}
	return types.Member{}, false
}

// pointsInside: objects of this type have pointers into themselves, which say that there is
// nothing elsewhere: a short std::string, and the end of a std::list or std::map, the only
// bucket of a hash table, with which an empty one begins. None of the elements lies in them.
func pointsInside(t *types.Type) bool {
	name := cxxname.Plain(t.Name)
	return slices.ContainsFunc([]string{"std::basic_string<", "std::_List_base<", "std::_Rb_tree<", "std::_Hashtable<"},
		func(s string) bool { return strings.HasPrefix(name, s) })
}

// variantCells lists the pointers of what a std::variant holds, each in use with the
// index of its alternative. ok is false for any other type.
func variantCells(t *types.Type, depth int) (cells []EdgeCell, ok bool) {
	if !strings.HasPrefix(t.Name, "std::__detail::__variant::_Variant_storage<") {
		return nil, false
	}
	union, _, ok1 := t.Member("_M_u")
	index, _, ok2 := t.Member("_M_index")
	if !ok1 || !ok2 || index.Type == nil || index.Type.Size > 8 {
		return nil, false
	}
	name, offset := union.Name, union.Offset
	for k, u := uint64(0), union.Type; u != nil && k < maxCells; k++ {
		first, at, is := u.Member("_M_first")
		if !is {
			break
		}
		for _, cell := range pointerCells(first.Type, depth+1) {
			cell.Name = join(types.Member{Name: name}, join(first, cell.Name))
			cell.Offset += offset + at
			cell.holds(index, k)
			cells = append(cells, cell)
		}
		rest, at, is := u.Member("_M_rest")
		if !is {
			break
		}
		name, offset, u = name+"."+rest.Name, offset+at, rest.Type
	}
	return cells, true
}
