package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// marked returns the processes whose environment has the entry mark, this one not.
// A zombie has no environment.
func marked(mark string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark }) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// describe names a process for a message.
func describe(pid int) string {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return fmt.Sprintf("process %d (%s, state %s)", pid, strings.ReplaceAll(strings.TrimRight(string(args), "\x00"), "\x00", " "), statusField(pid, "State"))
}

// statusField returns a line of /proc/PID/status, "" if there is none.
func statusField(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// errGone says that a target does not live any more.
var errGone = errors.New("the target has ended")

// unharmed waits until harmed has nothing to say: what the kernel takes out, it
// takes out a little later.
func (before shape) unharmed(pid int, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := before.harmed(pid); err == nil || errors.Is(err, errGone) || time.Now().After(end) {
			return err
		}
	}
}

// A shape is what a tracer may change of a process and has to put right again.
type shape struct {
	descriptors map[string]string   // number → what it leads to
	code        map[string][32]byte // executable mapping → hash of its bytes
	names       map[string]bool     // what is mapped, by name
	rss         int                 // kB
}

func shapeOf(pid int) (shape, error) {
	s := shape{descriptors: map[string]string{}, code: map[string][32]byte{}, names: map[string]bool{}}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return s, err
	}
	for _, fd := range fds {
		s.descriptors[fd.Name()], _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
	}
	fmt.Sscan(statusField(pid, "VmRSS"), &s.rss)
	lines, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return s, err
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return s, err
	}
	defer memory.Close()
	for line := range strings.Lines(string(lines)) {
		f := strings.Fields(line) // addresses, permissions, offset, device, inode, name
		var lo, hi uint64
		if _, err := fmt.Sscanf(f[0], "%x-%x", &lo, &hi); err != nil {
			return s, err
		}
		name := ""
		if len(f) > 5 {
			name = f[5]
			if name != "[uprobes]" { // where the kernel steps over probed instructions: it stays
				s.names[name] = true
			}
		}
		if f[1][2] != 'x' || name == "[vsyscall]" || name == "[uprobes]" {
			continue
		}
		code := make([]byte, hi-lo)
		if _, err := memory.ReadAt(code, int64(lo)); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		s.code[f[0]+" "+name] = sha256.Sum256(code)
	}
	return s, nil
}

// harmed says what is not as it was before, or that the process is stopped or traced.
func (before shape) harmed(pid int) error {
	state := statusField(pid, "State")
	switch {
	case state == "" || strings.ContainsAny(state[:1], "ZX"):
		return errGone
	case strings.ContainsAny(state[:1], "Tt"):
		return fmt.Errorf("the target's state is %q", state)
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, t := range threads {
		tid, _ := strconv.Atoi(filepath.Base(t))
		if by := statusField(tid, "TracerPid"); by != "0" && by != "" {
			return fmt.Errorf("thread %d is traced by %s", tid, by)
		}
	}
	now, err := shapeOf(pid)
	if err != nil {
		return err
	}
	if !maps.Equal(before.descriptors, now.descriptors) {
		return fmt.Errorf("the target's descriptors: before %v, now %v", before.descriptors, now.descriptors)
	}
	for m, hash := range now.code {
		if old, ok := before.code[m]; !ok {
			return fmt.Errorf("the target's new executable mapping %s", m)
		} else if old != hash {
			return fmt.Errorf("the target's code in %s is not what it was", m)
		}
	}
	for name := range now.names {
		if !before.names[name] {
			return fmt.Errorf("the target's new mapping %s", name)
		}
	}
	if now.rss > before.rss+16<<10 {
		return fmt.Errorf("the target's memory: before %d kB, now %d kB", before.rss, now.rss)
	}
	return nil
}
