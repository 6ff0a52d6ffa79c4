package target

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

const (
	callLimit = 20 * time.Second
	redZone   = 128     // bytes below RSP that a leaf function may use (System V ABI 3.2.2)
	flagDF    = 1 << 10 // direction flag, clear on function entry
	flagTF    = 1 << 8  // single-step
	noSyscall = ^uint64(0)
)

// synchronous faults are delivered even while a call has all signals blocked.
const faultSignals = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGFPE-1) | 1<<(unix.SIGTRAP-1)

// Call runs the function at addr, which takes no parameters, in the stopped
// process, and returns its result; all registers and the signal mask are put
// back. It is meant for IFUNC resolvers: anything that waits for another
// thread will not return, and is given up after twenty seconds. A static program
// that is stopped at its exec has no thread pointer yet and no CPU features: a
// resolver may then fault (an error) or choose the baseline.
func (p *Process) Call(addr uint64) (result uint64, err error) {
	e := p.do(func() { result, err = p.t.call(addr) })
	if err = errors.Join(e, err); err != nil {
		return 0, fmt.Errorf("call of %#x: %w", addr, err)
	}
	return result, nil
}

func (t *tracer) call(addr uint64) (result uint64, err error) {
	th, err := t.worker()
	if err != nil {
		return 0, err
	}
	vector, err := getXState(th.tid)
	if err != nil {
		return 0, err
	}
	err = t.away(th, t.gate, func(d *detour, gate uint64, before mem.Regs) (err error) {
		result, err = d.call(gate, before, addr)
		if !th.again && t.knows(th) {
			err = errors.Join(err, setXState(th.tid, vector))
		}
		return err
	})
	return result, err
}

func (d *detour) call(gate uint64, before mem.Regs, addr uint64) (result uint64, err error) {
	d.called = true
	if err := prepare(d.th.tid, before, addr, gate); err != nil {
		return 0, err
	}
	for {
		var fault *FaultError
		switch err := d.run(unix.PTRACE_SYSCALL, callLimit); {
		case errors.Is(err, ErrBlocked):
			return 0, errors.New("it does not return")
		case errors.As(err, &fault):
			return 0, fmt.Errorf("it ended with %w", fault)
		case err != nil:
			return 0, err
		}
		regs, err := getRegs(d.th.tid)
		if err != nil {
			return 0, err
		}
		switch {
		case d.trapped:
			return 0, fmt.Errorf("it ended with SIGTRAP at %#x", regs.RIP)
		case regs.RIP == gate+gateCall+2:
			// To the end of the call that is none.
			return regs.RDI, d.run(unix.PTRACE_SYSCALL, syscallLimit)
		}
		// It makes a system call itself.
	}
}

// prepare makes the thread enter the function as if it had been called from
// just before back, on a stack aligned as the ABI wants it.
func prepare(tid int, regs mem.Regs, addr, back uint64) error {
	regs.RSP = (regs.RSP-redZone)&^15 - 8
	var word [8]byte
	for i := range word {
		word[i] = byte(back >> (8 * i))
	}
	regs.RIP, regs.RAX, regs.RDI = addr, 0, 0
	regs.EFlags &^= flagDF | flagTF
	regs.OrigRAX = noSyscall // no system call is to be restarted
	return errors.Join(poke(tid, regs.RSP, word[:]), setRegs(tid, regs))
}
