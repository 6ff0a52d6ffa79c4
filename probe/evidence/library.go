package evidence

import (
	"strings"

	"mgtrace/objfile"
	"mgtrace/types"
)

// What the compiled part of the C++ library allocates for itself, by the beginnings of its
// functions' names in symbol tables: mostly it has no debug information.
var ofLibraryFunctions = [...]struct {
	linkage string
	typ     *types.Type
}{
	{"__cxa_allocate_exception", &types.Type{Kind: types.Struct, Name: "__cxxabiv1::__cxa_refcounted_exception", Size: -1}},
	{"__cxa_allocate_dependent_exception", &types.Type{Kind: types.Struct, Name: "__cxxabiv1::__cxa_dependent_exception", Size: -1}},
	{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE", &types.Type{Kind: types.Int, Name: "char", Size: 1}},
	{"_ZNSs4_Rep9_S_createEmmRKSaIcE", &types.Type{Kind: types.Struct, Name: "std::string::_Rep", Size: -1}},
}

// ofLibrary returns what the function at pc allocates if it is one of these.
func ofLibrary(f *objfile.File, pc uint64) (name string, t *types.Type) {
	fn, ok := f.FuncAt(pc)
	if !ok {
		return "", nil
	}
	for i := range ofLibraryFunctions {
		l := &ofLibraryFunctions[i]
		if strings.HasPrefix(fn.Linkage, l.linkage) {
			return fn.Name, l.typ
		}
	}
	return "", nil
}
