package target

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

const (
	callLimit = 5 * time.Second
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
// thread will not return, and is given up after five seconds. A static program
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
	d, err := t.depart(th)
	if err != nil {
		return 0, err
	}
	before, err := getRegs(th.tid)
	if err != nil {
		return 0, errors.Join(err, d.end())
	}
	vector, err := getXState(th.tid)
	if err != nil {
		return 0, errors.Join(err, d.end())
	}
	result, err = d.call(before, addr)
	if !th.again && t.knows(th) {
		err = errors.Join(err, setXState(th.tid, vector))
	}
	return result, errors.Join(err, d.back(before))
}

func (d *detour) call(before mem.Regs, addr uint64) (result uint64, err error) {
	entry, err := d.t.returnPoint()
	if err != nil {
		return 0, err
	}
	if err := d.t.setTrap(entry); err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, d.t.clearTraps())
		delete(d.t.spent, entry) // its trap was taken here
	}()
	if err := prepare(d.th.tid, before, addr, entry); err != nil {
		return 0, err
	}
	var fault *FaultError
	switch err := d.run(unix.PTRACE_CONT, callLimit); {
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
	if regs.RIP != entry+1 {
		return 0, fmt.Errorf("it ended with SIGTRAP at %#x", regs.RIP)
	}
	return regs.RAX, nil
}

// returnPoint is where the called function returns to, into a breakpoint: the
// program's entry point, which nothing calls.
func (t *tracer) returnPoint() (uint64, error) {
	raw := make([]byte, 4096)
	n, err := readProc(t.pid, "auxv", raw)
	if err != nil {
		return 0, err
	}
	return mem.ParseAuxv(raw[:n])[mem.AuxEntry], nil
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
