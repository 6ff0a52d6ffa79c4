package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoProc: where /proc is that of another pid namespace, nothing there is what it seems: it is said, and nothing
// is started.
func TestNoProc(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "-pf", "true").CombinedOutput(); err != nil {
		t.Skipf("unshare: %v %s", err, out)
	}
	for _, args := range [][]string{{"run", "/bin/echo", "--", "started"}, {"doctor"}} {
		cmd := exec.Command("unshare", append([]string{"-pf", tool(t)}, args...)...)
		out, _ := cmd.CombinedOutput()
		if got := string(out); cmd.ProcessState.ExitCode() == 0 || strings.Contains(got, "started") || !strings.Contains(got, "mount -t proc proc /proc") {
			t.Errorf("%v: %v\n%s", args, cmd.ProcessState, got)
		}
	}
}
