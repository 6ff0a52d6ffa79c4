package eval

import (
	"mgtrace/cxxname"
	"mgtrace/trace"
	"path"
	"strings"
)

// functionNames are the names of the watched functions, in their order.
func functionNames(prog *trace.Program) []cxxname.Name {
	names := make([]cxxname.Name, len(prog.Funcs))
	for i := range prog.Funcs {
		names[i] = cxxname.Of(prog.Funcs[i].Name)
	}
	return names
}

// sameFile reports whether a file as the specification names it is one that
// debug information names.
func sameFile(spec, file string) bool {
	spec, file = path.Clean(spec), path.Clean(file)
	return spec == file || strings.HasSuffix(file, "/"+spec)
}
