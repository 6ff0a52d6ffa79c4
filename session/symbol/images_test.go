package symbol

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestMatchesModule(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "libfoo.so.1.2"), filepath.Join(dir, "current")
	if err := errors.Join(os.WriteFile(file, nil, 0o666), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want bool
	}{
		{file, true}, {"libfoo.so.1.2", true}, {"libfoo.so.1", true}, {"libfoo.so", true}, {"libfoo", true}, {link, true},
		{"libfo", false}, {"libfoo.so.1.2.3", false}, {"/usr/lib/libfoo.so", false}, {"foo.so", false}, {"", false},
	} {
		if got := MatchesModule(file, []string{"other", c.name}); got != c.want {
			t.Errorf("%q: %v", c.name, got)
		}
	}
	if MatchesModule(file, nil) {
		t.Error("no name matches")
	}
}

// What belongs to the implementation of a language is nobody's own, however it was built.
func TestRuntimeLibrary(t *testing.T) {
	for path, want := range map[string]bool{
		"/lib/x86_64-linux-gnu/libc.so.6":             true,
		"/lib64/ld-linux-x86-64.so.2":                 true,
		"/opt/gcc/lib64/libstdc++.so.6.0.32":          true,
		"/usr/lib/llvm-14/lib/libc++abi.so.1":         true,
		"/usr/lib/gcc/x86_64-linux-gnu/12/libasan.so": true,
		"/home/user/build/libcurses.so":               false,
		"/home/user/build/libmath.so":                 false,
		"/home/user/build/libtree.so.2":               false,
	} {
		if got := runtimeLibrary(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
