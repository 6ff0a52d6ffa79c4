package objfile

import "strings"

// SystemHeader reports whether a source file is a header of a library: its templates
// and inline functions become part of the programs that include it.
func SystemHeader(path string) bool {
	return strings.HasPrefix(path, "/usr/include/") || strings.HasPrefix(path, "/usr/lib/") ||
		strings.HasPrefix(path, "/usr/local/include/") || strings.Contains(path, "/include/c++/")
}
