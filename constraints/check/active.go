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
	return slices.ContainsFunc([]string{"std::basic_string<", "std::_List_base<", "std::__cxx1998::_List_base<", "std::_Rb_tree<", "std::_Hashtable<"},
		func(s string) bool { return strings.HasPrefix(name, s) })
}

// Alternative is one of a std::variant: what it holds there, and where in the variant.
type Alternative struct {
	Path   string
	Offset int64
	Type   *types.Type
}

// variant returns the alternatives of a std::variant, in order, and the member that says which of them it holds, counted from 0;
// none for any other type.
func variant(t *types.Type) (all []Alternative, index types.Member) {
	if !strings.HasPrefix(t.Name, "std::__detail::__variant::_Variant_storage<") {
		return nil, index
	}
	union, _, ok1 := t.Member("_M_u")
	index, _, ok2 := t.Member("_M_index")
	if !ok1 || !ok2 || index.Type == nil || index.Type.Size > 8 {
		return nil, index
	}
	path, offset := union.Name, union.Offset
	for u := union.Type; u != nil && len(all) < maxCells; {
		first, at, is := u.Member("_M_first")
		if !is {
			break
		}
		all = append(all, Alternative{join(types.Member{Name: path}, first.Name), offset + at, first.Type})
		rest, at, is := u.Member("_M_rest")
		if !is {
			break
		}
		path, offset, u = path+"."+rest.Name, offset+at, rest.Type
	}
	return all, index
}

// optional returns what a std::optional may hold, nothing or its value, as a std::variant's alternatives, and the flag that says which;
// none for any other type.
func optional(t *types.Type) (all []Alternative, flag types.Member) {
	flag, ok := engaged(t)
	union, _, is := t.Member("_M_payload")
	if !ok || !is || union.Type == nil || union.Type.Kind != types.Union {
		return nil, flag
	}
	for _, name := range [...]string{"_M_empty", "_M_value"} {
		m, at, is := union.Type.Member(name)
		if !is {
			return nil, flag
		}
		all = append(all, Alternative{join(types.Member{Name: union.Name}, name), union.Offset + at, m.Type})
	}
	return all, flag
}

// variantCells lists the pointers of what a std::variant holds, each in use with the
// index of its alternative. ok is false for any other type.
func variantCells(t *types.Type, depth int) (cells []EdgeCell, ok bool) {
	all, index := variant(t)
	for k, of := range all {
		for _, cell := range pointerCells(of.Type, depth+1) {
			cell.Name = join(types.Member{Name: of.Path}, cell.Name)
			cell.Offset += of.Offset
			cell.holds(index, uint64(k))
			cells = append(cells, cell)
		}
	}
	return cells, len(all) > 0
}

// Held says what a std::variant or std::optional holds of which the union lies at an offset of a type: its alternatives, with paths and offsets
// that are those in the union, and where in the type the number of the one that is in use lies. None: it is the union of neither.
func Held(t, union *types.Type, at int64) (all []Alternative, index Span) {
	return held(t, union, at, 0)
}

func held(t, union *types.Type, at int64, depth int) (all []Alternative, index Span) {
	if t != nil && t.Kind == types.Array && t.Elem != nil && t.Elem.Size > 0 {
		in := at % t.Elem.Size
		if all, index = held(t.Elem, union, in, depth+1); len(all) > 0 {
			index.Lo, index.Hi = index.Lo+at-in, index.Hi+at-in
		}
		return all, index
	}
	if t == nil || depth > maxNesting {
		return nil, index
	}
	all, number := variant(t)
	if len(all) == 0 {
		all, number = optional(t)
	}
	if len(all) > 0 && all[0].Offset == at {
		name, _, _ := strings.Cut(all[0].Path, ".")
		if u, _, _ := t.Member(name); u.Type == union {
			for i := range all {
				all[i].Path, all[i].Offset = strings.TrimPrefix(all[i].Path, name+"."), all[i].Offset-at
			}
			return all, Span{number.Offset, number.Offset + number.Type.Size}
		}
	}
	for _, m := range t.Members {
		if m.Type == nil || m.Offset < 0 || m.BitSize > 0 || at < m.Offset || at >= m.Offset+m.Type.Size {
			continue
		}
		if all, index = held(m.Type, union, at-m.Offset, depth+1); len(all) > 0 {
			return all, Span{index.Lo + m.Offset, index.Hi + m.Offset}
		}
	}
	return nil, index
}
