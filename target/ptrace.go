package target

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// Requests and notes that x/sys has no constant for (linux/ptrace.h, elf.h).
const (
	ptraceGetSigmask = 0x420a
	ptraceSetSigmask = 0x420b
	ntPRStatus       = 1
	ntX86XState      = 0x202
	maxXState        = 1 << 16 // bytes; with AMX the area has about 11,000
)

// attachOptions are those of every tracee. Children by fork are attached by the kernel only so
// that they can be reported; they are let go at their first stop.
const attachOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACESYSGOOD

// syscallStop is the signal of a stop of PTRACE_SYSCALL. It is none that there is: if the
// tracer is killed then, nothing happens to the thread.
const syscallStop = unix.SIGTRAP | 0x80

// traceOptions are those of a process that we started: it ends with us.
const traceOptions = attachOptions | unix.PTRACE_O_EXITKILL

func (t *tracer) options() uintptr {
	if t.attached {
		return attachOptions
	}
	return traceOptions
}

// The functions below must be called on the tracer's thread.

// requested is called behind each request: a test ends this process there.
var requested = func() {}

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	requested()
	if errno != 0 {
		return errno
	}
	return nil
}

func ptracePointer(request, tid int, addr uintptr, data unsafe.Pointer) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, uintptr(data), 0, 0)
	requested()
	if errno != 0 {
		return errno
	}
	return nil
}

// gone reports whether err says that the tracee no longer exists (it was
// killed, perhaps while it was stopped); its end will be reported by wait.
func gone(err error) bool { return errors.Is(err, unix.ESRCH) }

// Siginfo is siginfo_t, with the fields of signals that a process sent (PID)
// and of faults (Addr) taken out; see sigaction(2).
type Siginfo struct {
	Signal int
	Code   int32
	PID    int    // sender; SI_USER, SI_TKILL, SI_QUEUE
	Addr   uint64 // faulting address; SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP
	raw    [128]byte
}

// Synchronous: the instruction that the thread is at raised the signal, and nobody sent
// it (SIGSYS: a seccomp filter did).
func (i *Siginfo) Synchronous() bool {
	return i.Code > 0 && (isFault(i.Signal) || i.Signal == int(unix.SIGSYS))
}

// comesAgain: the thread is still at the instruction that raised the signal, and executes it again. SIGTRAP and SIGSYS
// come behind theirs.
func (i *Siginfo) comesAgain() bool {
	return i.Synchronous() && i.Signal != int(unix.SIGTRAP) && i.Signal != int(unix.SIGSYS)
}

// decodeSiginfo reads the kernel's form (include/uapi/asm-generic/siginfo.h).
func decodeSiginfo(raw [128]byte) Siginfo {
	le := binary.LittleEndian
	return Siginfo{
		Signal: int(int32(le.Uint32(raw[0:]))),
		Code:   int32(le.Uint32(raw[8:])),
		PID:    int(int32(le.Uint32(raw[16:]))),
		Addr:   le.Uint64(raw[16:]),
		raw:    raw,
	}
}

// WithAddr is the same signal with another faulting address.
func (i Siginfo) WithAddr(addr uint64) Siginfo {
	binary.LittleEndian.PutUint64(i.raw[16:], addr)
	return decodeSiginfo(i.raw)
}

// Values of Siginfo.Code.
const (
	siUser   = 0
	siKernel = 0x80
	siTKill  = -6
)

func getSiginfo(tid int) (Siginfo, error) {
	var raw [128]byte
	if err := ptracePointer(unix.PTRACE_GETSIGINFO, tid, 0, unsafe.Pointer(&raw[0])); err != nil {
		return Siginfo{}, fmt.Errorf("signal of thread %d: %w", tid, err)
	}
	return decodeSiginfo(raw), nil
}

// pendingMost is how many signals may be pending of which pendingSiginfos tells.
const pendingMost = 32

// pendingSiginfos are the signals that were sent to a thread alone and that it has yet to get.
func pendingSiginfos(tid int) ([]Siginfo, error) {
	which := struct {
		off   uint64
		flags uint32
		nr    int32
	}{nr: pendingMost} // struct ptrace_peeksiginfo_args
	var raws [pendingMost][128]byte
	n, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKSIGINFO, uintptr(tid), uintptr(unsafe.Pointer(&which)), uintptr(unsafe.Pointer(&raws)), 0, 0)
	requested()
	if errno != 0 {
		return nil, fmt.Errorf("pending signals of thread %d: %w", tid, errno)
	}
	infos := make([]Siginfo, n)
	for i := range infos {
		infos[i] = decodeSiginfo(raws[i])
	}
	return infos, nil
}

// send sends a signal to a thread: as it was, where the kernel lets others than the sender say so (codes below 0,
// as of sigqueue(3) and of timers; rt_tgsigqueueinfo(2)), and else as one of ours.
func send(pid, tid int, info Siginfo) error {
	if info.Code < 0 && info.Code != siTKill {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(tid), uintptr(info.Signal), uintptr(unsafe.Pointer(&info.raw[0])), 0, 0)
		if errno == 0 {
			return nil
		}
	}
	return unix.Tgkill(pid, tid, unix.Signal(info.Signal))
}

func setSiginfo(tid int, info Siginfo) error {
	if err := ptracePointer(unix.PTRACE_SETSIGINFO, tid, 0, unsafe.Pointer(&info.raw[0])); err != nil {
		return fmt.Errorf("set signal of thread %d: %w", tid, err)
	}
	return nil
}

func getRegs(tid int) (mem.Regs, error) {
	var r mem.Regs // in the kernel's form
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&r)), Len: mem.RegsSize}
	if err := ptracePointer(unix.PTRACE_GETREGSET, tid, ntPRStatus, unsafe.Pointer(&iov)); err != nil {
		return mem.Regs{}, fmt.Errorf("registers of thread %d: %w", tid, err)
	}
	if iov.Len != mem.RegsSize {
		return mem.Regs{}, fmt.Errorf("registers of thread %d: %d bytes: it is a 32-bit program", tid, iov.Len)
	}
	return r, nil
}

// Regs are what the kernel writes: this does not compile if they are not.
var _ [mem.RegsSize]byte = [unsafe.Sizeof(mem.Regs{})]byte{}

func setRegs(tid int, r mem.Regs) error {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&r)), Len: mem.RegsSize}
	if err := ptracePointer(unix.PTRACE_SETREGSET, tid, ntPRStatus, unsafe.Pointer(&iov)); err != nil {
		return fmt.Errorf("set registers of thread %d: %w", tid, err)
	}
	return nil
}

// getXState returns the floating-point and vector registers as the kernel
// keeps them.
func getXState(tid int) ([]byte, error) {
	raw := make([]byte, maxXState)
	iov := unix.Iovec{Base: &raw[0], Len: uint64(len(raw))}
	if err := ptracePointer(unix.PTRACE_GETREGSET, tid, ntX86XState, unsafe.Pointer(&iov)); err != nil {
		return nil, fmt.Errorf("vector registers of thread %d: %w", tid, err)
	}
	return raw[:iov.Len], nil
}

func setXState(tid int, raw []byte) error {
	iov := unix.Iovec{Base: &raw[0], Len: uint64(len(raw))}
	if err := ptracePointer(unix.PTRACE_SETREGSET, tid, ntX86XState, unsafe.Pointer(&iov)); err != nil {
		return fmt.Errorf("set vector registers of thread %d: %w", tid, err)
	}
	return nil
}

func getSigmask(tid int) (mask uint64, err error) {
	err = ptracePointer(ptraceGetSigmask, tid, unsafe.Sizeof(mask), unsafe.Pointer(&mask))
	return mask, err
}

func setSigmask(tid int, mask uint64) error {
	return ptracePointer(ptraceSetSigmask, tid, unsafe.Sizeof(mask), unsafe.Pointer(&mask))
}

// poke writes data to the tracee, read-only pages included: the page becomes
// the process's own copy.
func poke(tid int, addr uint64, data []byte) error {
	if _, err := unix.PtracePokeText(tid, uintptr(addr), data); err != nil {
		return fmt.Errorf("write to %#x of the program: %w", addr, err)
	}
	return nil
}

func eventMessage(tid int) (uint64, error) {
	msg, err := unix.PtraceGetEventMsg(tid)
	return uint64(msg), err
}
