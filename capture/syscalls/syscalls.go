// Package syscalls says which system calls of Linux on x86-64 write user memory,
// and where: the table that every engine works by.
//
//	d := syscalls.Writing()[0] // read(2): as many bytes as its result, at argument 2
//
// It holds facts and no code that acts on them. A call that is not in the table
// writes nothing that a program commonly has on its heap, or is not known.
package syscalls

// Rule says how a system call writes user memory.
type Rule = uint8

// The rules. All but the mappings write only if the result is not negative; the
// engines' C sources (bpf/kernel/shared.h, inline/hook/c/layout.h) have the same
// numbers.
const (
	None    Rule = iota
	Result       // result × Size bytes at argument Ptr, and where Len is set not more than argument Len × Size
	Fixed        // Size bytes at argument Ptr
	IOVec        // result bytes over the iovec array at argument Ptr, argument Len of them
	Message      // result bytes over the iovec array of the msghdr at argument Ptr
	Array        // argument Len × Size bytes at argument Ptr
	Mmap
	Munmap
	Mremap
	Brk
)

// Remapped calls wrote with the memory that mremap(2) gave other contents: what was added to
// the mapping; or, if that has moved, all of it, and then where it was.
func Remapped(old, oldSize, now, size uint64, wrote func(addr, size uint64)) {
	const page = 4096
	oldSize, size = (oldSize+page-1)&^(page-1), (size+page-1)&^(page-1)
	switch {
	case now != old:
		wrote(now, size)
		wrote(old, oldSize)
	case size > oldSize:
		wrote(old+oldSize, size-oldSize)
	}
}

// Calls is more than the greatest number of a system call in the table.
const Calls = 512

// Desc describes a system call. Arguments count from 1 (RDI RSI RDX R10 R8 R9).
// Its layout is that of struct sysdesc in the C sources: 8 bytes.
type Desc struct {
	Rule     Rule
	Ptr, Len uint8
	_        uint8
	Size     uint32 // bytes
}

// Writing returns the system calls of x86-64 that write memory which a program
// commonly has on its heap, by number (arch/x86/entry/syscalls/syscall_64.tbl).
// Sizes are those of the structures in the kernel's user interface. A call with
// two results is described by the larger one.
func Writing() map[uint32]Desc {
	return map[uint32]Desc{
		0:   {Rule: Result, Ptr: 2, Size: 1},         // read
		4:   {Rule: Fixed, Ptr: 2, Size: 144},        // stat
		5:   {Rule: Fixed, Ptr: 2, Size: 144},        // fstat
		6:   {Rule: Fixed, Ptr: 2, Size: 144},        // lstat
		7:   {Rule: Array, Ptr: 1, Len: 2, Size: 8},  // poll
		9:   {Rule: Mmap},                            // mmap
		11:  {Rule: Munmap},                          // munmap
		12:  {Rule: Brk},                             // brk
		13:  {Rule: Fixed, Ptr: 3, Size: 32},         // rt_sigaction
		14:  {Rule: Fixed, Ptr: 3, Size: 8},          // rt_sigprocmask
		17:  {Rule: Result, Ptr: 2, Size: 1},         // pread64
		19:  {Rule: IOVec, Ptr: 2, Len: 3},           // readv
		22:  {Rule: Fixed, Ptr: 1, Size: 8},          // pipe
		25:  {Rule: Mremap},                          // mremap
		36:  {Rule: Fixed, Ptr: 2, Size: 32},         // getitimer
		45:  {Rule: Result, Ptr: 2, Len: 3, Size: 1}, // recvfrom; MSG_TRUNC makes the result larger
		47:  {Rule: Message, Ptr: 2},                 // recvmsg
		53:  {Rule: Fixed, Ptr: 4, Size: 8},          // socketpair
		63:  {Rule: Fixed, Ptr: 1, Size: 390},        // uname
		78:  {Rule: Result, Ptr: 2, Size: 1},         // getdents
		79:  {Rule: Result, Ptr: 1, Size: 1},         // getcwd
		89:  {Rule: Result, Ptr: 2, Size: 1},         // readlink
		96:  {Rule: Fixed, Ptr: 1, Size: 16},         // gettimeofday
		97:  {Rule: Fixed, Ptr: 2, Size: 16},         // getrlimit
		98:  {Rule: Fixed, Ptr: 2, Size: 144},        // getrusage
		99:  {Rule: Fixed, Ptr: 1, Size: 112},        // sysinfo
		100: {Rule: Fixed, Ptr: 1, Size: 32},         // times
		115: {Rule: Result, Ptr: 2, Len: 1, Size: 4}, // getgroups; asked for 0, it only counts, as the next do
		127: {Rule: Fixed, Ptr: 1, Size: 8},          // rt_sigpending
		137: {Rule: Fixed, Ptr: 2, Size: 120},        // statfs
		138: {Rule: Fixed, Ptr: 2, Size: 120},        // fstatfs
		191: {Rule: Result, Ptr: 3, Len: 4, Size: 1}, // getxattr
		192: {Rule: Result, Ptr: 3, Len: 4, Size: 1}, // lgetxattr
		193: {Rule: Result, Ptr: 3, Len: 4, Size: 1}, // fgetxattr
		194: {Rule: Result, Ptr: 2, Len: 3, Size: 1}, // listxattr
		195: {Rule: Result, Ptr: 2, Len: 3, Size: 1}, // llistxattr
		196: {Rule: Result, Ptr: 2, Len: 3, Size: 1}, // flistxattr
		204: {Rule: Result, Ptr: 3, Size: 1},         // sched_getaffinity
		217: {Rule: Result, Ptr: 2, Size: 1},         // getdents64
		228: {Rule: Fixed, Ptr: 2, Size: 16},         // clock_gettime
		229: {Rule: Fixed, Ptr: 2, Size: 16},         // clock_getres
		232: {Rule: Result, Ptr: 2, Size: 12},        // epoll_wait
		262: {Rule: Fixed, Ptr: 3, Size: 144},        // newfstatat
		267: {Rule: Result, Ptr: 3, Size: 1},         // readlinkat
		271: {Rule: Array, Ptr: 1, Len: 2, Size: 8},  // ppoll
		281: {Rule: Result, Ptr: 2, Size: 12},        // epoll_pwait
		293: {Rule: Fixed, Ptr: 1, Size: 8},          // pipe2
		295: {Rule: IOVec, Ptr: 2, Len: 3},           // preadv
		299: {Rule: Array, Ptr: 2, Len: 3, Size: 64}, // recvmmsg: its headers
		302: {Rule: Fixed, Ptr: 4, Size: 16},         // prlimit64
		310: {Rule: IOVec, Ptr: 2, Len: 3},           // process_vm_readv
		318: {Rule: Result, Ptr: 1, Size: 1},         // getrandom
		327: {Rule: IOVec, Ptr: 2, Len: 3},           // preadv2
		332: {Rule: Fixed, Ptr: 5, Size: 256},        // statx
		441: {Rule: Result, Ptr: 2, Size: 12},        // epoll_pwait2
	}
}
