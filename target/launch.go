package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command says what to start.
type Command struct {
	Path string   // as typed: found through PATH unless it has a slash
	Args []string // without the name
	Env  []string // nil: that of this process
	Dir  string   // "": the current directory; Path is relative to the current one all the same

	// nil: those of this process.
	Stdin, Stdout, Stderr *os.File

	// Follow names the program that is meant when Path is a shell, a wrapper
	// or a test runner: NAME, a path, or exec=NAME. "": Path itself.
	Follow string

	// AllowUnprivileged starts a setuid or setcap program although it will
	// run without its privileges.
	AllowUnprivileged bool
}

// Launch starts the program and returns it stopped before its first
// instruction. With Follow it waits until a descendant executes that program
// and lets all others go; this is the one part that ctx can end. On error
// nothing that was started is left, except with ErrNotFollowed, when
// everything has ended by itself.
func Launch(ctx context.Context, c Command) (*Process, error) {
	exe, err := resolve(&c)
	if err == nil {
		err = checkProc()
	}
	if err != nil {
		return nil, err
	}
	t := newTracer()
	started := make(chan error, 1)
	go func() {
		// The thread is never unlocked: it ends with this goroutine, and
		// with it, by PTRACE_O_EXITKILL, whatever it still traces.
		runtime.LockOSThread()
		t.thread = unix.Gettid()
		err := t.start(ctx, c, exe)
		started <- err
		if err == nil {
			t.serve()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &Process{t: t}, nil
}

// resolve finds the program and refuses what can not be traced. It makes
// c.Follow a plain name.
func resolve(c *Command) (*Executable, error) {
	c.Follow = strings.TrimPrefix(c.Follow, "exec=")
	if c.Path == "" {
		return nil, refuse(`""`, ErrNotFound, "")
	}
	file, err := Find(c.Path, searchPath(c.Env))
	if err != nil {
		return nil, err
	}
	x, err := Inspect(file)
	if err != nil {
		return nil, err
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("working directory: %s: %w", c.Dir, unix.ENOTDIR)
		}
	}
	if c.Follow != "" {
		return x, nil // a launcher may be anything
	}
	return x, x.admit(c.AllowUnprivileged)
}

// admit is the last word on whether a program is traced by this process.
func (x *Executable) admit(allowUnprivileged bool) error {
	if err := x.traceable(); err != nil {
		return err
	}
	if why := x.LosesPrivileges(CurrentUser()); why != "" && !allowUnprivileged {
		return refuse(x.Path, ErrPrivileged, why+
			" and would lose them under a tracer; run mgtrace with CAP_SYS_PTRACE, or without them by --allow-unprivileged")
	}
	return nil
}

// searchPath is the value of PATH that a shell with that environment has.
func searchPath(env []string) string {
	if env == nil {
		return os.Getenv("PATH")
	}
	for i := len(env) - 1; i >= 0; i-- {
		if path, ok := strings.CutPrefix(env[i], "PATH="); ok {
			return path
		}
	}
	return ""
}

// start runs on the tracer's thread: fork, exec, seize, and with Follow the
// wait for the program that is meant.
func (t *tracer) start(ctx context.Context, c Command, exe *Executable) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.terminal = openTerminal()
	pid, err := fork(c, exe)
	if err == nil {
		t.root, t.pid = pid, pid
		t.watchChildren()
		if err = t.seize(pid); errors.Is(err, ErrExited) {
			t.root = 0 // nothing is left, and nothing more will be reported of it
		}
	}
	if err == nil && c.Follow != "" {
		err = t.follow(ctx, c)
	}
	if err == nil {
		err = t.adopt()
	}
	if err == nil && c.Follow == "" {
		err = t.outlive()
	}
	if err != nil {
		t.abandon()
		return err
	}
	return nil
}

// fork starts the program stopped at its exec by the classic PTRACE_TRACEME,
// the only thing that the Go runtime lets a child do between fork and exec.
func fork(c Command, exe *Executable) (pid int, err error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	file := func(f *os.File, fd uintptr) uintptr {
		switch {
		case f != nil:
			return f.Fd()
		case Closed(int(fd)):
			return ^uintptr(0) // none
		}
		return fd
	}
	// Until it is seized it would stay behind if this process were killed: stopped, or,
	// before its PTRACE_TRACEME, as the tracee of whoever is its parent then.
	sys := &syscall.SysProcAttr{Ptrace: true}
	if c.Follow == "" {
		sys.Pdeathsig = unix.SIGKILL
	}
	pid, err = syscall.ForkExec(exe.Path, append([]string{c.Path}, c.Args...), &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   env,
		Files: []uintptr{file(c.Stdin, 0), file(c.Stdout, 1), file(c.Stderr, 2)},
		Sys:   sys,
	})
	runtime.KeepAlive(c)
	switch {
	case err == nil:
		return pid, nil
	case errors.Is(err, unix.EPERM):
		return 0, denied(c.Path, err)
	case errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.ELIBBAD):
		return 0, refuse(exe.Path, ErrNotProgram, err.Error())
	case errors.Is(err, unix.ENOENT): // the file is there: its interpreter is not
		return 0, refuse(exe.Path, ErrNotExecutable, "its interpreter is missing")
	case errors.Is(err, unix.EACCES):
		return 0, refuse(exe.Path, ErrNotExecutable, err.Error())
	}
	return 0, fmt.Errorf("start %s: %w", c.Path, err)
}

// seize exchanges the attachment by PTRACE_TRACEME for one by PTRACE_SEIZE,
// the only kind under which a group-stop can be let through (PTRACE_LISTEN),
// without the program executing an instruction in between:
//
//  1. It is stopped by the SIGTRAP of its exec. Detach with SIGSTOP in place of
//     that: it stops itself on its way to user mode.
//  2. Seize it. It reports the group-stop.
//  3. SIGCONT ends the group-stop. The kernel makes a seized process report
//     that (PTRACE_EVENT_STOP with SIGTRAP) before it does anything else, and
//     there it stays. SIGCONT is still pending and will be dropped, as every
//     SIGCONT of ours (tracer.onSignal).
func (t *tracer) seize(pid int) error {
	if err := awaitStop(pid, func(ws unix.WaitStatus) bool { return ws.StopSignal() == unix.SIGTRAP }); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	if err := ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(unix.SIGSTOP)); err != nil {
		return fmt.Errorf("detach at exec: %w", err)
	}
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, traceOptions); err != nil {
		return denied(fmt.Sprintf("process %d", pid), err)
	}
	if err := awaitStop(pid, func(ws unix.WaitStatus) bool { return ws>>16 == unix.PTRACE_EVENT_STOP }); err != nil {
		return fmt.Errorf("seize: %w", err)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		return fmt.Errorf("continue after seizing: %w", err)
	}
	if err := ptrace(unix.PTRACE_CONT, pid, 0, 0); err != nil {
		return fmt.Errorf("continue after seizing: %w", err)
	}
	return awaitStop(pid, func(ws unix.WaitStatus) bool {
		return ws>>16 == unix.PTRACE_EVENT_STOP && ws.StopSignal() == unix.SIGTRAP
	})
}

// awaitStop waits for the stop of pid that is meant; any other signal on the
// way is delivered.
func awaitStop(pid int, meant func(unix.WaitStatus) bool) error {
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case !ws.Stopped():
			return fmt.Errorf("%w: %s", ErrExited, exitStatus(ws))
		case meant(ws):
			return nil
		}
		signal := uintptr(0)
		if ws>>16 == 0 {
			signal = uintptr(ws.StopSignal())
		}
		if err := ptrace(unix.PTRACE_CONT, pid, 0, signal); err != nil && !gone(err) {
			return err
		}
	}
}

// adopt makes t.pid, which is stopped at its exec, the process of this tracer.
func (t *tracer) adopt() error {
	th := &thread{tid: t.pid, stopped: true}
	if t.pid != t.root { // still inside its exec
		th.status = unix.WaitStatus(unix.PTRACE_EVENT_EXEC<<16 | unix.SIGTRAP<<8 | 0x7f)
	}
	t.threads = map[int]*thread{t.pid: th}
	t.held = true
	if err := t.openMemory(); err != nil {
		return err
	}
	t.hideTimes()
	if t.pid == t.root {
		return nil
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", t.pid))
	if err != nil {
		return err
	}
	x, err := Inspect(filepath.Clean(exe))
	if err != nil {
		return err
	}
	return x.traceable()
}

// outlive has the program not die any more of the end of the thread that started it:
// PTRACE_O_EXITKILL sees to that, and it may be let go.
func (t *tracer) outlive() error {
	if _, err := t.syscall(t.threads[t.pid], unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0); err != nil {
		return fmt.Errorf("start process %d: %w", t.pid, err)
	}
	return nil
}

// abandon ends all that a failed start has left.
func (t *tracer) abandon() {
	if t.root != 0 {
		t.killAll()
	}
	t.close()
}
