package objfile

import (
	"path/filepath"
	"strings"
)

// SystemHeader reports whether a source file is a header of a library: its templates
// and inline functions become part of the programs that include it.
func SystemHeader(path string) bool {
	return strings.HasPrefix(path, "/usr/include/") || strings.HasPrefix(path, "/usr/lib/") ||
		strings.HasPrefix(path, "/usr/local/include/") || strings.Contains(path, "/include/c++/")
}

// SourceFile reports whether a file of C or C++ is compiled by itself, by its name, and no header: list.cpp.
func SourceFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".c", ".cc", ".cpp", ".cxx", ".c++":
		return true
	}
	return false
}
