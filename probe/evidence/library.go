package evidence

import (
	"slices"
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

// stringClasses are the classes of the C++ library's strings, as functions of theirs are named.
var stringClasses = [...]string{"std::string::", "std::__cxx11::basic_string<", "std::basic_string<", "std::wstring::", "std::u8string::", "std::u16string::", "std::u32string::"}

// ofString returns the characters' type if the call before pc stands in a function of a string of the C++ library, itself or
// inlined: what it allocates is the string's text. Where the pointer is stored tells nothing then: the string may be a
// temporary object in the place of a variable that comes later.
func ofString(f *objfile.File, pc uint64) *types.Type {
	if _, t := ofLibrary(f, pc-1); t != nil && isByte(t) {
		return t
	}
	for _, fr := range f.Frames(pc - 1) {
		if strings.HasPrefix(fr.Function, "std::string::_Rep::") {
			return nil // a header lies before the text
		}
		if i := slices.IndexFunc(stringClasses[:], func(class string) bool { return strings.HasPrefix(fr.Function, class) }); i >= 0 {
			if _, t := allocatorType(f, pc-1); t != nil {
				return t
			}
			if i == 0 {
				return &types.Type{Kind: types.Int, Name: "char", Size: 1}
			}
			return nil
		}
		if !strings.Contains(fr.Function, "std::") && !strings.Contains(fr.Function, "__gnu_cxx::") {
			return nil // an allocator of the program's own
		}
	}
	return nil
}
