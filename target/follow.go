package target

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxNamed bounds the programs that an ErrNotFollowed lists.
const maxNamed = 20

// follower waits in a tree of processes for the one that executes a program.
type follower struct {
	t     *tracer
	want  string       // name or path
	live  map[int]bool // every thread that is traced
	early map[int]bool // threads that ended before the clone that made them was reported
	known map[int]bool // threads whose making was reported
	seen  []string     // programs that were executed, in order, without repetition
	found int          // process that executed the program and is stopped there
}

// follow lets the root process run, and every process that comes of it, until
// one of them executes the program that is meant. It becomes t.pid; all others
// are asked to stop and let go when they do.
func (t *tracer) follow(ctx context.Context, c Command) error {
	f := &follower{t: t, want: c.Follow,
		live: map[int]bool{t.root: true}, known: map[int]bool{t.root: true}, early: make(map[int]bool)}
	if !f.match(t.root) {
		if err := f.t.resumeTID(t.root, resumption{}); err != nil {
			return err
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
	t.pid = f.found
	for tid := range f.live {
		if tid != f.found {
			// It stops, and tracer.onStop detaches what is not its own.
			if err := unix.PtraceInterrupt(tid); err == nil {
				t.strays[tid] = true
			}
		}
	}
	return nil
}

// wait handles what the tree reports until the program is found.
func (f *follower) wait(ctx context.Context) error {
	for {
		for {
			tid, ws, err := waitAny()
			if err != nil {
				return fmt.Errorf("follow: %w", err)
			}
			if tid == 0 {
				break
			}
			f.handle(tid, ws)
			if f.found != 0 {
				return nil
			}
		}
		if len(f.live) == 0 {
			return f.notFound()
		}
		select {
		case <-f.t.sigchld:
		case <-ctx.Done():
			for tid := range f.live {
				f.t.strays[tid] = true
			}
			return fmt.Errorf("while waiting for %s to be executed: %w", f.want, context.Cause(ctx))
		}
	}
}

func (f *follower) handle(tid int, ws unix.WaitStatus) {
	if !ws.Stopped() {
		delete(f.live, tid)
		if f.known[tid] {
			delete(f.known, tid)
		} else {
			f.early[tid] = true
		}
		if tid == f.t.root {
			f.t.rootEnded(ws)
		}
		return
	}
	f.live[tid] = true
	next := resumption{}
	switch event := int(ws >> 16); event {
	case 0:
		next.signal = int(ws.StopSignal())
	case unix.PTRACE_EVENT_STOP:
		next.listen = isStopSignal(int(ws.StopSignal()))
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		f.onClone(tid)
	case unix.PTRACE_EVENT_EXEC:
		if old, err := eventMessage(tid); err == nil && int(old) != tid {
			delete(f.live, int(old)) // that thread has taken the process's id
		}
		if f.match(tid) {
			return
		}
	}
	// ESRCH: killed meanwhile; its end will be reported.
	_ = f.t.resumeTID(tid, next)
}

// onClone notes a new thread, whose first stop may be yet to come or past.
func (f *follower) onClone(tid int) {
	msg, err := eventMessage(tid)
	if err != nil {
		return
	}
	child := int(msg)
	if f.early[child] {
		delete(f.early, child)
		return
	}
	f.known[child], f.live[child] = true, true
}

// match reports whether the process, stopped at an exec, runs the program that
// is meant: by its file, or by the name that it was given (a link, busybox).
func (f *follower) match(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	if len(f.seen) < maxNamed && !slices.Contains(f.seen, exe) {
		f.seen = append(f.seen, exe)
	}
	if f.names(exe) || f.names(argv0(pid)) {
		f.found = pid
		return true
	}
	return false
}

func (f *follower) names(exe string) bool {
	if exe == "" {
		return false
	}
	if !strings.Contains(f.want, "/") {
		return filepath.Base(exe) == f.want
	}
	want, err := filepath.EvalSymlinks(f.want)
	if err != nil {
		want = f.want
	}
	want, err = filepath.Abs(want)
	return err == nil && filepath.Clean(exe) == want
}

// argv0 is the name that a process was given, "" if it cannot be read.
func argv0(pid int) string {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	name, _, _ := bytes.Cut(cmdline, []byte{0})
	return string(name)
}

func (f *follower) notFound() error {
	err := fmt.Errorf("%s %w; executed were %s", f.want, ErrNotFollowed, strings.Join(f.seen, ", "))
	if f.t.rootStatus != nil {
		err = fmt.Errorf("%w (the first of them ended with %s)", err, *f.t.rootStatus)
	}
	return err
}
