package objfile

import (
	"strings"

	"mgtrace/cxxname"
)

// FuncsLinked returns the functions that the symbol tables define under names
// that want accepts, by address; Linkage is the name accepted, and a function
// with several such names is there once for each. Nothing is demangled and no
// debug information is read, so that it is cheap for large libraries too.
func (f *File) FuncsLinked(want func(linkage string) bool) []Func {
	t := f.symbolTable()
	var found []Func
	for i := range t.funcs {
		s := &t.funcs[i]
		if s.partOf >= 0 || !want(s.name) {
			continue
		}
		fn := Func{Name: cxxname.Demangle(s.name), Linkage: s.name, Addr: s.addr, Size: s.size, IFunc: s.ifunc}
		fn.Base = fn.Name
		if s.size > 0 {
			fn.Ranges = append([][2]uint64{{s.addr, s.addr + s.size}}, s.parts...)
		}
		found = append(found, fn)
	}
	return found
}

// FuncsInFull returns the functions that the symbol tables define under a name, demangled, with
// its parameters or without: as FuncsLinked does, so that of a library "insert" is a function
// of C, and none of the many of C++ that end so.
func (f *File) FuncsInFull(name string) []Func {
	literal := literalOf(name)
	return f.FuncsLinked(func(linkage string) bool {
		return strings.Contains(linkage, literal) && cxxname.Is(cxxname.Demangle(linkage), name)
	})
}

// literalOf is what a symbol table has in the name of each function of a name: the name, if it
// is a plain one. Few have it, and demangling takes a microsecond.
func literalOf(name string) string {
	if strings.ContainsAny(name, ":<(~ ") || strings.HasPrefix(name, "operator") {
		return ""
	}
	return name
}
