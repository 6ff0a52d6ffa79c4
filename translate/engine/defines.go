package engine

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"

	"mgtrace/capture/syscalls"
	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// quiet are the system calls that write no memory of the caller: they need no stop.
// Those with which the engine itself deals are not among them.
var quiet = []int{
	unix.SYS_WRITE, unix.SYS_OPEN, unix.SYS_CLOSE, unix.SYS_LSEEK, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_ACCESS,
	unix.SYS_SCHED_YIELD, unix.SYS_DUP, unix.SYS_DUP2, unix.SYS_PAUSE, unix.SYS_NANOSLEEP, unix.SYS_ALARM, unix.SYS_GETPID,
	unix.SYS_SENDFILE, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SHUTDOWN, unix.SYS_BIND,
	unix.SYS_LISTEN, unix.SYS_SETSOCKOPT, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_EXECVE, unix.SYS_EXIT, unix.SYS_KILL,
	unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_TRUNCATE, unix.SYS_FTRUNCATE, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_RENAME,
	unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_CREAT, unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_SYMLINK, unix.SYS_CHMOD,
	unix.SYS_FCHMOD, unix.SYS_CHOWN, unix.SYS_FCHOWN, unix.SYS_LCHOWN, unix.SYS_UMASK, unix.SYS_GETUID, unix.SYS_GETGID,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_GETEUID, unix.SYS_GETEGID, unix.SYS_SETPGID, unix.SYS_GETPPID, unix.SYS_GETPGRP,
	unix.SYS_SETSID, unix.SYS_GETPGID, unix.SYS_GETSID, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGSUSPEND, unix.SYS_SETRLIMIT,
	unix.SYS_GETPRIORITY, unix.SYS_SETPRIORITY, unix.SYS_SYNC, unix.SYS_GETTID, unix.SYS_TKILL, unix.SYS_TGKILL,
	unix.SYS_FUTEX, // but for the robust and priority-inheriting ones, which glibc's mutexes commonly are not
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SET_TID_ADDRESS, unix.SYS_FADVISE64, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_EXIT_GROUP,
	unix.SYS_EPOLL_CTL, unix.SYS_OPENAT, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_FCHMODAT, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_SET_ROBUST_LIST, unix.SYS_EVENTFD, unix.SYS_EVENTFD2,
	unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_CREATE1, unix.SYS_DUP3, unix.SYS_PWRITEV, unix.SYS_UTIMENSAT, unix.SYS_RENAMEAT2,
	unix.SYS_MEMFD_CREATE, unix.SYS_TIMERFD_CREATE, unix.SYS_SIGNALFD4, unix.SYS_FALLOCATE, unix.SYS_RSEQ,
}

var writing = sync.OnceValue(syscalls.Writing)

// callFailed says that a system call's result is an error.
func callFailed(result uint64) bool { return int64(result) < 0 && int64(result) > -4096 }

// defines records what a system call wrote, which has just returned with these
// registers: the kernel keeps the arguments but for RAX. The program goes on at pc.
func (e *Engine) defines(th *target.Stopped, t *thread, nr uint64, regs *mem.Regs, pc uint64) {
	if callFailed(regs.RAX) {
		return
	}
	rec := flow.Record{Kind: flow.Define, Cause: flow.BySyscall, Number: nr, PC: trace.Addr(pc)}
	args := [7]uint64{0, regs.RDI, regs.RSI, regs.RDX, regs.R10, regs.R8, regs.R9}
	add := func(addr, size uint64) {
		for addr != 0 && size > 0 {
			n := min(size, 1<<31)
			rec.Mem = append(rec.Mem, flow.Mem{Addr: trace.Addr(addr), Size: uint32(n)})
			addr, size = addr+n, size-n
		}
	}
	vector := func(at, n, total uint64) {
		for ; n > 0 && total > 0; n-- {
			var iov [16]byte
			if _, err := th.ReadMemory(iov[:], at); err != nil {
				rec.Why = "the list of what it wrote can not be read"
				return
			}
			size := min(binary.LittleEndian.Uint64(iov[8:]), total)
			add(binary.LittleEndian.Uint64(iov[:]), size)
			total -= size
			at += 16
		}
	}
	d, known := writing()[uint32(nr)]
	switch {
	case nr == unix.SYS_MADVISE:
		if regs.RDX == unix.MADV_DONTNEED {
			add(regs.RDI, pageUp(regs.RSI))
		}
	case nr == unix.SYS_MPROTECT, nr == unix.SYS_PKEY_MPROTECT:
	case nr == unix.SYS_MUNMAP:
		rec = flow.Record{Kind: flow.Unmap, Number: nr}
		add(regs.RDI, pageUp(regs.RSI))
	case nr == unix.SYS_ARCH_PRCTL:
		if regs.RDI == 0x1003 { // ARCH_GET_FS
			add(regs.RSI, 8)
		}
	case nr == unix.SYS_FCNTL:
		if regs.RSI == unix.F_GETLK || regs.RSI == unix.F_OFD_GETLK {
			add(regs.RDX, 32)
		}
	case nr == unix.SYS_SIGALTSTACK:
		add(regs.RSI, 24)
	case !known:
		rec.Why = "what this system call writes is not known"
	case d.Rule == syscalls.Result:
		n := regs.RAX
		if d.Len != 0 {
			n = min(n, args[d.Len])
		}
		add(args[d.Ptr], n*uint64(d.Size))
	case d.Rule == syscalls.Fixed:
		add(args[d.Ptr], uint64(d.Size))
	case d.Rule == syscalls.Array:
		add(args[d.Ptr], args[d.Len]*uint64(d.Size))
	case d.Rule == syscalls.IOVec:
		vector(args[d.Ptr], args[d.Len], regs.RAX)
	case d.Rule == syscalls.Message:
		var h [32]byte // struct msghdr: …, msg_iov at 16, msg_iovlen
		if _, err := th.ReadMemory(h[:], args[d.Ptr]); err != nil {
			rec.Why = "the list of what it wrote can not be read"
			break
		}
		vector(binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:]), regs.RAX)
	case d.Rule == syscalls.Mmap:
		add(regs.RAX, pageUp(regs.RSI))
	case d.Rule == syscalls.Mremap:
		syscalls.Remapped(regs.RDI, regs.RSI, regs.RAX, regs.RDX, add)
	case d.Rule == syscalls.Brk:
		if old := e.brk; old != 0 && old < regs.RAX {
			add(old, regs.RAX-old)
		}
		e.brk = regs.RAX
	}
	if len(rec.Mem) > 0 || rec.Why != "" {
		e.other(t, &rec)
	}
}
