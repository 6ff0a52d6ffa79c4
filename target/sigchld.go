package target

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quiet has the kernel send no SIGCHLD for stops of tracees, until the returned function
// is called: while a thread is stepped its stops are waited for, and each signal would
// cost as much as the step. It ends with one SIGCHLD, which has every tracer of this
// process look for what was reported meanwhile.
func quiet() (undo func()) {
	var old kernelAction
	if !old.swap(nil) || old.flags&noChildStop != 0 {
		return func() {}
	}
	mute := old
	mute.flags |= noChildStop
	if !mute.set() {
		return func() {}
	}
	return func() {
		old.set()
		_ = unix.Kill(os.Getpid(), unix.SIGCHLD) // to ourselves: it can not fail
	}
}

// loud ends what quiet began, before somebody sleeps until a SIGCHLD: a handler that quiet
// surrounds may have to wait for a thread. It may be called at any time.
func loud() {
	var now kernelAction
	if !now.swap(nil) || now.flags&noChildStop == 0 {
		return
	}
	now.flags &^= noChildStop
	now.set()
	_ = unix.Kill(os.Getpid(), unix.SIGCHLD) // what was reported until now
}

const noChildStop = 1 // SA_NOCLDSTOP

// kernelAction is the kernel's struct sigaction (arch/x86/include/uapi/asm/signal.h).
type kernelAction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

func (a *kernelAction) swap(to *kernelAction) bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(a)), 8, 0, 0)
	return errno == 0
}

func (a *kernelAction) set() bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(a)), 0, 8, 0, 0)
	return errno == 0
}
