package target

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// A step, and a run to an int3, end in a SIGTRAP, of which a process dies whose tracer is
// killed just then. So while threads of a process that outlives the tracer make them, the
// signal leads to the end of the gate, where a thread waits until somebody puts it right
// (Undeliver). A handler of the program's own would be called instead: that, too, can
// be undone.

// shield has SIGTRAP lead there until the end of the detour. It does not where a filter of
// system calls forbids that.
func (d *detour) shield() error {
	t := d.t
	if t.notes == nil {
		return nil
	}
	if t.notes.get(notedTrap) != 0 {
		t.shields++
		d.shields = true
		return nil
	}
	if d.trap == sigHandler {
		return nil
	}
	restore, err := t.unfilter(d.th)
	if err != nil {
		return nil
	}
	gate, done, err := t.gate(d.th)
	if err != nil {
		return errors.Join(err, restore())
	}
	t.shields, t.unshielded, d.shields = 1, done, true
	t.notes.set(notedTrap, 1+d.trap)
	return errors.Join(d.trapTo(gate+gateWait), restore())
}

// unshield ends it, with the last detour that wants it.
func (d *detour) unshield() error {
	if d.t.shields--; d.t.shields > 0 {
		return nil
	}
	return d.t.unshield(d.trapTo)
}

func (t *tracer) unshield(trapTo func(uint64) error) error {
	err := trapTo(t.notes.get(notedTrap) - 1)
	t.notes.set(notedTrap, 0)
	t.unshielded()
	return err
}

// trapTo sets what a process that is held does at SIGTRAP.
func (t *tracer) trapTo(to uint64) error {
	th, err := t.worker()
	if err != nil {
		return err
	}
	d, err := t.depart(th)
	if err != nil {
		return err
	}
	return errors.Join(d.trapTo(to), d.end())
}

const (
	// struct rt_sigframe in arch/x86/include/asm/sigframe.h: a return address, struct
	// ucontext, siginfo_t.
	frameContext = 8
	frameInfo    = frameContext + 304

	saSiginfo   = 4           // SA_SIGINFO
	saResethand = 0x8000_0000 // SA_RESETHAND
)

// Undeliver takes back the signals, of all threads of a process that is held, whose handlers
// have not executed an instruction: the threads go back to where they were, and the signals
// are sent again. It may be nowhere for a handler to run: the tracer that would have led the
// thread elsewhere before has been killed.
func (p *Process) Undeliver() error {
	var errs []error
	e := p.do(func() {
		for _, th := range p.t.sorted() {
			if th.stopped && !th.ends() {
				_ = restartable(th.tid) // it was stopped by us; ESRCH: killed meanwhile
			}
			for th.stopped && !th.ends() {
				back, err := p.t.undeliver(th)
				if errs = append(errs, err); !back || err != nil {
					break
				}
			}
		}
	})
	return errors.Join(append(errs, e)...)
}

// undeliver is false if a thread is not where a handler begins.
func (t *tracer) undeliver(th *thread) (bool, error) {
	regs, err := getRegs(th.tid)
	if err != nil {
		return false, nil // killed meanwhile
	}
	// As the kernel calls a handler (x64_setup_rt_frame in arch/x86/kernel/signal_64.c).
	if regs.RDX != regs.RSP+frameContext || regs.RSI != regs.RSP+frameInfo || regs.RAX != 0 || regs.RDI-1 >= 64 {
		return false, nil
	}
	sig := unix.Signal(regs.RDI)
	// struct kernel_sigaction { handler, flags, restorer, mask }, below the red zone.
	action := make([]byte, 32)
	at := (regs.RSP-redZone)&^15 - 32
	if _, err := t.syscall(th, unix.SYS_RT_SIGACTION, uint64(sig), 0, at, 8); err != nil {
		return false, err
	}
	if _, err := t.memory.ReadMemory(action, at); err != nil {
		return false, err
	}
	flags := binary.LittleEndian.Uint64(action[8:])
	switch handler := binary.LittleEndian.Uint64(action); {
	case handler == regs.RIP:
	case handler == sigDefault && flags&saResethand != 0:
		if ok, err := t.rearm(th, sig, &regs, at, action); !ok || err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	info := Siginfo{Signal: int(sig)}
	if flags&saSiginfo != 0 {
		var raw [128]byte
		if _, err := t.memory.ReadMemory(raw[:], regs.RSI); err != nil {
			return false, err
		}
		info = decodeSiginfo(raw)
	}
	mask, err := t.sigreturn(th, regs.RSP+frameContext)
	if err != nil || mask == detourMask && sig == unix.SIGTRAP {
		return true, err // of a step
	}
	return true, th.sendAgain(t.pid, resent{info: info})
}

// rearm gives a signal a handler again which the kernel has taken away as it called it
// (SA_RESETHAND; get_signal in kernel/signal.c), and nothing else of its action: the one
// that a thread is about to execute, if it would return to the action's restorer.
func (t *tracer) rearm(th *thread, sig unix.Signal, regs *mem.Regs, at uint64, action []byte) (bool, error) {
	back, err := mem.ReadUint64(&t.memory, regs.RSP)
	if err != nil || back != binary.LittleEndian.Uint64(action[16:]) {
		return false, nil
	}
	binary.LittleEndian.PutUint64(action, regs.RIP)
	if err := t.writeMemory(th.tid, at, action); err != nil {
		return false, err
	}
	_, err = t.syscall(th, unix.SYS_RT_SIGACTION, uint64(sig), at, 0, 8)
	return err == nil, err
}

// sigreturn has a thread go back to what a signal has interrupted, and returns the mask that
// it has there.
func (t *tracer) sigreturn(th *thread, context uint64) (mask uint64, err error) {
	d, err := t.depart(th)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.end()) }()
	call, done, err := t.callAt(th)
	if err != nil {
		return 0, err
	}
	defer done()
	regs, err := getRegs(th.tid)
	if err != nil {
		return 0, err
	}
	regs = injected(regs, call, unix.SYS_RT_SIGRETURN)
	regs.RSP = context
	if err := setRegs(th.tid, regs); err != nil {
		return 0, err
	}
	d.called = true
	for range 2 { // where it begins, and where it ends
		if err := d.run(unix.PTRACE_SYSCALL, syscallLimit); err != nil {
			return 0, err
		}
	}
	d.mask, err = getSigmask(th.tid)
	return d.mask, err
}
