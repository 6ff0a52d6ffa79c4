package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Through shells, wrappers and runners to the program that is meant.
func TestFollow(t *testing.T) {
	prog := build(t, "behave")
	dir := t.TempDir()
	if err := os.Symlink(prog, dir+"/linked"); err != nil {
		t.Fatal(err)
	}
	makefile := file(t, "Makefile", 0o644, []byte("all:\n\t@echo before; true\n\t@"+prog+" code 3 || echo code $$?\n\t@echo after\n"))
	wrapper := file(t, "wrapper", 0o755, []byte("#!/bin/sh\nX=1 env Y=2 "+prog+" \"$@\"\necho wrapped $?\n"))
	for name, c := range map[string]struct {
		path   string
		args   []string
		follow string
		status string
		output string
	}{
		"itself":     {prog, []string{"code", "3"}, "behave", "exit status 3", ""},
		"exec":       {"sh", []string{"-c", "exec " + prog + " code 3"}, "exec=behave", "exit status 3", ""},
		"fork":       {"sh", []string{"-c", prog + " code 3; echo $?"}, "behave", "exit status 3", "3"},
		"path":       {"sh", []string{"-c", prog + " code 3; echo $?"}, prog, "exit status 3", "3"},
		"link":       {"sh", []string{"-c", dir + "/linked code 3; echo $?"}, "linked", "exit status 3", "3"},
		"wrapper":    {wrapper, []string{"code", "3"}, "behave", "exit status 3", "wrapped 3"},
		"crash":      {wrapper, []string{"segv"}, "behave", "SIGSEGV", "wrapped 139"},
		"env":        {"env", []string{"A=b", prog, "code", "4"}, "behave", "exit status 4", ""},
		"make":       {"env", []string{"-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-f", makefile}, "behave", "exit status 3", "before\ncode 3\nafter"},
		"pipeline":   {"sh", []string{"-c", "echo in | " + prog + " cat | tr a-z A-Z"}, "behave", "exit status 0", "IN"},
		"background": {"sh", []string{"-c", "(sleep 0.1; " + prog + " code 5) &"}, "behave", "exit status 5", ""},
		"threads":    {wrapper, []string{"thread", "exit"}, "behave", "exit status 5", "wrapped 5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := launch(t, Command{Path: c.path, Args: c.args, Follow: c.follow})
			exe, err := s.p.Exe()
			if want, _ := filepath.EvalSymlinks(prog); err != nil || exe != want {
				t.Fatalf("followed to %s, %v", exe, err)
			}
			if err := s.p.RunToLoaded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.run(t.Context(), Handlers{}).String(); got != c.status {
				t.Errorf("status %s, want %s", got, c.status)
			}
			if !strings.HasSuffix(s.trace(), "exit "+c.status) {
				t.Errorf("events %s", s.trace())
			}
			if got := s.output(); !strings.HasSuffix(got, c.output) {
				t.Errorf("output %q, want %q", got, c.output)
			}
		})
	}
}

func TestFollowFailures(t *testing.T) {
	prog := build(t, "behave")
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for name, c := range map[string]struct {
		script string
		want   error
		text   string
	}{
		"never":   {"ls / >/dev/null; " + prog + " code 1; exit 4", ErrNotFollowed, "exit status 4"},
		"forever": {"sleep 1000 & sleep 1000", context.DeadlineExceeded, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if name == "forever" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second) // it must have begun by then
				defer cancel()
			}
			p, err := Launch(ctx, Command{Path: "sh", Args: []string{"-c", c.script}, Follow: "other", Stdout: out})
			if err == nil {
				p.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v; want %v with %q", err, c.want, c.text)
			}
			if name == "never" && !strings.Contains(err.Error(), "behave") {
				t.Errorf("%v does not name what was executed", err)
			}
			noChildren(t)
		})
	}
}

// noChildren: everything that was started has ended, or is on its way.
func noChildren(t *testing.T) {
	t.Helper()
	waitFor(t, "without children", func() bool { return children() == 0 })
}

// children counts the child processes of this process, zombies included.
func children() int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	n := 0
	for _, dir := range dirs {
		if int(procStatus(filepath.Base(dir)).uint("PPid", 10)) == unix.Getpid() {
			n++
		}
	}
	return n
}

// A launcher that lives on is waited for, and killed with the program at a timeout.
func TestFollowTimeout(t *testing.T) {
	s := launch(t, Command{Path: "sh", Args: []string{"-c", build(t, "behave") + " forever; sleep 1000"}, Follow: "behave"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if st := s.run(ctx, Handlers{}); st.Signal != unix.SIGKILL {
		t.Errorf("status %v", st)
	}
	noChildren(t)
}

func TestFollowClose(t *testing.T) {
	s := launch(t, Command{Path: "sh", Args: []string{"-c", build(t, "behave") + " forever; sleep 1000"}, Follow: "behave"})
	if err := s.p.Close(); err != nil {
		t.Error(err)
	}
	noChildren(t)
}
