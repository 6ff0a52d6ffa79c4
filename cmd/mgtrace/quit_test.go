package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestQuit: SIGQUIT ends mgtrace while there is no program that it is for, and does not make it list
// goroutines. A process that mgtrace has attached to is let go, and reported on.
func TestQuit(t *testing.T) {
	t.Parallel()
	needTracing(t)
	t.Run("before the program", func(t *testing.T) {
		t.Parallel()
		state, told := endedBy(t, syscall.SIGQUIT, t.TempDir())
		if got := state.ExitCode(); got != 128+int(syscall.SIGQUIT) || strings.Contains(told, "goroutine") {
			t.Errorf("%v\n%s", state, told)
		}
	})
	t.Run("attached", func(t *testing.T) {
		t.Parallel()
		list := startList(t)
		a := attach(t, list, "--spec", attachSpec)
		a.recording(t)
		r := a.ends(t, syscall.SIGQUIT)
		if got := strings.Join(r.report.Why, "; "); r.status != 0 || !strings.Contains(got, "let the process go") || strings.Contains(r.stderr, "goroutine") {
			t.Errorf("status %d, %s\n%s", r.status, got, r.stderr)
		}
		list.finishes(t)
	})
}

// TestScratch: a recording that is not to be kept goes with mgtrace when a signal ends that.
func TestScratch(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		room := t.TempDir()
		state, told := endedBy(t, sig, room, "--last", "2MB")
		if ws := state.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: %v\n%s", sig, state, told)
		}
		if left, err := os.ReadDir(room); err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v (%v)", sig, left, err)
		}
	}
}

// endedBy has a signal end mgtrace while it waits for a program, with a folder for temporary
// files, and returns how it ended and what it said.
func endedBy(t *testing.T, sig syscall.Signal, room string, flags ...string) (*os.ProcessState, string) {
	t.Helper()
	args := append(append([]string{"run"}, flags...), "--follow", "exec=nothing-like-it", "/bin/sh", "--", "-c", "echo ready; sleep 100")
	cmd := exec.Command(tool(t), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+room)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the shell says %q (%v)", line, err)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the state tells
	return cmd.ProcessState, errs.String()
}
