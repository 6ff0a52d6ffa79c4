package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Holding the target back. The kernel program sends SIGSTOP when the ring is
// fuller than hold_at, and counts it in held after sending. The reader answers
// with SIGCONT when the ring is down to a tenth. It compares held with the value
// that its last SIGCONT answered and reads it before sending: a SIGSTOP sent
// meanwhile is counted later and answered by another SIGCONT, so the target is
// never left stopped.

// resume lets a held target run if the ring is down to a tenth; remaining is
// what the ring holds, bytes.
func (e *Engine) resume(remaining int) {
	if remaining > e.opts.Ring/10 {
		return
	}
	if e.freezer != nil {
		e.freezer.thaw()
	}
	var held uint64
	if e.objs.Held.Get(&held) != nil || held == e.answered {
		return
	}
	e.answered = held
	e.stops.Add(1)
	// By pidfd, so that no other process of that number can be meant. The
	// target may be gone: nothing is to be done then.
	_ = unix.PidfdSendSignal(e.pidfd, unix.SIGCONT, nil, 0)
}

// freeze freezes the target when the ring is half full, if that is how it is
// held. Freezing takes effect a little later: the kernel's SIGSTOP, at three
// quarters, stays as the safety net.
func (e *Engine) freeze(remaining int) {
	if e.freezer != nil && remaining > e.opts.Ring/2 && e.freezer.freeze() {
		e.stops.Add(1)
	}
}

// freezer is a cgroup (v2) that holds the target alone. Threads in it stop
// without a signal: their system calls are not interrupted.
type freezer struct {
	dir    string // the cgroup
	parent string // where the target came from
	frozen bool
}

// newFreezer moves a process into a new cgroup below its own, so that it keeps
// all limits.
func newFreezer(pid int) (*freezer, error) {
	root, err := unifiedRoot()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, err
	}
	own, ok := unifiedPath(string(b))
	if !ok {
		return nil, errors.New("no cgroup v2")
	}
	f := &freezer{parent: filepath.Join(root, own)}
	f.dir = filepath.Join(f.parent, fmt.Sprintf("mgtrace-%d", pid))
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(f.dir, "cgroup.freeze")); err != nil {
		return nil, errors.Join(err, os.Remove(f.dir))
	}
	if err := f.write("cgroup.procs", fmt.Sprint(pid)); err != nil {
		return nil, errors.Join(err, os.Remove(f.dir))
	}
	return f, nil
}

// unifiedRoot finds where cgroup v2 is mounted.
func unifiedRoot() (string, error) {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1], nil
		}
	}
	return "", errors.New("cgroup v2 is not mounted")
}

// unifiedPath finds the line "0::/path" of /proc/PID/cgroup (cgroups(7)).
func unifiedPath(s string) (string, bool) {
	for line := range strings.Lines(s) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(p), true
		}
	}
	return "", false
}

func (f *freezer) write(file, value string) error {
	return os.WriteFile(filepath.Join(f.dir, file), []byte(value), 0)
}

// freeze says whether it froze what was not frozen.
func (f *freezer) freeze() bool {
	if f.frozen || f.write("cgroup.freeze", "1") != nil {
		return false
	}
	f.frozen = true
	return true
}

func (f *freezer) thaw() {
	if f.frozen && f.write("cgroup.freeze", "0") == nil {
		f.frozen = false
	}
}

// close moves what still lives in the cgroup back and removes it.
func (f *freezer) close() error {
	f.thaw()
	b, err := os.ReadFile(filepath.Join(f.dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(b)) {
		// A process that ends meanwhile is no matter.
		_ = os.WriteFile(filepath.Join(f.parent, "cgroup.procs"), []byte(pid), 0)
	}
	return os.Remove(f.dir)
}
