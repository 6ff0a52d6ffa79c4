package target

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants of linux/userfaultfd.h.
const (
	uffdUserModeOnly    = 1
	uffdAPI             = 0xaa
	uffdFeatureThreadID = 1 << 8
	uffdioAPI           = 0xc018aa3f
	uffdioRegister      = 0xc020aa00
	uffdioZeropage      = 0xc020aa04
	uffdioWake          = 0x8010aa02
	uffdRegisterMissing = 1
	uffdEventPagefault  = 0x12
	uffdMessage         = 32 // bytes
)

// Range is memory of the process, [Lo, Hi), in whole pages.
type Range struct{ Lo, Hi uint64 }

// Userfault tells of threads that touch pages which are not there. Such a thread
// waits in the kernel, at the instruction, without any signal; Poke takes it
// out of that.
type Userfault struct{ file *os.File }

// Fault is one touch.
type Fault struct {
	TID   int    // as the process's own pid namespace knows it
	Addr  uint64 // of the page, on kernels that do not tell more
	Write bool
}

// Userfault has faults on missing pages of the ranges reported. The stopped
// process makes the descriptor, which is then ours alone. ErrUserfault: the
// kernel does not have it or does not permit it.
func (p *Process) Userfault(ranges []Range) (*Userfault, error) {
	var u *Userfault
	var err error
	e := p.do(func() { u, err = p.t.userfault(ranges) })
	if err = errors.Join(e, err); err != nil {
		return nil, err
	}
	return u, nil
}

func (t *tracer) userfault(ranges []Range) (u *Userfault, err error) {
	th, err := t.worker()
	if err != nil {
		return nil, err
	}
	theirs, err := t.syscall(th, unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|uffdUserModeOnly)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUserfault, err)
	}
	fd, err := fetch(t.pid, int(theirs))
	_, e := t.syscall(th, unix.SYS_CLOSE, theirs)
	if err = errors.Join(err, e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUserfault, err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	api := [3]uint64{uffdAPI, uffdFeatureThreadID, 0}
	if err := ioctl(fd, uffdioAPI, unsafe.Pointer(&api)); err != nil {
		return nil, fmt.Errorf("%w: it does not tell the thread: %w", ErrUserfault, err)
	}
	for _, r := range ranges {
		if err := register(fd, r); err != nil {
			return nil, err
		}
	}
	return &Userfault{os.NewFile(uintptr(fd), "userfaultfd")}, nil
}

// File is its descriptor. While any process has it, threads wait at missing pages.
func (u *Userfault) File() *os.File { return u.file }

// Register adds a range, of anonymous or shared memory. The process may run. ErrExited: the
// memory is gone, since the process has ended or is about to execute another program.
func (u *Userfault) Register(r Range) error {
	return u.control(func(fd int) error { return register(fd, r) })
}

func register(fd int, r Range) error {
	arg := [4]uint64{r.Lo, r.Hi - r.Lo, uffdRegisterMissing, 0}
	if err := ioctl(fd, uffdioRegister, unsafe.Pointer(&arg)); err != nil {
		if errors.Is(err, unix.ENOMEM) && memoryGone(fd) {
			return fmt.Errorf("%w: its memory is gone", ErrExited)
		}
		return fmt.Errorf("%w: for [%#x, %#x): %w", ErrUserfault, r.Lo, r.Hi, err)
	}
	return nil
}

// memoryGone says why there was no memory to register a range: nobody has the memory any more to
// which fd belongs. Registering tells ENOMEM then, as it does where there may be no more mappings; to fill
// a page tells them apart (userfaultfd_zeropage in fs/userfaultfd.c). No page at 4096 is ours to fill.
func memoryGone(fd int) bool {
	arg := [4]uint64{4096, 4096, 0, 0}
	return errors.Is(ioctl(fd, uffdioZeropage, unsafe.Pointer(&arg)), unix.ESRCH)
}

func (u *Userfault) control(f func(fd int) error) error {
	conn, err := u.file.SyscallConn()
	if err != nil {
		return err
	}
	var e error
	err = conn.Control(func(fd uintptr) { e = f(int(fd)) })
	return errors.Join(err, e)
}

// fetch duplicates a descriptor of another process (pidfd_getfd(2), Linux 5.6).
func fetch(pid, fd int) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(pidfd)
	ours, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return -1, fmt.Errorf("pidfd_getfd: %w", err)
	}
	unix.CloseOnExec(ours)
	return ours, nil
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// Read waits for the next faults and puts them into buf. It ends with an error
// when the Userfault is closed.
func (u *Userfault) Read(buf []Fault) (int, error) {
	raw := make([]byte, max(1, len(buf))*uffdMessage)
	n, err := u.file.Read(raw)
	if err != nil {
		return 0, err
	}
	return decodeFaults(buf, raw[:n]), nil
}

// decodeFaults reads messages (struct uffd_msg); others than faults are left out.
func decodeFaults(buf []Fault, raw []byte) int {
	n := 0
	for ; len(raw) >= uffdMessage && n < len(buf); raw = raw[uffdMessage:] {
		if raw[0] != uffdEventPagefault {
			continue
		}
		le := binary.LittleEndian
		buf[n] = Fault{Write: le.Uint64(raw[8:])&1 != 0, Addr: le.Uint64(raw[16:]), TID: int(le.Uint32(raw[24:]))}
		n++
	}
	return n
}

// Wake lets threads that wait on a range touch it again.
func (u *Userfault) Wake(r Range) error {
	arg := [2]uint64{r.Lo, r.Hi - r.Lo}
	return u.control(func(fd int) error { return ioctl(fd, uffdioWake, unsafe.Pointer(&arg)) })
}

// Close ends it. Pages that are still missing are then zero at their touch, and
// threads that wait go on.
func (u *Userfault) Close() error { return u.file.Close() }
