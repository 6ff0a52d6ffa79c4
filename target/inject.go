package target

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// SyscallReq is one system call of a batch.
type SyscallReq struct {
	Nr     uint64
	Args   [6]uint64
	Result uint64 // filled in
	Err    error  // filled in: the errno, or why it was not made
}

// Syscall has the stopped process make a system call, by its number and
// arguments as the kernel knows them, and returns the result; an errno is a
// syscall.Errno. One thread makes it; its registers, mask and signals are put
// back, and a system call that it was in goes on. ErrSeccomp: a filter may kill
// the process for it.
func (p *Process) Syscall(nr uint64, args ...uint64) (result uint64, err error) {
	e := p.do(func() {
		var th *thread
		if th, err = p.t.worker(); err == nil {
			result, err = p.t.syscall(th, nr, args...)
		}
	})
	if err = errors.Join(e, err); err != nil {
		return 0, fmt.Errorf("system call %d of process %d: %w", nr, p.PID(), err)
	}
	return result, nil
}

// Syscalls makes many system calls in one go: a few milliseconds for thousands.
// Each fills in Result and Err; the error is of the whole.
func (p *Process) Syscalls(reqs []SyscallReq) error {
	var err error
	e := p.do(func() {
		var th *thread
		if th, err = p.t.worker(); err == nil {
			err = p.t.batch(th, reqs)
		}
	})
	if err = errors.Join(e, err); err != nil {
		return fmt.Errorf("system calls of process %d: %w", p.PID(), err)
	}
	return nil
}

// worker is a thread of the stopped process that can make a detour.
func (t *tracer) worker() (*thread, error) {
	switch {
	case t.status != nil:
		return nil, ErrExited
	case !t.holding():
		return nil, ErrRunning
	}
	var found *thread
	for _, th := range t.sorted() {
		event := int(th.status >> 16)
		if th.stopped && !th.exiting && event != unix.PTRACE_EVENT_VFORK && event != unix.PTRACE_EVENT_EXIT {
			if !th.inHand() {
				return th, nil // no signal has to be sent again
			}
			found = th
		}
	}
	if found != nil {
		return found, nil
	}
	if slices.ContainsFunc(t.sorted(), func(th *thread) bool { return !th.ends() }) {
		return nil, ErrBusy
	}
	return nil, ErrExited // it has been killed
}

// gateCode is where threads execute what the tracer wants of them, in a process that
// outlives the tracer, and where functions return to that it calls. It is written over the
// program's entry point for the moment, which nothing executes again. Nothing in it
// raises a signal, of which a thread would die whose tracer is killed: it waits at the
// end until somebody puts it right (PutRight).
//
// For system calls of others the instruction in the vdso will do, which is executable
// whatever an engine does with the program's code.
var gateCode = []byte{
	0x48, 0x97, //       xchg rdi, rax    a function returns here: what it returns is kept,
	0x83, 0xc8, 0xff, // or eax, -1       and the call that follows is none
	0x0f, 0x05, //       syscall
	0xeb, 0xfe, //       jmp itself
}

const (
	gateCall = 5 // where the system call begins
	gateWait = 7 // where a thread waits
)

// callAt is where a thread makes system calls, until done is called.
func (t *tracer) callAt(th *thread) (addr uint64, done func(), err error) {
	if !t.attached {
		if t.vdsoCall == 0 {
			t.vdsoCall, err = t.findCall(th)
		}
		if t.vdsoCall != 0 || err != nil {
			return t.vdsoCall, func() {}, err
		}
	}
	addr, done, err = t.gate(th)
	return addr + gateCall, done, err
}

// findCall finds a syscall instruction in the vdso; 0: there is none.
func (t *tracer) findCall(th *thread) (uint64, error) {
	lo, image, err := t.vdso(th)
	if i := bytes.Index(image, gateCode[gateCall:gateCall+2]); i >= 0 {
		return lo + uint64(i), nil
	}
	return 0, err
}

// gate writes gateCode, until done is called.
func (t *tracer) gate(th *thread) (addr uint64, done func(), err error) {
	if t.gates == 0 {
		if t.gateAddr, err = t.entryPoint(); err != nil {
			return 0, nil, err
		}
		t.gateOld = make([]byte, len(gateCode))
		if _, err := th.memory(t).ReadMemory(t.gateOld, t.gateAddr); err != nil {
			return 0, nil, err
		}
		t.noteGate(t.gateAddr, t.gateOld)
		if err := th.memory(t).write(th.tid, t.gateAddr, gateCode); err != nil {
			t.noteGate(0, nil)
			return 0, nil, err
		}
	}
	t.gates++
	return t.gateAddr, func() {
		if t.gates--; t.gates == 0 {
			_ = th.memory(t).write(th.tid, t.gateAddr, t.gateOld) // it has ended
			t.noteGate(0, nil)
		}
	}, nil
}

// entryPoint is the program's.
func (t *tracer) entryPoint() (uint64, error) {
	auxv, err := readAuxv(t.pid)
	return auxv[mem.AuxEntry], err
}

// readAuxv reads the auxiliary vector of a process.
func readAuxv(pid int) (mem.Auxv, error) {
	raw := make([]byte, 4096)
	n, err := readProc(pid, "auxv", raw)
	if err != nil {
		return nil, err
	}
	return mem.ParseAuxv(raw[:n]), nil
}

// syscall has one stopped thread make a system call.
func (t *tracer) syscall(th *thread, nr uint64, args ...uint64) (result uint64, err error) {
	one := []SyscallReq{{Nr: nr}}
	copy(one[0].Args[:], args)
	err = t.syscalls(th, one)
	return one[0].Result, err
}

// syscalls has one stopped thread make system calls one after the other, until one fails.
func (t *tracer) syscalls(th *thread, reqs []SyscallReq) (err error) {
	restore, err := t.unfilter(th)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return t.away(th, t.callAt, func(d *detour, call uint64, before mem.Regs) error {
		for i := range reqs {
			r := &reqs[i]
			if r.Result, r.Err = d.syscall(call, before, r.Nr, r.Args[:]...); r.Err != nil {
				return r.Err
			}
		}
		return nil
	})
}

// away has a stopped thread make a detour by a place, from which it comes back with the
// registers that it had before.
func (t *tracer) away(th *thread, place func(*thread) (uint64, func(), error), f func(d *detour, at uint64, before mem.Regs) error) error {
	d, err := t.depart(th)
	if err != nil {
		return err
	}
	before, err := getRegs(th.tid)
	if err != nil {
		return errors.Join(err, d.end())
	}
	at, done, err := place(th)
	if err != nil {
		return errors.Join(err, d.end())
	}
	defer done()
	th.noteCall(&before)
	err = f(d, at, before)
	if th.again || !t.knows(th) || !th.stopped {
		return errors.Join(err, d.end()) // it has ended, or is about to
	}
	err = errors.Join(err, setRegs(th.tid, before))
	th.noteCall(nil)
	return errors.Join(err, d.end())
}

// syscall leaves the registers for the caller to restore.
func (d *detour) syscall(call uint64, before mem.Regs, nr uint64, args ...uint64) (uint64, error) {
	d.called = true
	for {
		if err := setRegs(d.th.tid, injected(before, call, nr, args...)); err != nil {
			return 0, err
		}
		for range 2 { // where it begins, and where it ends
			if err := d.run(unix.PTRACE_SYSCALL, syscallLimit); err != nil {
				return 0, err
			}
		}
		regs, err := getRegs(d.th.tid)
		if err != nil {
			return 0, err
		}
		if interrupted(regs.RAX) {
			continue
		}
		return regs.RAX, errno(regs.RAX)
	}
}

// errno is the error that a system call's result stands for.
func errno(result uint64) error {
	if n := -int64(result); n > 0 && n < 4096 {
		return syscall.Errno(n)
	}
	return nil
}

// unfilter makes sure that no seccomp filter of the program's own kills it for a
// call of ours. Filters that were there before it (a container's) hold for us as
// well and are let judge. The result undoes what was done.
func (t *tracer) unfilter(th *thread) (restore func() error, err error) {
	nothing := func() error { return nil }
	theirs, ours := procStatus(strconv.Itoa(th.tid)), procStatus("self")
	mode := theirs.uint("Seccomp", 10)
	if mode == 0 || mode == ours.uint("Seccomp", 10) && theirs["Seccomp_filters"] == ours["Seccomp_filters"] {
		return nothing, nil
	}
	// Only the administrator may suspend it (ptrace(2), PTRACE_O_SUSPEND_SECCOMP).
	options := t.options()
	if ptrace(unix.PTRACE_SETOPTIONS, th.tid, 0, options|unix.PTRACE_O_SUSPEND_SECCOMP) == nil {
		return func() error {
			if err := ptrace(unix.PTRACE_SETOPTIONS, th.tid, 0, options); err != nil && !gone(err) {
				return err
			}
			return nil
		}, nil
	}
	if mode == 1 {
		return nil, fmt.Errorf("%w: strict mode", ErrSeccomp)
	}
	return nil, fmt.Errorf("%w; as root mgtrace could suspend it", ErrSeccomp)
}

const (
	callSize = 64 // of a call in a batch: number, six arguments, result

	// notMade is the result of a call that has not been made: no error, and no address
	// of the program's.
	notMade = 1 << 63
)

// batchCode makes the system calls in [r12, r13), and waits.
var batchCode = []byte{
	0x49, 0x8b, 0x04, 0x24, //         mov rax, [r12]
	0x49, 0x8b, 0x7c, 0x24, 8, //      mov rdi, [r12+8]
	0x49, 0x8b, 0x74, 0x24, 16, //     mov rsi, [r12+16]
	0x49, 0x8b, 0x54, 0x24, 24, //     mov rdx, [r12+24]
	0x4d, 0x8b, 0x54, 0x24, 32, //     mov r10, [r12+32]
	0x4d, 0x8b, 0x44, 0x24, 40, //     mov r8, [r12+40]
	0x4d, 0x8b, 0x4c, 0x24, 48, //     mov r9, [r12+48]
	0x0f, 0x05, //                     syscall
	0x49, 0x89, 0x44, 0x24, 56, //     mov [r12+56], rax
	0x49, 0x83, 0xc4, 64, //           add r12, 64
	0x4d, 0x39, 0xec, //               cmp r12, r13
	0x72, 0xce, //                     jb the first
	0xeb, 0xfe, //                     jmp itself
}

// batchAt is where that memory is put, if it is free: far from the program, so
// that the calls find every place that was free before (MAP_FIXED_NOREPLACE).
const batchAt = 0x1f00_0000_0000

// batch makes the calls in a loop in memory of its own: code that only the
// tracer writes, and the calls.
func (t *tracer) batch(th *thread, reqs []SyscallReq) (err error) {
	if len(reqs) == 0 {
		return nil
	}
	restore, err := t.unfilter(th)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return t.away(th, t.callAt, func(d *detour, call uint64, before mem.Regs) error { return d.batch(call, before, reqs) })
}

func (d *detour) batch(call uint64, before mem.Regs, reqs []SyscallReq) (err error) {
	const private = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	size := uint64(len(reqs)*callSize+pageSize-1) &^ (pageSize - 1)
	d.t.noteBatch(batchAt, batchAt+1<<20, size)
	defer d.t.noteBatch(0, 0, 0)
	code, err := d.syscall(call, before, unix.SYS_MMAP, batchAt, pageSize, unix.PROT_READ|unix.PROT_EXEC, private, noSyscall, 0)
	if err != nil {
		return fmt.Errorf("memory for the loop: %w", err)
	}
	defer func() { err = errors.Join(err, d.unmap(call, before, code, pageSize)) }()
	data, err := d.syscall(call, before, unix.SYS_MMAP, batchAt+1<<20, size, unix.PROT_READ|unix.PROT_WRITE, private, noSyscall, 0)
	if err != nil {
		return fmt.Errorf("memory for the calls: %w", err)
	}
	defer func() { err = errors.Join(err, d.unmap(call, before, data, size)) }()
	d.t.noteBatch(code, data, size)
	if err := d.t.writeMemory(d.th.tid, code, batchCode); err != nil {
		return err
	}
	calls := make([]byte, 0, size)
	for i := range reqs {
		calls = binary.LittleEndian.AppendUint64(calls, reqs[i].Nr)
		for _, a := range reqs[i].Args {
			calls = binary.LittleEndian.AppendUint64(calls, a)
		}
		calls = binary.LittleEndian.AppendUint64(calls, notMade)
	}
	if err := d.t.writeMemory(d.th.tid, data, calls); err != nil {
		return err
	}
	regs := injected(before, code, 0)
	regs.R12, regs.R13 = data, data+uint64(len(calls))
	if err := setRegs(d.th.tid, regs); err != nil {
		return err
	}
	made := 0
	isMade := func(i int) bool {
		result, err := mem.ReadUint64(&d.t.memory, data+uint64(i)*callSize+callSize-8)
		return err == nil && result != notMade
	}
	run := d.runUntil(func() bool { return isMade(len(reqs) - 1) }, func() bool {
		before := made
		for made < len(reqs) && isMade(made) {
			made++
		}
		return made > before
	}, syscallLimit)
	if errors.Is(run, ErrExited) {
		return run
	}
	// What was made was made, even if the loop did not get to its end.
	if _, err := d.t.memory.ReadMemory(calls, data); err != nil {
		return errors.Join(run, err)
	}
	for i := range reqs {
		reqs[i].Result = binary.LittleEndian.Uint64(calls[i*callSize+56:])
		if reqs[i].Err = errno(reqs[i].Result); reqs[i].Result == notMade {
			reqs[i].Result, reqs[i].Err = 0, run
		}
	}
	return run
}

func (d *detour) unmap(call uint64, before mem.Regs, addr, size uint64) error {
	if d.th.again || !d.t.knows(d.th) {
		return nil
	}
	_, err := d.syscall(call, before, unix.SYS_MUNMAP, addr, size)
	return err
}
