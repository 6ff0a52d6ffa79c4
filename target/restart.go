package target

import (
	"golang.org/x/sys/unix"
)

// restartNoHandler is what a system call returns inside the kernel that is to
// be restarted unless a handler runs, and to fail with EINTR then
// (include/linux/errno.h).
const restartNoHandler = 514

// interrupted reports whether a result says, inside the kernel, that the call
// is to be restarted: ERESTARTSYS 512 to ERESTART_RESTARTBLOCK 516.
func interrupted(rax uint64) bool {
	n := -int64(rax)
	return n >= 512 && n <= 516
}

// breakable are system calls that fail with EINTR when their thread is stopped,
// although no signal is handled (signal(7)). They have changed nothing then, so
// that they can be made again; a timeout begins anew.
var breakable = map[uint64]bool{
	unix.SYS_READ: true, unix.SYS_WRITE: true, unix.SYS_READV: true, unix.SYS_WRITEV: true,
	unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true, unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true,
	unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true,
	unix.SYS_EPOLL_WAIT: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true,
	unix.SYS_SEMOP: true, unix.SYS_SEMTIMEDOP: true, unix.SYS_RT_SIGTIMEDWAIT: true,
	unix.SYS_IO_GETEVENTS: true, unix.SYS_IO_PGETEVENTS: true, unix.SYS_IO_URING_ENTER: true,
}

// restartable makes the kernel restart a system call that an interrupt of ours
// has broken off, so that the program does not see EINTR.
func restartable(tid int) error {
	regs, err := getRegs(tid)
	if err != nil {
		return err
	}
	if int64(regs.RAX) != -int64(unix.EINTR) || !breakable[regs.OrigRAX] {
		return nil
	}
	regs.RAX = ^uint64(restartNoHandler - 1)
	return setRegs(tid, regs)
}
