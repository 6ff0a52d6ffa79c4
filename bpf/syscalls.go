package bpf

// How a system call writes user memory; enum in kernel/shared.h.
const (
	_          = iota
	ruleResult // result × size bytes at argument ptr
	ruleFixed  // size bytes at argument ptr
	ruleIOVec  // result bytes over the iovec array at argument ptr, argument len of them
	ruleMsg    // result bytes over the iovec of the msghdr at argument ptr
	ruleArray  // argument len × size bytes at argument ptr
	ruleMmap
	ruleMunmap
	ruleMremap
	ruleBrk
)

// sysdesc is struct sysdesc.
type sysdesc struct {
	Rule, Ptr, Len, _ uint8
	Size              uint32 // bytes
}

// writingCalls are the system calls of x86-64 that write memory which a program
// commonly has on its heap, by number (arch/x86/entry/syscalls/syscall_64.tbl).
// Sizes are those of the structures in the kernel's user interface. A call with
// two results is described by the larger one.
func writingCalls() map[uint32]sysdesc {
	return map[uint32]sysdesc{
		0:   {Rule: ruleResult, Ptr: 2, Size: 1},         // read
		4:   {Rule: ruleFixed, Ptr: 2, Size: 144},        // stat
		5:   {Rule: ruleFixed, Ptr: 2, Size: 144},        // fstat
		6:   {Rule: ruleFixed, Ptr: 2, Size: 144},        // lstat
		7:   {Rule: ruleArray, Ptr: 1, Len: 2, Size: 8},  // poll
		9:   {Rule: ruleMmap},                            // mmap
		11:  {Rule: ruleMunmap},                          // munmap
		12:  {Rule: ruleBrk},                             // brk
		13:  {Rule: ruleFixed, Ptr: 3, Size: 32},         // rt_sigaction
		14:  {Rule: ruleFixed, Ptr: 3, Size: 8},          // rt_sigprocmask
		17:  {Rule: ruleResult, Ptr: 2, Size: 1},         // pread64
		19:  {Rule: ruleIOVec, Ptr: 2, Len: 3},           // readv
		22:  {Rule: ruleFixed, Ptr: 1, Size: 8},          // pipe
		25:  {Rule: ruleMremap},                          // mremap
		36:  {Rule: ruleFixed, Ptr: 2, Size: 32},         // getitimer
		45:  {Rule: ruleResult, Ptr: 2, Size: 1},         // recvfrom
		47:  {Rule: ruleMsg, Ptr: 2},                     // recvmsg
		53:  {Rule: ruleFixed, Ptr: 4, Size: 8},          // socketpair
		63:  {Rule: ruleFixed, Ptr: 1, Size: 390},        // uname
		78:  {Rule: ruleResult, Ptr: 2, Size: 1},         // getdents
		79:  {Rule: ruleResult, Ptr: 1, Size: 1},         // getcwd
		89:  {Rule: ruleResult, Ptr: 2, Size: 1},         // readlink
		96:  {Rule: ruleFixed, Ptr: 1, Size: 16},         // gettimeofday
		97:  {Rule: ruleFixed, Ptr: 2, Size: 16},         // getrlimit
		98:  {Rule: ruleFixed, Ptr: 2, Size: 144},        // getrusage
		99:  {Rule: ruleFixed, Ptr: 1, Size: 112},        // sysinfo
		100: {Rule: ruleFixed, Ptr: 1, Size: 32},         // times
		115: {Rule: ruleResult, Ptr: 2, Size: 4},         // getgroups
		127: {Rule: ruleFixed, Ptr: 1, Size: 8},          // rt_sigpending
		137: {Rule: ruleFixed, Ptr: 2, Size: 120},        // statfs
		138: {Rule: ruleFixed, Ptr: 2, Size: 120},        // fstatfs
		191: {Rule: ruleResult, Ptr: 3, Size: 1},         // getxattr
		192: {Rule: ruleResult, Ptr: 3, Size: 1},         // lgetxattr
		193: {Rule: ruleResult, Ptr: 3, Size: 1},         // fgetxattr
		194: {Rule: ruleResult, Ptr: 2, Size: 1},         // listxattr
		195: {Rule: ruleResult, Ptr: 2, Size: 1},         // llistxattr
		196: {Rule: ruleResult, Ptr: 2, Size: 1},         // flistxattr
		204: {Rule: ruleResult, Ptr: 3, Size: 1},         // sched_getaffinity
		217: {Rule: ruleResult, Ptr: 2, Size: 1},         // getdents64
		228: {Rule: ruleFixed, Ptr: 2, Size: 16},         // clock_gettime
		229: {Rule: ruleFixed, Ptr: 2, Size: 16},         // clock_getres
		232: {Rule: ruleResult, Ptr: 2, Size: 12},        // epoll_wait
		262: {Rule: ruleFixed, Ptr: 3, Size: 144},        // newfstatat
		267: {Rule: ruleResult, Ptr: 3, Size: 1},         // readlinkat
		271: {Rule: ruleArray, Ptr: 1, Len: 2, Size: 8},  // ppoll
		281: {Rule: ruleResult, Ptr: 2, Size: 12},        // epoll_pwait
		293: {Rule: ruleFixed, Ptr: 1, Size: 8},          // pipe2
		295: {Rule: ruleIOVec, Ptr: 2, Len: 3},           // preadv
		299: {Rule: ruleArray, Ptr: 2, Len: 3, Size: 64}, // recvmmsg: its headers
		302: {Rule: ruleFixed, Ptr: 4, Size: 16},         // prlimit64
		310: {Rule: ruleIOVec, Ptr: 2, Len: 3},           // process_vm_readv
		318: {Rule: ruleResult, Ptr: 1, Size: 1},         // getrandom
		327: {Rule: ruleIOVec, Ptr: 2, Len: 3},           // preadv2
		332: {Rule: ruleFixed, Ptr: 5, Size: 256},        // statx
		441: {Rule: ruleResult, Ptr: 2, Size: 12},        // epoll_pwait2
	}
}
