package inline

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"mgtrace/target"
)

// guards makes the pages behind the buffers stop the threads that reach them:
// by userfaultfd, which the program does not notice; else by taking the pages
// away, so that it is a SIGSEGV which the tracer swallows.
type guards struct {
	proc  *target.Process
	fault *target.Userfault // nil: by SIGSEGV
}

func newGuards(p *target.Process, sigsegv bool) (*guards, error) {
	if sigsegv {
		return &guards{proc: p}, nil
	}
	u, err := p.Userfault(nil)
	if errors.Is(err, target.ErrUserfault) {
		return &guards{proc: p}, nil
	}
	if err != nil {
		return nil, err
	}
	return &guards{proc: p, fault: u}, nil
}

// protect makes [addr, addr+size) of the process a guard. th is a stopped
// thread; nil: any, because the whole process is.
func (g *guards) protect(th *target.Stopped, addr, size uint64) (err error) {
	switch {
	case g.fault != nil:
		err = g.fault.Register(target.Range{Lo: addr, Hi: addr + size})
	case th != nil:
		_, err = th.Syscall(unix.SYS_MPROTECT, addr, size, unix.PROT_NONE)
	default:
		_, err = g.proc.Syscall(unix.SYS_MPROTECT, addr, size, unix.PROT_NONE)
	}
	if err != nil {
		return fmt.Errorf("guard page: %w", err)
	}
	return nil
}

// watch tells reached of each thread that waits at a guard, until closed, or failed why
// it can not any more.
func (g *guards) watch(reached func(tid int), failed func(error)) {
	if g.fault == nil {
		return
	}
	go func() {
		buf := make([]target.Fault, 64)
		for {
			n, err := g.fault.Read(buf)
			switch {
			case errors.Is(err, unix.EAGAIN):
				continue
			case errors.Is(err, os.ErrClosed):
				return
			case err != nil:
				failed(fmt.Errorf("threads that wait at their guard pages: %w", err))
				return
			}
			for _, f := range buf[:n] {
				reached(f.TID)
			}
		}
	}()
}

func (g *guards) close() {
	if g.fault != nil {
		_ = g.fault.Close()
	}
}
