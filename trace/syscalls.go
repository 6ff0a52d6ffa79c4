package trace

import "strconv"

// SyscallName is the name of a system call of Linux on x86-64, or its number where the
// table does not have it.
func SyscallName(number uint64) string {
	if name := syscallNames[number]; name != "" {
		return name
	}
	return strconv.FormatUint(number, 10)
}

// syscallNames are those of system calls that write memory (asm/unistd_64.h). Read-only.
var syscallNames = map[uint64]string{
	0: "read", 4: "stat", 5: "fstat", 6: "lstat", 7: "poll", 9: "mmap", 11: "munmap", 12: "brk", 13: "rt_sigaction", 14: "rt_sigprocmask", 16: "ioctl", 17: "pread64",
	19: "readv", 22: "pipe", 25: "mremap", 35: "nanosleep", 45: "recvfrom", 47: "recvmsg", 56: "clone", 59: "execve", 61: "wait4", 63: "uname", 72: "fcntl",
	78: "getdents", 79: "getcwd", 89: "readlink", 96: "gettimeofday", 97: "getrlimit", 98: "getrusage", 99: "sysinfo", 158: "arch_prctl",
	202: "futex", 204: "sched_getaffinity", 217: "getdents64", 218: "set_tid_address", 228: "clock_gettime", 232: "epoll_wait", 262: "newfstatat",
	267: "readlinkat", 273: "set_robust_list", 281: "epoll_pwait", 293: "pipe2", 295: "preadv", 302: "prlimit64", 318: "getrandom", 332: "statx", 334: "rseq", 435: "clone3",
}
