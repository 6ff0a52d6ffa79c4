// Package compilertest finds the compilers that tests build programs with.
package compilertest

import (
	"os/exec"
	"path/filepath"
)

// Newest is the path of a compiler by that name, or of the newest of its versions; "" if
// there is none.
func Newest(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/bin/" + name + "-[0-9]*")
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}
