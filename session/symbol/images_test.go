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
