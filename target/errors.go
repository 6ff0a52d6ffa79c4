package target

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Why a program can not be started or held. Each stands for a decision that a
// caller may make; the error around it names the program and says what helps.
var (
	ErrNotFound      = errors.New("no such program")
	ErrDirectory     = errors.New("is a directory")
	ErrNotExecutable = errors.New("is not executable")
	ErrNotProgram    = errors.New("is not a program")
	Err32Bit         = errors.New("is a 32-bit program")
	ErrForeign       = errors.New("is a program for another machine")
	ErrScript        = errors.New("is a script")
	ErrPrivileged    = errors.New("runs with privileges of its own")
	ErrTraced        = errors.New("another tracer is present")
	ErrDenied        = errors.New("tracing is not permitted")
	ErrNotFollowed   = errors.New("was never executed")
	ErrNoProc        = errors.New("/proc does not show the processes that are seen from here")

	ErrExited   = errors.New("the process has ended")
	ErrNoThread = errors.New("no such thread")
	ErrRunning  = errors.New("the thread is running")
	ErrBusy     = errors.New("a thread could not be stopped")
	ErrDetached = errors.New("the process was let go and runs on")

	ErrNoProcess = errors.New("no such process")
	ErrKernel    = errors.New("is a kernel thread")

	ErrSeccomp   = errors.New("the program has a seccomp filter of its own")
	ErrUserfault = errors.New("userfaultfd can not be had")
	ErrInSyscall = errors.New("the thread is at a system call")
	ErrBlocked   = errors.New("the instruction waits in the kernel")
)

// FaultError says that an instruction that was executed for the tracer faulted.
// The program does not get the signal.
type FaultError struct{ Info Siginfo }

func (e *FaultError) Error() string {
	return fmt.Sprintf("%s at %#x", unix.SignalName(unix.Signal(e.Info.Signal)), e.Info.Addr)
}

// refuse says why name can not be started. detail may be empty.
func refuse(name string, why error, detail string) error {
	if why == ErrNotFound || why == ErrDenied {
		name += ":"
	}
	if detail == "" {
		return fmt.Errorf("%s %w", name, why)
	}
	return fmt.Errorf("%s %w: %s", name, why, detail)
}

// denied explains an EPERM of ptrace(2) or of starting a traced child.
func denied(name string, err error) error {
	self := procStatus("self")
	if self.uint("TracerPid", 10) != 0 {
		return fmt.Errorf("%s: %w: %s traces this one and its children", name, ErrTraced, self.tracer())
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch s := strings.TrimSpace(string(scope)); {
	case s == "2" || s == "3":
		return fmt.Errorf("%s: %w: kernel.yama.ptrace_scope is %s; see mgtrace doctor", name, ErrDenied, s)
	case self.uint("Seccomp", 10) != 0:
		return fmt.Errorf("%s: %w: a seccomp filter of this container refuses ptrace; run it with --cap-add SYS_PTRACE", name, ErrDenied)
	}
	return fmt.Errorf("%s: %w: %w", name, ErrDenied, err)
}

// status is the text of /proc/PID/status by key.
type status map[string]string

// tracer names the process that traces the one whose status this is. TracerPid is a thread, and
// threads have names of their own: that of when they were made.
func (s status) tracer() string {
	pid := procStatus(s["TracerPid"])["Tgid"]
	return fmt.Sprintf("%s (process %s)", procStatus(pid)["Name"], pid)
}

// checkProc says why nothing can be learnt from /proc of a process: it is not mounted, or another pid namespace's.
func checkProc() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("%w: mount -t proc proc /proc (unshare does it with --mount-proc)", ErrNoProc)
	}
	return nil
}

// procStatus reads /proc/who/status; it is empty if that is gone.
func procStatus(who string) status {
	s := make(status)
	text, err := os.ReadFile("/proc/" + who + "/status")
	if err != nil {
		return s
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			s[key] = strings.TrimSpace(value)
		}
	}
	return s
}

// uint returns a number of the status, 0 if it has none of that name.
func (s status) uint(key string, base int) uint64 {
	n, err := strconv.ParseUint(s[key], base, 64)
	if err != nil {
		return 0
	}
	return n
}
