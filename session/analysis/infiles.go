package analysis

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/report"
	"mgtrace/trace"
)

// inFiles warns where a declared type has no node, and the program has mapped files, as a data base may be one.
func (a *Analysis) inFiles() []string {
	if len(a.Shared) == 0 || !slices.ContainsFunc(a.spec.Types, a.Checker.Unborn) {
		return nil
	}
	return []string{"the program has mapped " + MappedFiles(a.Shared)}
}

// MappedFiles says which files the program has mapped, and how what lies there becomes a node.
func MappedFiles(files []trace.Shared) string {
	var names []string
	for _, f := range files {
		names = append(names, fmt.Sprintf("%s (%s bytes)", filepath.Base(f.Path), report.Thousands(f.Size)))
	}
	return strings.Join(names, ", ") + ": what lies there is in no block of an allocator, and so no node." +
		" `enter TYPE at FUNCTION(return);` makes a node of what a function returns (FUNCTION(1): of what its first argument leads to), `allocator FUNCTION(size=N);` if it divides the file's memory"
}
