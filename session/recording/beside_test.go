package recording

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is made of a recording may be read by whom the recording may be read; one that
// was there stays as it was.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	of := filepath.Join(dir, "t.mgt")
	if err := os.WriteFile(of, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, want := range []os.FileMode{0o600, 0o640} {
		var guarded, done string
		guard := func(name string) func() { guarded = name; return func() { done = name } }
		if err := Replace(out, of, guard, func(f *os.File) error { _, err := f.WriteString("it"); return err }); err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(guarded) != dir || done != guarded {
			t.Errorf("guarded %q until %q was there", guarded, done)
		}
		info, err := os.Stat(out)
		if err != nil || info.Mode().Perm() != want || info.Size() != 2 {
			t.Errorf("%v, %v: want %v", info, err, want)
		}
		if err := os.Chmod(out, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}
