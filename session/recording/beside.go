package recording

import (
	"errors"
	"os"
	"path/filepath"
)

// IndexPath is where the index of a trace lies.
func IndexPath(path string) string { return path + ".idx" }

// Replace writes a file beside its place and puts it there when it is on disk. A new one may
// be read by whom the recording that it is made of may be: it has what memory held. guard is told its name
// before it has its place, and what it returns is called when it has, or is gone.
func Replace(path, of string, guard func(name string) (done func()), write func(*os.File) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer guard(f.Name())()
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	info, err := os.Stat(path)
	if err != nil {
		info, err = os.Stat(of)
	}
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(info.Mode().Perm()), f.Sync()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
