package session

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAbandoned: the folder of one that was killed goes when the next is made; one that is in use stays, and so does what
// somebody else has given such a name.
func TestAbandoned(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var made []*scratch
	for range 3 {
		s, err := newScratch()
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, s)
		if err := os.WriteFile(filepath.Join(s.dir, "run.mgt"), []byte("recorded"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	others := filepath.Join(tmp, "mgtrace-of-somebody")
	if err := os.Mkdir(others, 0o777); err != nil {
		t.Fatal(err)
	}
	there := func(dir string) bool {
		_, err := os.Stat(dir)
		return err == nil
	}
	_ = made[1].lock.Close() // as the kernel does for who is killed
	s, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{made[0].dir: true, made[1].dir: false, made[2].dir: true, s.dir: true, others: true} {
		if there(dir) != want {
			t.Errorf("%s: there is %v", filepath.Base(dir), !want)
		}
	}
	for _, s := range append(made, s) {
		s.remove()
		if there(s.dir) {
			t.Errorf("%s is there", s.dir)
		}
	}
}

// TestSearching: a signal that asks mgtrace to end ends what is searched for in the folder's recording, and neither
// mgtrace nor the folder; a search that nobody wants over goes on.
func TestSearching(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, asked := range []bool{true, false} {
		s, err := newScratch()
		if err != nil {
			t.Fatal(err)
		}
		s.guard()
		ctx, through := s.searching(t.Context())
		if asked {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
				t.Error("nobody was told")
			}
		} else if err := ctx.Err(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.dir); err != nil {
			t.Error(err)
		}
		through()
		s.remove()
	}
}
