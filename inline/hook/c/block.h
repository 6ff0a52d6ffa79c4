/* The structures that the hook routine works on, with the offsets of layout.h. */
#ifndef MGTRACE_INLINE_BLOCK_H
#define MGTRACE_INLINE_BLOCK_H

#include "layout.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef short s16;
typedef int s32;
typedef long s64;
typedef _Bool bool;

#define AT(type, field, offset) \
	_Static_assert(__builtin_offsetof(struct type, field) == (offset), #type "." #field)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

struct regs {
	u64 gp[16];	/* by ModRM number; rsp is that of the program */
	u64 flags;
	u32 site;
	u32 unused;
};
AT(regs, flags, RegsFlags);
SIZE(regs, RegsSize);

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

struct store {
	s64 disp;
	u32 index;
	u16 width;
	u8 len, flags;
	u8 base, indexr, scale, value;
	u8 shape, unused[3];
};
AT(store, index, StoreDescIndex);
AT(store, width, StoreDescWidth);
AT(store, len, StoreDescLen);
AT(store, flags, StoreDescFlags);
AT(store, base, StoreDescBase);
AT(store, indexr, StoreDescIndexR);
AT(store, scale, StoreDescScale);
AT(store, value, StoreDescValue);
AT(store, shape, StoreDescShape);
SIZE(store, StoreDescSize);

struct func {
	u64 skip_lo, skip_hi, fixed;
	u8 role, extent, flags, ptr, dst, len, count, bytes;
};
AT(func, skip_hi, FuncSkipHi);
AT(func, fixed, FuncFixed);
AT(func, role, FuncRole);
AT(func, extent, FuncExtent);
AT(func, flags, FuncFlags);
AT(func, ptr, FuncPtr);
AT(func, dst, FuncDst);
AT(func, len, FuncLen);
AT(func, count, FuncCount);
AT(func, bytes, FuncBytes);
SIZE(func, FuncSize);

struct site {
	u64 pc;
	u32 flags, index, store, alloc, writer, member;
	u64 passed, texts;
	s32 frame_lo, frame_hi;
};
AT(site, flags, SiteFlags);
AT(site, index, SiteIndex);
AT(site, store, SiteStore);
AT(site, alloc, SiteAlloc);
AT(site, writer, SiteWriter);
AT(site, member, SiteMember);
AT(site, passed, SitePassed);
AT(site, texts, SiteTexts);
AT(site, frame_lo, SiteFrameLo);
AT(site, frame_hi, SiteFrameHi);
SIZE(site, SiteSize);

struct sysdesc {
	u8 rule, ptr, len, unused;
	u32 size;
};

struct verdict {
	u64 address;
	s32 offset;
	s16 bp;
	u8 base, says;
};
AT(verdict, address, VerdictAddr);
AT(verdict, offset, VerdictOffset);
AT(verdict, bp, VerdictBP);
AT(verdict, base, VerdictBase);
AT(verdict, says, VerdictSays);
SIZE(verdict, VerdictSize);

struct range {
	u64 lo, size;
};

/* A block of whose allocation no frame was known yet that decides: see late.h. */
struct late {
	u64 size;
	u64 sp, bp;	/* at its allocation */
	u64 window;	/* as much of the stack counts */
	u32 looks;
	bool cut;	/* not all of that is here */
	bool decided;	/* it does not matter, and is closed but for its first granule */
	u64 stack[LateStack / 8];
};
SIZE(late, LateSize);

/* All of them. Their addresses lie together: they are looked through wherever a block ends. */
struct late_table {
	u64 addr[LateEntries];	/* 0: none */
	struct late entries[LateEntries];
};
SIZE(late_table, LateTable);

/* A stack that the tracer knows, but for where it begins: see paths.h. */
struct path {
	u16 counts, end;
	u32 unused;
	u64 want[PathWords];
	u16 where[PathWords];
	u64 unused1[2];
};
AT(path, counts, PathCounts);
AT(path, end, PathEnd);
AT(path, want, PathWant);
AT(path, where, PathWhere);
SIZE(path, PathSize);

struct path_key {
	u64 pc, sp;
	u32 seq, stack;
};
AT(path_key, sp, KeySP);
AT(path_key, seq, KeySeq);
AT(path_key, stack, KeyStack);
SIZE(path_key, PathKey);

struct path_set {
	struct path_key keys[PathWays];
	struct path paths[PathWays];
};
AT(path_set, paths, PathAt);
SIZE(path_set, PathSet);

/* What is kept of blocks and nodes to answer the tracer: see member.h. */
struct made {
	u64 lo, hi, time;
};

struct kind {
	u32 stack, size, lo, hi;
};
SIZE(kind, BarrenKind);

struct barren {
	u64 block, addr, size, time;
	u32 answer, next;
	u64 ends[BarrenEnded];
	struct made made[BarrenMembers];
	struct kind kinds[BarrenKinds];
};
AT(barren, addr, BarrenAddr);
AT(barren, size, BarrenBytes);
AT(barren, time, BarrenTime);
AT(barren, answer, BarrenAnswer);
AT(barren, next, BarrenNext);
AT(barren, ends, BarrenEnds);
AT(barren, made, BarrenMade);
AT(barren, kinds, BarrenAlike);
SIZE(barren, BarrenSize);

struct process {
	u64 order, many;
	u64 unused0[6];
	u64 config;
	u8 *shadow;
	const struct func *funcs;
	const struct site *sites;
	u64 gate;
	const struct store *stores;
	const struct sysdesc *syscalls;
	u64 brk;
	u32 stack_bytes, unused1;
	u64 max_data;
	u8 *lengths;
	const struct verdict *verdicts;
	u64 verdict_mask;
	u8 open, closed;
	u32 named_count;
	u64 named_lo, named_span;
	const struct range *named;
	struct late_table *late;
	u32 late_next, late_waiting;
	const struct path_set *paths;
	struct barren *barren;
	u64 least;
	u32 asked;
	u32 late_taken;	/* entries of late */
};
AT(process, order, Order);
AT(process, many, Many);
AT(process, config, Config);
AT(process, shadow, Shadow);
AT(process, funcs, Funcs);
AT(process, sites, Sites);
AT(process, stores, Stores);
AT(process, syscalls, Syscalls);
AT(process, brk, Break);
AT(process, stack_bytes, StackBytes);
AT(process, max_data, MaxData);
AT(process, lengths, Lengths);
AT(process, verdicts, Verdicts);
AT(process, verdict_mask, VerdictMask);
AT(process, open, OpenByte);
AT(process, closed, ClosedByte);
AT(process, named_count, NamedCount);
AT(process, named_lo, NamedLo);
AT(process, named_span, NamedSpan);
AT(process, named, Named);
AT(process, late, Late);
AT(process, late_next, LateNext);
AT(process, late_waiting, LateWaiting);
AT(process, late_taken, LateTaken);
AT(process, paths, Paths);
AT(process, barren, Barren);
AT(process, least, LeastBlock);
AT(process, asked, Asked);

/* The outermost open call of an allocator. sp 0: none. */
struct alloc {
	u64 sp, pc;	/* where its return address lies, and what it is */
	u64 ptr;	/* argument: a block (realloc, free), or where to store one (posix_memalign) */
	u64 size;	/* requested */
	const struct func *f;
	u32 index;
	bool tail;	/* it jumped to another function */
	bool closed;	/* the new block does not matter */
	bool known;	/* the block at ptr does */
	bool unsure;	/* it is not known yet whether the new block matters */
	u64 granules : 56;	/* of the block at ptr, closed at the call; 0: none */
	u64 was : 8;	/* what the shadow table held for them */
};
AT(alloc, sp, CallSP);
AT(alloc, pc, CallPC);
AT(alloc, ptr, CallPtr);
AT(alloc, size, CallBytes);
AT(alloc, f, CallFunc);
AT(alloc, index, CallIndex);
AT(alloc, tail, CallIndex + 4);

/* An open call of a writer. */
struct writer {
	u64 sp, pc;
	u64 dst;
	union {
		struct {
			u64 len, count;
			u64 old;	/* append: length of the string before; line, split: the pointer before */
		};
		u64 passed[5];	/* format: the arguments behind it that registers held */
		struct {	/* format: pointers in a va_list */
			u64 saved, saved_count, more;	/* where some lie, how many, and where the others do */
		};
	};
	u64 window;	/* its own stores to so many bytes at dst are not wanted */
	u32 func, unused;
};
AT(writer, sp, WriterSP);
AT(writer, pc, WriterPC);
AT(writer, dst, WriterDst);
AT(writer, len, WriterLen);
AT(writer, func, WriterFunc);
SIZE(writer, WriterSize);

/* An open complex store or system call. */
struct pending {
	u64 sp, addr, size, base;
	u32 site, call, index;
	u8 shape, unused[19];
	u8 old[64];
};
AT(pending, sp, PendingSP);
AT(pending, addr, PendingAddr);
AT(pending, size, PendingBytes);
AT(pending, base, PendingBase);
AT(pending, site, PendingSite);
AT(pending, call, PendingCall);
AT(pending, index, PendingIndex);
AT(pending, shape, PendingShape);
AT(pending, old, PendingOld);
SIZE(pending, PendingSize);

struct block {
	u64 cursor;
	u64 unused0[5];
	u64 end;
	struct process *process;
	u64 unused1;
	u64 hook_sp;
	u64 unused2[6];
	u64 stack_lo, stack_hi;
	u32 held, missed;
	struct alloc alloc;
	u32 writers, pendings;
	struct writer writer[MaxOpen];
	struct pending pending[MaxOpen];
	u64 clock;	/* time stamp counter, as last read */
	u32 readings, unused3;
	u64 open_call, open_free;	/* -alloc.sp, in one of them: trampolines of returns look here first */
	u64 next, next_end;	/* the other buffer, if it is free */
	u64 turn;	/* from here on it is taken */
	u64 left;	/* the cursor, when it was */
	u64 open_writer;	/* -sp of the last of writer: see open_call */
};
AT(block, cursor, Cursor);
AT(block, end, End);
AT(block, process, Process);
AT(block, hook_sp, HookSP);
AT(block, stack_lo, StackLo);
AT(block, stack_hi, StackHi);
AT(block, held, Held);
AT(block, missed, Missed);
AT(block, alloc, AllocCall);
AT(block, writers, Writers);
AT(block, pendings, Pendings);
AT(block, writer, WriterAt);
AT(block, pending, PendingAt);
AT(block, clock, Clock);
AT(block, readings, Readings);
AT(block, open_call, OpenCall);
AT(block, open_free, OpenFree);
AT(block, next, Next);
AT(block, next_end, NextEnd);
AT(block, turn, Turn);
AT(block, left, Left);
AT(block, open_writer, OpenWriter);
SIZE(block, HookEnd);

/* Records lie at multiples of four bytes. */
#define RECORD __attribute__((packed, aligned(4)))

struct head {
	u32 tag, size;
	u64 stamp, time;
} RECORD;
AT(head, stamp, SpecialStamp);
AT(head, time, SpecialTime);

struct stop {
	struct head h;
	u32 site, flags;
	u64 pc, sp, result, block;
	u64 regs[13];
} RECORD;
AT(stop, site, StopSite);
AT(stop, flags, StopFlags);
AT(stop, pc, StopPC);
AT(stop, sp, StopSP);
AT(stop, result, StopResult);
AT(stop, block, StopBlock);
AT(stop, regs, StopRegs);
SIZE(stop, StopSize);

struct allocated {
	struct head h;
	u32 func, known;
	u64 ret, sp, ptr, bytes, result;
	u64 regs[6];	/* and the stack; neither if it is not captured */
} RECORD;
AT(allocated, func, AllocFunc);
AT(allocated, known, AllocKnown);
AT(allocated, ret, AllocRet);
AT(allocated, sp, AllocSP);
AT(allocated, ptr, AllocPtr);
AT(allocated, bytes, AllocBytes);
AT(allocated, result, AllocResult);
AT(allocated, regs, AllocRegs);
SIZE(allocated, AllocStack);

struct written {
	struct head h;
	u32 op, flags, index, bytes;
	u64 pc, sp, addr, len, base, off;
} RECORD;
AT(written, op, WriteOp);
AT(written, flags, WriteFlags);
AT(written, index, WriteIndex);
AT(written, bytes, WriteBytes);
AT(written, pc, WritePC);
AT(written, sp, WriteSP);
AT(written, addr, WriteAddr);
AT(written, len, WriteLen);
AT(written, base, WriteBase);
AT(written, off, WriteOff);
SIZE(written, WriteSize);

struct note {
	struct head h;
	u32 op, index;
	u64 pc, sp, addr, len, base;
} RECORD;
AT(note, op, NoteOp);
AT(note, index, NoteIndex);
AT(note, pc, NotePC);
AT(note, sp, NoteSP);
AT(note, addr, NoteAddr);
AT(note, len, NoteLen);
AT(note, base, NoteBase);
SIZE(note, NoteSize);

#endif
