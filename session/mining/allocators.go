package mining

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/types"
)

// maxHinted is how many functions are named that may be allocators.
const maxHinted = 3

// allocatorHint tells of --alloc, with the program's functions that may be what it means.
func allocatorHint(s *symbol.Table) string {
	var found []string
	for _, im := range s.Images {
		if im.Obj == nil || !im.Traced {
			continue
		}
		for _, f := range im.Obj.Funcs() {
			n := sizeArgument(im.Obj, &f)
			if hint := fmt.Sprintf("--alloc '%s(size=%d)'", f.Base, n); n > 0 && len(found) < maxHinted && !slices.Contains(found, hint) {
				found = append(found, hint) // a static function of a header is in each file that uses it
			}
		}
	}
	if len(found) == 0 {
		return "of an allocator of the program's own tell --alloc: --alloc 'pool_get(size=1)' --free 'pool_put(1)'"
	}
	return fmt.Sprintf("of an allocator of the program's own tell --alloc and --free 'NAME(1)'; by its type it may be %s", strings.Join(found, ", "))
}

// sizeArgument is the place, from 1, of the argument that is a number of bytes, of a function of the program's sources that returns a
// pointer to anything and has one argument that is an unsigned integer, which keys and places mostly are not, or one with a sign that is
// called a size; 0: it is no such function.
func sizeArgument(obj *objfile.File, f *objfile.Func) (place int) {
	if f.File == "" || objfile.SystemHeader(f.File) || f.IFunc || f.Size == 0 {
		return 0
	}
	if r := obj.ReturnType(f.Addr); r == nil || r.Kind != types.Pointer || r.Elem != nil && r.Elem.Kind != types.Void && r.Elem.Size != 1 {
		return 0
	}
	for i, v := range obj.Params(f.Addr) {
		if v.Type == nil || v.Type.Size < 4 || v.Type.Kind != types.Uint && (v.Type.Kind != types.Int || !strings.HasSuffix(v.Name, "size")) {
			continue
		}
		if place > 0 {
			return 0
		}
		place = i + 1
	}
	return place
}
