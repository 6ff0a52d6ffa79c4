package target

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// ExitStatus is how a process ended, as waitpid(2) tells it.
type ExitStatus struct {
	Code   int            // exit status; meaningless if Signal is not 0
	Signal syscall.Signal // what killed it; 0: it exited
	Core   bool           // a core file was written
}

func exitStatus(ws unix.WaitStatus) ExitStatus {
	if ws.Signaled() {
		return ExitStatus{Signal: ws.Signal(), Core: ws.CoreDump()}
	}
	return ExitStatus{Code: ws.ExitStatus()}
}

// Wait is the status in the encoding of wait(2).
func (s ExitStatus) Wait() uint64 {
	w := uint64(s.Code&0xff) << 8
	if s.Signal != 0 {
		w = uint64(s.Signal)
	}
	if s.Core {
		w |= 0x80
	}
	return w
}

func (s ExitStatus) String() string {
	switch {
	case s.Signal == 0:
		return fmt.Sprintf("exit status %d", s.Code)
	case s.Core:
		return fmt.Sprintf("%s (core dumped)", unix.SignalName(s.Signal))
	}
	return unix.SignalName(s.Signal)
}
