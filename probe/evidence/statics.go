package evidence

import (
	"sort"

	"mgtrace/objfile"
)

// statics finds variables in static memory by address. A file's are listed
// when the first is asked for.
type statics map[*objfile.File][]objfile.Variable

func (s statics) at(f *objfile.File, addr int64) (objfile.Variable, bool) {
	list, ok := s[f]
	if !ok {
		for _, v := range f.Globals() {
			if v.Loc.Kind == objfile.LocStatic && v.Type != nil {
				list = append(list, v)
			}
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Loc.Offset < list[j].Loc.Offset })
		s[f] = list
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].Loc.Offset > addr }) - 1
	if i < 0 || addr-list[i].Loc.Offset >= list[i].Type.Size {
		return objfile.Variable{}, false
	}
	return list[i], true
}
