/* What the programs and the Go side agree on. encode.go and decode.go mirror
 * these layouts; layout_test.go compares them with the object's BTF. */
#ifndef MGTRACE_SHARED_H
#define MGTRACE_SHARED_H

/* What a record says. */
enum record_kind {
	R_STORE = 1,	/* payload: bytes written (masked: new bytes, then old) */
	R_BULK,		/* a writer function wrote: site is its index in funcs */
	R_SYSCALL,	/* a system call wrote: site is its number */
	R_STOP,		/* a function entry, return or point was hit; payload: struct stop */
	R_URET,		/* a function returned through a uretprobe: site is a function */
	R_MAP,		/* addr, size */
	R_UNMAP,	/* addr, size */
	R_BRK,		/* addr: the new program break; base: the one before */
	R_THREAD,	/* a thread began */
	R_THREAD_EXIT,
	R_FORK,		/* site: pid of the child; base: 1 if it shares the memory */
	R_EXEC,
	R_SIGNAL,	/* site: number; addr: fault address; base: 1 if the program handles it */
	R_EXIT,		/* site: wait status */
	R_FOUND,	/* bytes that lay in what a declared allocator gave */
	R_CODE,		/* addr, size were mapped of a file, executable: site: its device as the kernel has it; base: inode; offset: pages */
	R_PASSED,	/* bytes on the thread's stack: an argument leads there of the watched function that is entered */
};

/* Flags of a record. */
enum {
	RF_LATE = 1,	/* memory was read later than at the next instruction */
	RF_MORE = 2,	/* further chunks of the same write follow */
	RF_UNREAD = 4,	/* this chunk could not be read: no payload */
	RF_MASKED = 8,	/* payload is new bytes, then old bytes */
	RF_NESTED = 16,	/* an allocator inside another one: no stack */
	RF_PARTIAL = 32,/* last chunk; bytes beyond it were not read */
};

/* Every record begins with these 64 bytes. */
struct record {
	__u8 kind, flags;
	__u16 n;	/* payload bytes in use */
	__u32 site;
	__u32 thread;
	__u32 offset;	/* of the payload in the write */
	__u64 time;	/* ns, CLOCK_MONOTONIC */
	__u64 pc, sp;
	__u64 addr;	/* of the whole write; R_STOP, R_URET: rax */
	__u64 size;	/* of the whole write, bytes */
	__u64 base;
};

/* Payload of R_STOP, followed by the captured stack from sp upwards. */
struct stop {
	__u64 ret;	/* the word at sp: at an entry the return address */
	__u64 args[6];	/* rdi rsi rdx rcx r8 r9 */
	__u64 saved[6];	/* rbx rbp r12 r13 r14 r15 */
};

/* What happens at a site, in the order in which the program does it. */
enum {
	SF_EMIT = 1,		/* send R_STOP */
	SF_STACK = 2,		/* with the stack, unless nested */
	SF_ALLOC_ENTER = 4,
	SF_ALLOC_LEAVE = 8,
	SF_WRITER_ENTER = 16,
	SF_WRITER_LEAVE = 32,
	SF_TAIL = 64,		/* the return is a tail jump: the result is not there yet */
	SF_PASSED = 128,	/* what arguments lead to on the stack is told */
};

struct site {
	__u32 flags;
	__u32 store;	/* index in stores + 1; 0: none */
	__u32 locked;	/* same, for a store just executed that could not be probed itself */
	__u32 alloc;	/* index in funcs + 1 */
	__u32 writer;	/* index in funcs + 1 */
	__u8 passed[6];	/* by argument: so many words of what it leads to on the stack are told */
	__u8 texts[6];	/* probe.Func.Texts */
};

enum { TEXT_HERE = 0xff, TEXT_SIZE = 64 };

enum { SHAPE_FIXED, SHAPE_STRING, SHAPE_MASKED, SHAPE_COND, SHAPE_BIT };	/* x86.Shape */
enum { SOURCE_MEMORY, SOURCE_REG, SOURCE_IMM };			/* x86.Source */
enum { ST_RIP = 1, ST_ADDR32 = 2, ST_REP = 4, ST_SWAP = 8 };

#define NOREG 0xff

struct store {
	__s64 disp;
	__u64 imm;
	__u32 site;	/* reported index: position in Plan.Stores */
	__u16 width;
	__u16 len;	/* of the instruction */
	__u8 base, index, scale, segment;	/* registers as in ModRM; 0, 'f' or 'g' */
	__u8 shape, source, value, shift;
	__u32 flags;
	__u32 unused;
};

/* probe.Role of an allocator where the program needs to know it. */
enum { FR_PLAIN, FR_POSIX, FR_STRDUP, FR_GIVES };

enum { EXTENT_ARG, EXTENT_PRODUCT, EXTENT_STRING, EXTENT_APPEND, EXTENT_RESULT,
       EXTENT_RESULT_PRODUCT, EXTENT_MIN_ARG, EXTENT_RETURNED, EXTENT_BOUNDED, EXTENT_FIXED,
       EXTENT_CALL, EXTENT_LINE, EXTENT_FORMAT, EXTENT_SPLIT };	/* probe.Extent */

struct fn {
	__u64 skip_lo, skip_hi;	/* writer: calls from this code are not reported */
	__u64 fixed;	/* bytes, EXTENT_FIXED, or FR_GIVES without len */
	__u8 role, extent;
	__u8 hides;	/* stores and writers inside this allocator, a writer's to its destination are not reported */
	__u8 ptr, dst, len, count;	/* arguments, from 1 */
	__u8 uret;	/* it is left through a uretprobe */
};

/* How a system call writes memory. */
enum {
	SY_NONE,
	SY_RESULT,	/* result × size bytes at argument ptr; where len is set, not more than argument len × size */
	SY_FIXED,	/* size bytes at argument ptr if the result is not negative */
	SY_IOVEC,	/* result bytes over the iovec array at argument ptr, argument len of them */
	SY_MSGHDR,	/* result bytes over the iovec of the msghdr at argument ptr */
	SY_ARRAY,	/* argument len × size bytes at argument ptr if the result is not negative */
	SY_MMAP, SY_MUNMAP, SY_MREMAP, SY_BRK,
};

struct sysdesc {
	__u8 rule, ptr, len, unused;
	__u32 size;
};

struct range {
	__u64 lo, hi;
};

/* Counters, one set per CPU. */
struct counters {
	__u64 probes;	/* times a probe was hit */
	__u64 filtered;	/* stores that no rule wants */
	__u64 hits;	/* records that were to be sent */
	__u64 dropped;	/* of those, not sent: the ring was full */
};

#define MAX_RANGES 128

#endif
