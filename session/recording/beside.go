package recording

import (
	"errors"
	"os"
	"path/filepath"
)

// IndexPath is where the index of a trace lies.
func IndexPath(path string) string { return path + ".idx" }

// Replace writes a file beside its place and puts it there when it is on disk.
func Replace(path string, write func(*os.File) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
