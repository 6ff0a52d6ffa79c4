package layout

// What the hook routine keeps in the thread block, from Hook on. A thread's
// block is all zero when it begins, but for what the tracer fills in.
const (
	// StackLo and StackHi bound the thread's own stack (u64, half-open; the
	// tracer writes them, 0 if it does not know). No capture of the stack goes
	// beyond StackHi, and complex stores to it are not recorded.
	StackLo = 0x80
	StackHi = 0x88
	// Held is a u32 futex: the routine sets it to 1 at a site with SiteHold when
	// its record is whole, and waits until it is something else.
	Held = 0x90
	// Missed (u32) counts records that found no room even in an empty buffer;
	// the next record is a NoteLost that tells.
	Missed = 0x94

	AllocCall = 0x98  // the outermost open call of an allocator: see CallSP
	Writers   = 0xd0  // u32: how many calls of writers are open
	Pendings  = 0xd4  // u32: how many complex stores and system calls are open
	WriterAt  = 0xd8  // their array, outermost first, WriterSize each
	PendingAt = 0x358 // array, oldest first, PendingSize each

	// An open call of an allocator. Trampolines note calls too (emit.Opening); what is not
	// listed is 0 then.
	CallSP    = 0  // u64: the stack pointer at its entry; 0: none is open
	CallPC    = 8  // u64: its return address
	CallPtr   = 16 // u64: the block that it takes
	CallBytes = 24 // u64: requested
	CallFunc  = 32 // u64: address of its descriptor
	CallIndex = 40 // u32: its index in the plan, and 4 bytes that are 0 at its entry

	// An open call of a writer. Trampolines note calls too, of those that write as many
	// bytes as an argument says.
	WriterSize  = 80
	WriterSP    = 0  // u64: the stack pointer at its entry
	WriterPC    = 8  // u64: its return address
	WriterDst   = 16 // u64: where it writes
	WriterLen   = 24 // u64: how much
	WriterFunc  = 72 // u32: its index in the plan, and 4 bytes that nobody reads
	PendingSize = 128
	MaxOpen     = 8 // of either; the oldest makes room for another

	Clock    = PendingAt + MaxOpen*PendingSize // u64: the time stamp counter as last read
	Readings = Clock + 8                       // u32: how many records still share that time; 0: the next one reads it
	// OpenCall and OpenFree (u64): one of them is the negative of where the return
	// address of AllocCall lies, OpenFree if that is a FuncWhole free whose stores are
	// not held back, so that its return is to be forgotten; else they are 0.
	OpenCall = Clock + 16
	OpenFree = Clock + 24
	// Next (u64) is where the other buffer begins if it is free, else 0: the tracer sets it
	// while the thread runs. NextEnd is the End of that. The routine goes there by itself
	// when Cursor has come to Turn, or where a record has no room, and leaves the old Cursor
	// in Left before it changes Cursor.
	Next    = Clock + 32
	NextEnd = Clock + 40
	Turn    = Clock + 48
	Left    = Clock + 56
	// OpenWriter (u64) is the negative of where the return address of the innermost of Writers
	// lies; 0: there is none.
	OpenWriter = Clock + 64
	HookEnd    = Clock + 72

	// Back (u64): where the routine was to return to, if the tracer has it return elsewhere.
	Back = HookEnd

	// ClockEvery is how many records share a time, at most: reading the counter
	// takes longer than all the rest of a short record. Behind a system call, where
	// time passes, it is read anew.
	ClockEvery = 64
	// ClockBrisk is how many ticks may have passed from one reading to the next for
	// ClockEvery records to share the next: of a slower program each record has its own.
	ClockBrisk = 1 << 16
)

// An open complex store or system call. The tracer reads it when a signal stops
// the thread between the two phases.
const (
	PendingSP     = 0  // u64: stack pointer of the program
	PendingAddr   = 8  // u64: lowest address that will be written; PendingChanged: what was changed, 0: RDI
	PendingBytes  = 16 // u64: how many
	PendingBase   = 24 // u64: address register; string: RDI before the first element; PendingChanged: what was there
	PendingSite   = 32 // u32: number of the hook site
	PendingCall   = 36 // u32: number of the system call
	PendingIndex  = 40 // u32: index of the store in the plan
	PendingShape  = 44 // u8: x86.Shape; PendingSystem for a system call
	PendingOld    = 64 // masked, conditional: so many bytes from before
	PendingSystem = 0xff
	// PendingChanged is a system call of which something is changed until it has returned.
	PendingChanged = 0xfe
)

// The process block behind Sites. The tracer fills it in before any hook runs.
const (
	Stores      = 0x68 // array of store descriptors, StoreDescSize each
	Syscalls    = 0x70 // array of system call descriptors (syscalls.Desc), SyscallCount of them
	Break       = 0x78 // u64: the program break; 0: not known
	StackBytes  = 0x80 // u32: captured at outermost allocator entries, a multiple of 8
	MaxData     = 0x88 // u64: bytes of one write that are recorded
	Lengths     = 0x90 // address of the table of lengths: see ConfigFilter; 0: none
	Verdicts    = 0x98 // address of the table of verdicts on call sites; 0: none
	VerdictMask = 0xa0 // u64: number of its entries less one, which is a power of two less one
	OpenByte    = 0xa8 // u8: what the shadow table holds for a granule whose stores are recorded
	ClosedByte  = 0xa9 // u8: … for one whose stores are not
	NamedCount  = 0xac // u32: how many of Named there are
	NamedLo     = 0xb0 // u64: they all lie in [NamedLo, NamedLo + NamedSpan)
	NamedSpan   = 0xb8 // u64
	Named       = 0xc0 // address of ranges of code, two u64 each: where one begins, and its length

	// Address of what is kept of blocks of whose allocation no frame was known yet that decides
	// (late.h): LateEntries addresses (u64, 0: none), and as many of LateSize bytes; 0: none are kept. The
	// routine's own, as are the numbers.
	Late        = 0xc8
	LateNext    = 0xd0 // u32: where it looks next
	LateWaiting = 0xd4 // u32: how many are undecided
	LateTaken   = 0xf4 // u32: how many there are

	Paths = 0xd8 // address of the sets of known stacks, 1 << capture.PathBits; 0: none

	// Where calls make nodes: address of what is kept for it (BarrenAsked…), the least block
	// that may hold one (u64, bytes; 0: any may), and whether BarrenAsked is to be answered (u32).
	Barren     = 0xe0
	LeastBlock = 0xe8
	Asked      = 0xf0

	// The tracer asks that a part of a block be closed of which it thinks that no node will lie
	// there, and the routine does it if, since the time up to which the tracer has read, the block
	// has not ended and no node has been made in that part. Times are those of records.
	BarrenBlock  = 0                          // u64: address of the block
	BarrenAddr   = 8                          // u64: of the part
	BarrenBytes  = 16                         // u64: its size
	BarrenTime   = 24                         // u64: so far the tracer has read
	BarrenAnswer = 32                         // u32: BarrenClosed or BarrenRefused
	BarrenNext   = 36                         // u32: how many nodes were made, modulo 2^32
	BarrenEnds   = 40                         // u64 × BarrenEnded, by a hash of the address: when a block there ended last
	BarrenMade   = BarrenEnds + 8*BarrenEnded // (u64 low, u64 high, u64 time) × BarrenMembers: where nodes were made last
	// Of blocks whose allocation has a known stack only a part may be open: (u32 number of the
	// stack, 0: none; u32 size of the block, 0: any; u32 low, u32 high) × BarrenKinds, by the
	// number. The tracer writes the number last, and takes it away.
	BarrenAlike   = BarrenMade + 24*BarrenMembers
	BarrenKind    = 16
	BarrenSize    = BarrenAlike + BarrenKind*BarrenKinds
	BarrenKinds   = 512
	BarrenEnded   = 4096
	BarrenMembers = 1024
	BarrenClosed  = 1
	BarrenRefused = 2

	LateEntries = 2048 // a program allocates hundreds of blocks before the first are looked at
	LateProbes  = 8    // of them that one block may have
	LateStack   = 984  // bytes of the stack that each has
	LateSize    = 1024
	LateTable   = LateEntries * (8 + LateSize)

	SyscallCount = 512
)

// Bits of Config.
const (
	// ConfigFilter: the routine keeps the shadow table: blocks are opened when
	// an allocator returns them, or closed if the verdict on their call site
	// says so. With a table of lengths they are closed again when they are
	// freed; it is indexed as the shadow table is, and its bytes at a block's
	// first granules hold the number of its granules, 7 bits each, least
	// significant first, bit 7 set in all but the last.
	ConfigFilter = 1 << iota
	// ConfigSettled: blocks do not matter, whatever the verdicts: only Named counts.
	ConfigSettled
	// ConfigForget: calls of FuncWhole leave no record if all blocks that they take
	// and give stay closed.
	ConfigForget
	// ConfigBehind: the eight bytes behind a block are no other block's (glibc keeps the
	// size of the next one there): they are opened with it, since to write there is a fault.
	ConfigBehind
)

// A block is opened if any word of the stack that is captured at its allocation lies in
// Named, since one of the return addresses may. Else verdicts tell.
//
// A verdict is what the tracer knows of a return address: what it says of a block that
// is allocated further in, and how to get to the caller. Whether a block stays closed
// is found by a walk outwards through the frames of the call, as the tracer unwinds
// them; one of which nothing is known opens it. An entry's place is the upper bits of address ×
// VerdictHash, shifted right by VerdictShift and masked, or one of the
// VerdictProbes - 1 places behind it (cyclically). Address 0: free. The tracer
// writes the address last.
const (
	VerdictAddr   = 0  // u64: return address
	VerdictOffset = 8  // s32: of the canonical frame address (CFA) from Base; the caller's return address lies 8 bytes below
	VerdictBP     = 12 // s16: where the caller's rbp is saved, from the CFA; 0: it is in rbp still
	VerdictBase   = 14 // u8: BaseNone…
	VerdictSays   = 15 // u8: SaysOpen…
	VerdictSize   = 16
	VerdictHash   = 0x9e3779b97f4a7c15
	VerdictShift  = 32
	VerdictProbes = 8

	BaseNone    = 0 // the stack ends here
	BaseSP      = 1
	BaseBP      = 2
	BaseUnknown = 3 // the walk can not go on

	SaysOpen        = 1 << 0 // the block matters
	SaysClosed      = 1 << 1 // it does not
	SaysLeansOpen   = 1 << 2 // it matters, unless a frame further out knows better
	SaysLeansClosed = 1 << 3 // it does not, unless …; the innermost that leans counts
	SaysEnds        = 1 << 4 // frames further out know nothing better

	WalkFrames = 16 // so many frames are looked at
)

// Granule is how many bytes of memory share a byte of the shadow table.
const (
	GranuleShift = 4
	Granule      = 1 << GranuleShift
)

// A hook site descriptor.
const (
	SitePC     = 0  // u64: address of the instruction; of a system call: behind it
	SiteFlags  = 8  // u32
	SiteIndex  = 12 // u32: index in capture.Sites
	SiteStore  = 16 // u32: index of its store descriptor + 1; 0: none
	SiteAlloc  = 20 // u32: index of the allocator that is entered + 1
	SiteWriter = 24 // u32: index of the writer that is entered + 1
	SiteMember = 28 // u32: the argument that becomes a node (4 bits, from 1; 0: none), and its size in bytes
	// u8 × 8: of each register that passes an integer argument, in order, how many words are told of what it leads to, if that
	// lies on the thread's stack. 0: none. The seventh: not 0 where what the registers of floating-point arguments hold is told.
	SitePassed = 32
	SiteTexts  = 40 // u8 × 8: of each such register, probe.Func.Texts
	// s32 each: where in the frame of a function that is entered or left the variables lie that are blocks, from the stack
	// pointer there, half-open.
	SiteFrameLo = 48
	SiteFrameHi = 52
	SiteSize    = 56
)

// Of the text that an argument leads to.
const (
	TextHere = 0xff // SiteTexts: it is a pointer to text itself
	TextSize = 64   // so much is told, bytes
)

// Flags of a hook site, in the order in which they are acted on.
const (
	SiteStop        = 1 << iota // record the stop
	SiteStack                   // with the stack, unless inside another allocator
	SiteAllocEnter              // an allocator is entered
	SiteAllocLeave              // one is left
	SiteWriterEnter             // a writer is entered
	SiteWriterLeave             // one is left
	SiteTail                    // the leaving is a jump: the result is not there yet
	SiteReturn                  // the leaving is a RET
	SiteSyscall                 // a system call
	SiteHold                    // hold the thread when its record is whole
	SiteOrder                   // what follows happens after what another thread did: a stamp
	SiteFrameEnter              // a function is entered that has variables which are blocks
	SiteFrameLeave              // one is left
)

// A function descriptor. Arguments count from 1, 0: none.
const (
	FuncSkipLo = 0  // u64: a writer's calls from [SkipLo, SkipHi) are not recorded
	FuncSkipHi = 8  // u64
	FuncFixed  = 16 // u64: bytes
	FuncRole   = 24 // u8
	FuncExtent = 25 // u8: probe.Extent
	FuncFlags  = 26 // u8
	FuncPtr    = 27 // u8
	FuncDst    = 28 // u8
	FuncLen    = 29 // u8
	FuncCount  = 30 // u8
	FuncBytes  = 31 // u8: allocator: argument with the size
	FuncSize   = 32
)

// Roles of a function, as far as the routine tells them apart.
const (
	RoleBlock   = iota // returns a block
	RolePosix          // stores it through Ptr, result 0
	RoleStrdup         // its size is that of the string in it
	RoleRealloc        // takes the block Ptr too
	RoleFree           // ends the block Ptr
	RoleWriter
)

// Flags of a function.
const (
	FuncHides    = 1 << iota // stores inside this allocator are its own business
	FuncTraced               // stores of its file are recorded: its calls become windows (NoteQuiet)
	FuncDeclared             // an allocator of the program's own: its blocks may share granules
	FuncWhole                // an outermost call of it is one record, KindAlloc, and what it calls is none
	FuncAcquires             // a writer that takes a lock: its return needs a stamp
)

// A store descriptor, of a store that is Complex.
const (
	StoreDescDisp   = 0  // s64
	StoreDescIndex  = 8  // u32: index in the plan
	StoreDescWidth  = 12 // u16: bytes
	StoreDescLen    = 14 // u8: of the instruction
	StoreDescFlags  = 15 // u8
	StoreDescBase   = 16 // u8: registers as in ModRM, NoReg
	StoreDescIndexR = 17 // u8
	StoreDescScale  = 18 // u8
	StoreDescValue  = 19 // u8
	StoreDescShape  = 20 // u8: x86.Shape
	StoreDescSize   = 24

	NoReg = 0xff
)

// Flags of a store descriptor.
const (
	StoreDescRIP    = 1 << iota // Disp is relative to the next instruction
	StoreDescAddr32             // addresses have 32 bits
	StoreDescRep                // string with a rep prefix
	StoreDescAtomic             // conditional: whether it wrote shows in memory alone (CMPccXADD)
)

// The kinds of special records. Each begins with
//
//	+0   u32 Special + kind
//	+4   u32 size of the record
//	+8   u64 stamp
//	+16  u64 time stamp counter, at most ClockEvery - 1 records old
const (
	KindStop  = 1 // a function entry, return or point
	KindWrite = 2 // bytes that were written
	KindNote  = 3 // anything else, without bytes
	KindAlloc = 4 // an outermost call of an allocator that is FuncWhole, when it returns; of free when it is entered

	SpecialStamp = 8
	SpecialTime  = 16
)

// KindStop, followed by memory from the stack pointer upwards.
const (
	StopSite   = 24 // u32: index in capture.Sites
	StopFlags  = 28 // u32: StopNested
	StopPC     = 32 // u64
	StopSP     = 40 // u64
	StopResult = 48 // u64: rax
	StopBlock  = 56 // u64: what posix_memalign stored
	StopRegs   = 64 // u64 × 13: the word at SP; rdi rsi rdx rcx r8 r9; rbx rbp r12 r13 r14 r15
	StopSize   = 168

	StopNested = 1 // an allocator inside another: no stack
	StopWhole  = 2 // the site's allocators are told by KindAlloc
)

// A set of known stacks (capture.Path): where each begins, and what else must be as it was
// when the tracer unwound it. The tracer writes sets while the routine reads them: a path
// whose sequence number is odd, or has changed when all has been compared, is none.
const (
	PathKeys   = 0  // 4 × (u64 PC, u64 SP, u32 sequence number, u32 number of the stack, from 1)
	PathAt     = 96 // 4 × a path
	PathSize   = 504
	PathSet    = PathAt + 4*PathSize
	PathKey    = 24
	KeySP      = 8
	KeySeq     = 16
	KeyStack   = 20
	PathCounts = 0 // u16: registers (8 bits), words (8 bits)
	PathEnd    = 2 // u16: fewer bytes of stack than these are captured; 0: any number
	PathWant   = 8 // u64 × PathWords: the registers, then the words
	PathWhere  = PathWant + 8*PathWords
	PathWords  = 48 // where: u16 each, the register's ModRM number, the word's offset in the stack
)

// KindAlloc. If the stack is captured, AllocRegs follow and memory from the
// place of the return address upwards; else the record ends with AllocSize.
const (
	AllocFunc   = 24 // u32: index of the function
	AllocKnown  = 28 // u32: number of a known stack, which is not captured then; 0: none
	AllocRet    = 32 // u64: its return address
	AllocSP     = 40 // u64: where that lies
	AllocPtr    = 48 // u64: the block that it takes; 0 if none
	AllocBytes  = 56 // u64: requested
	AllocResult = 64 // u64: the block; 0: refused, or free
	AllocSize   = 72
	AllocRegs   = 72 // u64 × 6: rbx rbp r12 r13 r14 r15
	AllocStack  = 120
)

// KindWrite, followed by WriteBytes bytes, padded to a multiple of 4; by none
// if WriteUnread is set. A masked write is followed by the new bytes and as many
// old ones, and WriteBytes counts both.
const (
	WriteOp    = 24 // u32
	WriteFlags = 28 // u32
	WriteIndex = 32 // u32: store: index in the plan; bulk: of the function; system call: number
	WriteBytes = 36 // u32
	WritePC    = 40 // u64; bulk: the return address
	WriteSP    = 48 // u64
	WriteAddr  = 56 // u64: of the whole write
	WriteLen   = 64 // u64: of the whole write
	WriteBase  = 72 // u64
	WriteOff   = 80 // u64: of these bytes in the write
	WriteSize  = 88
)

// Operations of a KindWrite.
const (
	WriteStore = iota + 1
	WriteBulk
	WriteSyscall
	// WriteFound: these bytes lay there when they became part of a node, and what had
	// stored them was not recorded.
	WriteFound
	// WritePassed: these bytes lay on the thread's stack, or are text, when a watched function was entered with a pointer to them.
	WritePassed
)

// Flags of a KindWrite, as capture.HitFlags means them.
const (
	WriteLate = 1 << iota
	WriteMore
	WriteUnread
	WriteMasked
	WritePartial
)

// KindNote.
const (
	NoteOp    = 24 // u32
	NoteIndex = 28 // u32
	NotePC    = 32 // u64
	NoteSP    = 40 // u64
	NoteAddr  = 48 // u64
	NoteLen   = 56 // u64
	NoteBase  = 64 // u64
	NoteSize  = 72
)

// Operations of a KindNote.
const (
	NoteMap    = iota + 1 // Addr, Len
	NoteUnmap             // Addr, Len
	NoteBreak             // Addr: the new program break; Base: the one before
	NoteReturn            // function Index, which had jumped to another, returned Addr; Base as StopBlock
	NoteLost              // Len records could not be written
	NoteQuiet             // from here on stores to Len bytes at Addr are not wanted; none at all if Index is not 0
	NoteOrder             // nothing but its stamp
)
