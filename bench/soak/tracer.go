package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The variables in the environment by which processes are found: of mgtrace and
// what it starts, and of a target that was there before.
const (
	tracerMark = "MGTRACE_SOAK_TRACER="
	targetMark = "MGTRACE_SOAK_TARGET="
)

// A tracer is a running mgtrace.
type tracer struct {
	cmd   *exec.Cmd
	dir   string
	mark  string
	ended chan struct{} // closed when it has ended
}

// own are the directories that each tracer has for itself and has to leave empty:
// for temporary files, and the working directory.
var own = []string{"tmp", "cwd"}

// trace starts mgtrace by one of the command lines, in a directory of its own. All
// share a home, where mgtrace keeps a cache.
func (s *soak) trace(dir, line string, values map[string]string, args []string, stdin *os.File) (*tracer, error) {
	for _, d := range own {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			return nil, err
		}
	}
	t := &tracer{dir: dir, mark: tracerMark + filepath.Base(s.dir) + "/" + filepath.Base(dir), ended: make(chan struct{})}
	var fields []string
	for _, f := range strings.Fields(line) {
		for name, v := range values {
			f = strings.ReplaceAll(f, "{"+name+"}", v)
		}
		f = strings.ReplaceAll(f, "{engine}", s.engine)
		fields = append(fields, strings.ReplaceAll(f, "{file}", filepath.Join(dir, "trace.mgt")))
	}
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	t.cmd = exec.Command(s.mgtrace, append(fields, args...)...)
	t.cmd.Dir, t.cmd.Stdout, t.cmd.Stderr = filepath.Join(dir, "cwd"), stdout, stderr
	if stdin != nil {
		t.cmd.Stdin = stdin
	}
	t.cmd.Env = append(os.Environ(), t.mark, "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+s.home(),
		"XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_RUNTIME_DIR=")
	// A group of its own: Ctrl-C is for this program.
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		t.cmd.Wait()
		close(t.ended)
	}()
	return t, nil
}

func (t *tracer) signal(s syscall.Signal) { t.cmd.Process.Signal(s) } // it may have ended

// said waits until the tracer has said something on its standard error, or has ended.
func (t *tracer) said(text string, patience time.Duration) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		out, _ := os.ReadFile(filepath.Join(t.dir, "stderr"))
		select {
		case <-t.ended:
			return
		default:
		}
		if bytes.Contains(out, []byte(text)) {
			return
		}
	}
}

// killChild kills the process that the tracer has started, the target or the keeper, or
// waits for it first.
func (t *tracer) killChild(patience time.Duration) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range marked(t.mark) {
			if statusField(pid, "PPid") == strconv.Itoa(t.cmd.Process.Pid) {
				syscall.Kill(pid, syscall.SIGKILL)
				return
			}
		}
		select {
		case <-t.ended:
			return
		default:
		}
	}
}

// wait waits for the tracer's end, or makes it end.
func (t *tracer) wait(patience time.Duration) error {
	select {
	case <-t.ended:
		return nil
	case <-time.After(patience):
	}
	t.signal(syscall.SIGABRT) // a Go program prints its goroutines
	select {
	case <-t.ended:
	case <-time.After(2 * time.Second):
		t.signal(syscall.SIGKILL)
		<-t.ended
	}
	return fmt.Errorf("mgtrace did not end within %s (its goroutines are in stderr)", patience)
}

// status is the exit status, or -1 minus the signal that ended it.
func (t *tracer) status() int {
	if w := t.cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		return -1 - int(w.Signal())
	}
	return t.cmd.ProcessState.ExitCode()
}

// clean checks what a tracer that has ended left behind: processes, files, a panic.
// What is left is ended.
func (t *tracer) clean(patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := marked(t.mark)
		if len(left) == 0 {
			break
		}
		if time.Now().Before(end) {
			continue
		}
		var list []string
		for _, pid := range left {
			list = append(list, describe(pid))
			syscall.Kill(pid, syscall.SIGKILL)
		}
		return fmt.Errorf("left behind: %s", strings.Join(list, ", "))
	}
	for _, d := range own {
		entries, err := os.ReadDir(filepath.Join(t.dir, d))
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("left behind: the file %s in %s", entries[0].Name(), d)
		}
	}
	said, err := os.ReadFile(filepath.Join(t.dir, "stderr"))
	if err != nil {
		return err
	}
	if bytes.Contains(said, []byte("\ngoroutine ")) || bytes.Contains(said, []byte("fatal error: ")) {
		return fmt.Errorf("mgtrace panicked, see stderr")
	}
	return nil
}
