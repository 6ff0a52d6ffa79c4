package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// writeWhole has a file written that appears under its name when it is whole: until then, and
// where there is no room for it, there is what was there before. What is no file of ours alone
// (a device, a pipe, a file of another user or with another name), or in a directory that takes
// no other one, is written where it is.
func writeWhole(path string, write func(*os.File) error) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode, ok := replaceable(path)
	if !ok {
		return writeInPlace(path, write)
	}
	beside := fmt.Sprintf("%s.tmp-%d", path, os.Getpid())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return writeInPlace(path, write)
	}
	err = write(f)
	if mode != 0 {
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}

// replaceable reports whether another file may take the place of what is there, and the
// permissions that it has: 0 where there is nothing.
func replaceable(path string) (mode os.FileMode, ok bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, errors.Is(err, os.ErrNotExist)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().Perm(), ok && info.Mode().IsRegular() && int(st.Uid) == os.Geteuid() && st.Nlink == 1
}

func writeInPlace(path string, write func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
