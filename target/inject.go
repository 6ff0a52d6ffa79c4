package target

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

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
	for _, th := range t.sorted() {
		event := int(th.status >> 16)
		if th.stopped && !th.exiting && event != unix.PTRACE_EVENT_VFORK && event != unix.PTRACE_EVENT_EXIT {
			return th, nil
		}
	}
	return nil, ErrBusy
}

// gate is where the process has a syscall instruction: in the vdso, or written
// over the program's entry point until done is called.
func (t *tracer) gate(th *thread) (addr uint64, done func(), err error) {
	if t.gateAddr != 0 {
		return t.gateAddr, func() {}, nil
	}
	insn := []byte{0x0f, 0x05}
	maps, err := readMaps(th.tid)
	if err != nil {
		return 0, nil, err
	}
	for _, m := range maps {
		if m.Path != "[vdso]" {
			continue
		}
		code := make([]byte, m.Size())
		if _, err := t.memory.ReadMemory(code, m.Lo); err == nil {
			if i := bytes.Index(code, insn); i >= 0 {
				t.gateAddr = m.Lo + uint64(i)
				return t.gateAddr, func() {}, nil
			}
		}
	}
	entry, err := t.returnPoint()
	if err != nil {
		return 0, nil, err
	}
	old := make([]byte, len(insn))
	if _, err := t.memory.ReadMemory(old, entry); err != nil {
		return 0, nil, err
	}
	if err := poke(th.tid, entry, insn); err != nil {
		return 0, nil, err
	}
	return entry, func() { _ = poke(th.tid, entry, old) }, nil
}

// syscall has one stopped thread make a system call.
func (t *tracer) syscall(th *thread, nr uint64, args ...uint64) (result uint64, err error) {
	restore, err := t.unfilter(th)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	d, err := t.depart(th)
	if err != nil {
		return 0, err
	}
	before, err := getRegs(th.tid)
	if err != nil {
		return 0, errors.Join(err, d.end())
	}
	result, err = d.syscall(before, nr, args...)
	return result, errors.Join(err, d.back(before))
}

// back sets the registers and ends the detour.
func (d *detour) back(regs mem.Regs) error {
	if d.th.again || !d.t.knows(d.th) || !d.th.stopped {
		return nil // it has ended, or is about to
	}
	return errors.Join(setRegs(d.th.tid, regs), d.end())
}

func (d *detour) syscall(before mem.Regs, nr uint64, args ...uint64) (uint64, error) {
	gate, done, err := d.t.gate(d.th)
	if err != nil {
		return 0, err
	}
	defer done()
	for {
		if err := setRegs(d.th.tid, injected(before, gate, nr, args...)); err != nil {
			return 0, err
		}
		if err := d.run(unix.PTRACE_SINGLESTEP, syscallLimit); err != nil {
			return 0, err
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

const entrySize = 64 // of a batch: number, six arguments, result

// batchCode makes the system calls of the entries in [r12, r13), then traps.
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
	0xcc, //                           int3
}

// batchAt is where that memory is put, if it is free: far from the program, so
// that the calls find every place that was free before (MAP_FIXED_NOREPLACE).
const batchAt = 0x1f00_0000_0000

// batch makes the calls in a loop in memory of its own: code that only the
// tracer writes, and the entries.
func (t *tracer) batch(th *thread, reqs []SyscallReq) (err error) {
	if len(reqs) == 0 {
		return nil
	}
	restore, err := t.unfilter(th)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	d, err := t.depart(th)
	if err != nil {
		return err
	}
	before, err := getRegs(th.tid)
	if err != nil {
		return errors.Join(err, d.end())
	}
	return errors.Join(d.batch(before, reqs), d.back(before))
}

func (d *detour) batch(before mem.Regs, reqs []SyscallReq) (err error) {
	const private = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	size := uint64(len(reqs)*entrySize+4095) &^ 4095
	code, err := d.syscall(before, unix.SYS_MMAP, batchAt, 4096, unix.PROT_READ|unix.PROT_EXEC, private, noSyscall, 0)
	if err != nil {
		return fmt.Errorf("memory for the loop: %w", err)
	}
	defer func() { err = errors.Join(err, d.unmap(before, code, 4096)) }()
	data, err := d.syscall(before, unix.SYS_MMAP, batchAt+1<<20, size, unix.PROT_READ|unix.PROT_WRITE, private, noSyscall, 0)
	if err != nil {
		return fmt.Errorf("memory for the calls: %w", err)
	}
	defer func() { err = errors.Join(err, d.unmap(before, data, size)) }()
	if err := d.t.writeMemory(d.th.tid, code, batchCode); err != nil {
		return err
	}
	entries := make([]byte, 0, size)
	for i := range reqs {
		entries = binary.LittleEndian.AppendUint64(entries, reqs[i].Nr)
		for _, a := range reqs[i].Args {
			entries = binary.LittleEndian.AppendUint64(entries, a)
		}
		entries = binary.LittleEndian.AppendUint64(entries, 0)
	}
	if err := d.t.writeMemory(d.th.tid, data, entries); err != nil {
		return err
	}
	regs := injected(before, code, 0)
	regs.R12, regs.R13 = data, data+uint64(len(entries))
	if err := setRegs(d.th.tid, regs); err != nil {
		return err
	}
	run := d.run(unix.PTRACE_CONT, syscallLimit+time.Duration(len(reqs))*time.Millisecond)
	if errors.Is(run, ErrExited) {
		return run
	}
	// What was made was made, even if the loop did not get to its end.
	made := uint64(len(entries))
	if now, err := getRegs(d.th.tid); err == nil && run != nil {
		made = now.R12 - data
	}
	if _, err := d.t.memory.ReadMemory(entries, data); err != nil {
		return errors.Join(run, err)
	}
	for i := range reqs {
		at := i * entrySize
		if uint64(at) >= made {
			reqs[i].Err = run
			continue
		}
		reqs[i].Result = binary.LittleEndian.Uint64(entries[at+56:])
		reqs[i].Err = errno(reqs[i].Result)
	}
	return run
}

func (d *detour) unmap(before mem.Regs, addr, size uint64) error {
	if d.th.again || !d.t.knows(d.th) {
		return nil
	}
	_, err := d.syscall(before, unix.SYS_MUNMAP, addr, size)
	return err
}
