package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteWhole: where there is no room for a file, there is what was there before, and nothing
// beside it. Else it is there, as the file was that it replaces.
func TestWriteWhole(t *testing.T) {
	full := errors.New("no space left on device")
	text := func(s string, err error) func(*os.File) error {
		return func(f *os.File) error {
			_, werr := f.WriteString(s)
			return errors.Join(werr, err)
		}
	}
	for _, c := range []struct {
		name  string
		make  func(t *testing.T, dir string) // what is there before
		err   error
		want  string // of the file; "": there is none
		mode  os.FileMode
		after int // files in the directory
	}{
		{"new", func(*testing.T, string) {}, nil, "new", 0, 1},
		{"new, no room", func(*testing.T, string) {}, full, "", 0, 0},
		{"old", old, nil, "new", 0o640, 1},
		{"old, no room", old, full, "old", 0o640, 1},
		{"link", linked, nil, "new", os.ModeSymlink | 0o777, 2},
		{"link, no room", linked, full, "old", os.ModeSymlink | 0o777, 2},
		{"link to nothing", func(t *testing.T, dir string) { must(t, os.Symlink("target", filepath.Join(dir, "r"))) }, nil, "new", os.ModeSymlink | 0o777, 2},
		{"second name", func(t *testing.T, dir string) {
			old(t, dir)
			must(t, os.Link(filepath.Join(dir, "r"), filepath.Join(dir, "other")))
		}, nil, "new", 0o640, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, dir)
			path := filepath.Join(dir, "r")
			if err := writeWhole(path, text("new", c.err)); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if got, _ := os.ReadFile(path); string(got) != c.want {
				t.Errorf("there is %q, want %q", got, c.want)
			}
			if info, err := os.Lstat(path); err == nil && c.mode != 0 && info.Mode() != c.mode {
				t.Errorf("mode %v, want %v", info.Mode(), c.mode)
			}
			if left, _ := os.ReadDir(dir); len(left) != c.after {
				t.Errorf("in the directory: %v", left)
			}
			if c.name == "second name" {
				if got, _ := os.ReadFile(filepath.Join(dir, "other")); string(got) != "new" {
					t.Errorf("by its other name it is %q", got)
				}
			}
		})
	}
}

func old(t *testing.T, dir string) {
	path := filepath.Join(dir, "r")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	must(t, os.Chmod(path, 0o640))
}

func linked(t *testing.T, dir string) {
	must(t, os.WriteFile(filepath.Join(dir, "target"), []byte("old"), 0o600))
	must(t, os.Symlink("target", filepath.Join(dir, "r")))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
