// Package cachedir gives go-graphviz a private place for its compiled code.
//
// That library compiles itself when its package is initialised, and caches the
// result below os.TempDir, in a directory that all users of a machine share: it
// panics, before main, where another user made that directory first. This
// package points TMPDIR at a directory of this user's own while the library is
// initialised; [Restore] puts TMPDIR back, so that the traced program does not
// see it.
//
// It is a module of its own for the sake of its import path: packages are
// initialised in the order of their paths as far as their imports allow (The Go
// Programming Language Specification, "Package initialization"), and
// "cachedir.mgtrace" comes before "github.com/goccy".
package cachedir

import (
	"os"
	"path/filepath"
)

const variable = "TMPDIR"

var original, wasSet = os.LookupEnv(variable)

func init() { _ = os.Setenv(variable, private()) }

// private returns a directory that only this user can write to. Where there can
// be none it returns a path that can not exist: the library then goes without a
// cache, and starts slower.
func private() string {
	base, err := os.UserCacheDir()
	if err == nil {
		dir := filepath.Join(base, "mgtrace")
		if err = os.MkdirAll(dir, 0o700); err == nil && writable(dir) {
			return dir
		}
	}
	return filepath.Join(os.DevNull, "none")
}

func writable(dir string) bool {
	f, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}

// Restore gives TMPDIR its value back.
func Restore() {
	if wasSet {
		_ = os.Setenv(variable, original)
	} else {
		_ = os.Unsetenv(variable)
	}
}
