package target

import (
	"context"
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

// saved is what a call changes in a thread.
type saved struct {
	thread thread
	regs   mem.Regs
	vector []byte
	mask   uint64
}

func (t *tracer) call(addr uint64) (result uint64, err error) {
	if t.status != nil {
		return 0, ErrExited
	}
	th := t.threads[t.live()]
	if th == nil || !th.stopped || th.exiting || !t.holding() {
		return 0, ErrRunning
	}
	before, err := save(th)
	if err != nil {
		return 0, err
	}
	entry, err := t.returnPoint()
	if err != nil {
		return 0, err
	}
	t.holds++
	defer func() {
		t.holds--
		if t.threads[th.tid] == th {
			err = errors.Join(err, t.clearTraps(), restore(th, before))
		}
	}()
	if err := t.setTrap(entry); err != nil {
		return 0, err
	}
	if err := prepare(th.tid, before.regs, addr, entry); err != nil {
		return 0, err
	}
	return t.finishCall(th, entry)
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

func save(th *thread) (*saved, error) {
	s := &saved{thread: *th}
	var errs [3]error
	s.regs, errs[0] = getRegs(th.tid)
	s.vector, errs[1] = getXState(th.tid)
	s.mask, errs[2] = getSigmask(th.tid)
	return s, errors.Join(errs[:]...)
}

func restore(th *thread, s *saved) error {
	*th = s.thread
	return errors.Join(setRegs(th.tid, s.regs), setXState(th.tid, s.vector), setSigmask(th.tid, s.mask))
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
	return errors.Join(poke(tid, regs.RSP, word[:]), setRegs(tid, regs), setSigmask(tid, ^uint64(faultSignals)))
}

// finishCall lets the one thread run until it returns or faults.
func (t *tracer) finishCall(th *thread, back uint64) (uint64, error) {
	limit := time.Now().Add(callLimit)
	for {
		th.parked = false
		if err := t.resumeTID(th.tid, resumption{}); err != nil {
			return 0, err
		}
		stopped := func() bool { return th.parked || t.threads[th.tid] != th }
		if err := t.pump(context.Background(), time.Until(limit), stopped); err != nil {
			if e := unix.PtraceInterrupt(th.tid); e != nil {
				return 0, errors.Join(err, e)
			}
			_ = t.pump(context.Background(), stopLimit, stopped)
			return 0, errors.New("it does not return")
		}
		if t.threads[th.tid] != th {
			return 0, ErrExited
		}
		if th.status>>16 != 0 {
			continue // a stop of an earlier interrupt
		}
		regs, err := getRegs(th.tid)
		if err != nil {
			return 0, err
		}
		if s := th.status.StopSignal(); s != unix.SIGTRAP || regs.RIP != back+1 {
			return 0, fmt.Errorf("it ended with %s at %#x", unix.SignalName(s), regs.RIP)
		}
		return regs.RAX, nil
	}
}
