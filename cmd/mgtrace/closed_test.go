package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestClosed: standard descriptors that are closed are so in the program too. Go's runtime
// opens them in mgtrace; the entry that the Makefile links it with remembers.
func TestClosed(t *testing.T) {
	needTracing(t)
	if raceDetector() {
		t.Skip("built otherwise for the race detector")
	}
	// The program tells in its exit status which descriptors it has.
	const program = `n=0; for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && n=$((n + (1 << i))); done; exit $n`
	report := filepath.Join(t.TempDir(), "report")
	for redirect, want := range map[string]int{"": 7, "<&-": 6, ">&-": 5, "<&- >&- 2>&-": 0, "<>/dev/null": 7} {
		run := exec.Command("sh", "-c", `"$@" `+redirect, "sh", tool(t), "run", "--pass-exit", "--report", report, "/bin/sh", "--", "-c", program)
		out, err := run.CombinedOutput()
		got := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if got != want {
			t.Errorf("%q: the program has the descriptors %03b, want %03b\n%s", redirect, got, want, out)
		}
	}
}
