package transient

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGuard: a signal ends the process as it would have, and what was guarded is gone; what is no longer
// guarded stays.
func TestGuard(t *testing.T) {
	if path := os.Getenv("GUARDED"); path != "" {
		Guard(path + "-kept")()
		defer Guard(path)()
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		select {}
	}
	path := filepath.Join(t.TempDir(), "file")
	for _, p := range []string{path, path + "-kept"} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(os.Args[0], "-test.run", "TestGuard")
	c.Env = append(os.Environ(), "GUARDED="+path)
	var ended *exec.ExitError
	if err := c.Run(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there still: %v", err)
	}
	if _, err := os.Stat(path + "-kept"); err != nil {
		t.Error(err)
	}
}
