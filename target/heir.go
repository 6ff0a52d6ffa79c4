package target

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Heir takes over what a tracer leaves that is killed. When the tracer's process has
// attached to another one, the kernel lets that go at its death, thread by thread, in
// whatever state each is: some with a signal in hand, or just made, or in code of the
// tracer. So the heir is the tracer of the tracer's thread. The kernel tells it of the
// thread's end before it lets anybody go (PTRACE_EVENT_EXIT), and waits for the answer:
// all are sent a SIGSTOP first, which they find before they execute another instruction.
type Heir struct {
	tracer, pid int
	ended       chan struct{}
	stopped     []int
}

// inherit makes this process the heir of a thread of another one, which is the tracer of
// process pid.
func inherit(tracer, pid int) (*Heir, error) {
	h := &Heir{tracer: tracer, pid: pid, ended: make(chan struct{})}
	started := make(chan error, 1)
	onThread(func() {
		err := ptrace(unix.PTRACE_SEIZE, tracer, 0, unix.PTRACE_O_TRACEEXIT)
		started <- err
		if err == nil {
			h.await()
			close(h.ended)
		}
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("trace the tracer, thread %d: %w", tracer, err)
	}
	return h, nil
}

// Stopped waits for the end of the tracer, and returns the processes that it had not let
// go: they are stopped. A process that shares the memory of pid until it executes another
// is not among them.
func (h *Heir) Stopped() []int {
	<-h.ended
	return h.stopped
}

func (h *Heir) await() {
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(h.tracer, &ws, unix.WALL|unix.WNOTHREAD, nil)
		event := int(ws >> 16)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || !ws.Stopped():
			return // killed twice: it was not held
		case event == unix.PTRACE_EVENT_EXIT:
			h.stopped = stopTracees(h.tracer, h.pid)
			_ = ptrace(unix.PTRACE_DETACH, h.tracer, 0, 0) // ESRCH: killed twice
			return
		case event != 0:
			_ = ptrace(unix.PTRACE_CONT, h.tracer, 0, 0)
		default:
			_ = ptrace(unix.PTRACE_CONT, h.tracer, 0, uintptr(ws.StopSignal()))
		}
	}
}

// inheritLimit is how long it may take to stop all.
const inheritLimit = 20 * time.Second

// stopTracees sends SIGSTOP to all that a thread which does not run traces, but to processes
// that share the memory of pid, until all stand still.
func stopTracees(tracer, pid int) (pids []int) {
	sent := make(map[int]bool)
	for end := time.Now().Add(inheritLimit); ; time.Sleep(100 * time.Microsecond) {
		moves := false
		for _, p := range processesOf(tracer) {
			if p != pid && sameMemory(p, pid) {
				continue
			}
			if !slices.Contains(pids, p) {
				pids = append(pids, p)
			}
			for _, tid := range tasks(p) {
				if !sent[tid] {
					sent[tid] = true
					_ = unix.Tgkill(p, tid, unix.SIGSTOP) // ESRCH: it has ended
					moves = true
				}
				if s := RunState(tid); s == 'R' || s == 'S' {
					moves = true // it may make another thread
				}
			}
		}
		if !moves || time.Now().After(end) {
			return pids
		}
	}
}

// processesOf lists the processes that a thread traces.
func processesOf(tracer int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && int(procStatus(e.Name()).uint("TracerPid", 10)) == tracer {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sameMemory says whether two processes have the same memory, as far as the kernel tells.
func sameMemory(a, b int) bool {
	const kcmpVM = 1 // KCMP_VM in linux/kcmp.h
	order, _, errno := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return errno == 0 && order == 0
}

// onThread runs f on a thread of its own, which ends with it. It is not the first thread of
// the process, for which its parent waits.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread() // without an end: the thread does not outlive the goroutine
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		started := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(started)
			f()
		}()
		<-started
		runtime.UnlockOSThread()
	}()
}
