package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Nodes that entered before mgtrace came are not known: a correct program is not accused of what depends on them, and
// that is said. What is wrong in one that has entered since is found.
func TestAttachMembers(t *testing.T) {
	t.Parallel()
	needTracing(t)
	bin, err := builds.compile("gcc", "testdata/attach-members.c", "attach-members", []string{"-g", "-O1"})
	if err != nil {
		t.Skip(err)
	}
	for _, faulty := range []bool{false, true} {
		jobs := start(t, bin)
		jobs.says(t, "ready")
		a := attach(t, jobs, "--engine", "inline", "--spec", "testdata/attach-members.cons")
		a.recording(t)
		jobs.goesOn(t)
		if faulty {
			if err := jobs.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			jobs.says(t, "turned")
		}
		r := a.ends(t, syscall.SIGINT)
		if !faulty && (r.status != 0 || r.report.Checked.CPoints == 0) {
			t.Errorf("the twin: status %d, %d C-points, found %+v\n%s", r.status, r.report.Checked.CPoints, r.report.CPoints, r.stderr)
		}
		if !faulty && !strings.Contains(strings.Join(r.report.Warnings, "\n"), "which nodes had entered before mgtrace came is not known") {
			t.Errorf("nothing is said of what was not judged: %q", r.report.Warnings)
		}
		if lines := suspects(&r.report); faulty && (r.status != 1 || !slices.Contains(lines, bugLine(t, "testdata/attach-members.c"))) {
			t.Errorf("the fault: status %d, suspects at %v\n%s", r.status, lines, r.stderr)
		}
		jobs.finishes(t)
	}
}
