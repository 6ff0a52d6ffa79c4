package layout

// The thread block: GS's base. The trampolines reach it as gs:[offset]. Only the
// thread that owns it writes it, and the tracer while that thread is stopped (but for
// Next and its kin).
const (
	Cursor   = 0x00 // address where the next record begins
	Scratch0 = 0x08 // registers that a trampoline uses are kept here
	Scratch1 = 0x10
	Scratch2 = 0x18
	Scratch3 = 0x20
	Address  = 0x28 // what the record of a store that changes its address register has as address
	End      = 0x30 // first byte behind the current buffer: the guard page
	Process  = 0x38 // address of the process block
	Thread   = 0x40 // u32: thread id as the kernel knows it
	Quiet    = 0x44 // u32: not 0 once calls of functions that nobody named are not told any more; the tracer writes it at any time
	HookSP   = 0x48 // top of the thread's hook stack, 16-byte aligned
	SavedSP  = 0x50 // the program's stack pointer while a hook runs
	Flags    = 0x58 // RAX as lahf; seto al left it
	// HookEntry is the address of the hook routine.
	HookEntry = 0x60
	Value     = 0x68 // a register as it was before a store that changes it
	Stamp     = 0x70 // the stamp of the record that is being written
	// Since (u64) is not 0 from before an instruction whose record has the old value until that
	// record is whole: a stamp taken before it.
	Since = 0x78
	Hook  = 0x80 // … BlockSize: what the hook routine keeps for itself

	BlockSize = 0x1000
	HookStack = 0x4000 // bytes of hook stack, right behind the block
	// Guard is the unmapped or unreadable room behind each buffer. A
	// trampoline's record is shorter; the hook routine looks before it writes.
	Guard = 0x1000
)

// LogAhead is how far behind the record that is being written the log is fetched, bytes. A
// reader that is late has the thread write where it has not been for megabytes, and each
// line of the log would be waited for. It never faults, whatever lies there.
const LogAhead = 1024

// The process block, shared by all threads.
const (
	Order = 0x00 // u64: the last stamp given out; only ever incremented
	// Many (u64) is not 0 once a second thread is about to run: from then on Order is
	// incremented with LOCK, which waits until all that the thread has stored before
	// is in its cache. The tracer increments it only then.
	Many = 0x08
	// Config (u64): ConfigFilter…
	Config = 0x40
	// Shadow is where the shadow table begins, as seen by [index + Shadow32].
	Shadow = 0x48
	// Funcs: array of Func descriptors for the hook routine, FuncSize each.
	Funcs = 0x50
	Sites = 0x58 // array of hook site descriptors

	ProcessSize = 0x1000
)

// A record begins with its tag, a u32. Below Special it is the record of a
// store: the lowest WordsBits bits are its size in words of 4 bytes, so that who
// reads finds the next record without looking anything up, and above them is
// the index of the store in the plan, up to MaxStore. Otherwise the tag is
// Special + kind, followed by a u32 with the size of the whole record.
const (
	Special   = 0x8000_0000
	WordsBits = 5
	Words     = 1<<WordsBits - 1 // the mask of the size
	MaxStore  = Special>>WordsBits - 1
)

// Tag is the tag of the record of a store, which has size bytes.
func Tag(index, size int) uint32 { return uint32(index)<<WordsBits | uint32(size)/4 }

// A store's record:
//
//	+0   u32 Tag
//	+4   u64 effective address, or the value of the base register if FromBase: the
//	     address is Disp behind it
//	+12  the value: Width bytes, padded to the sizes below
//	then u64 value of the base register, if the address has one and it does not
//	follow from it (PartsOf)
//	then u64 stamp (Order after the increment), only if the store is locked
//	or exchanges: taken behind it; or always in strict order: before it. Its
//	highest byte is ClosedStamp if the store itself is not wanted, else 0
//	then u64 RAX as lahf; seto al left it, only for ShapeCond (zero flag: bit 14)
//	then u64 stamp taken before the store, and u64 register whose low bytes are what was
//	there before, only if it is locked or exchanges and leaves that in a register
//
// The padded width is 4 for 1, 2 and 4 bytes, 8 for 8, 12 for 10, else the width.
// So every part has a multiple of four bytes, and so has every record.
const (
	StoreAddr  = 4
	StoreValue = 12
)

// ClosedStamp is the highest byte of a stamp in the record of a store to a closed granule, and
// what the shadow table has there less than for an open one.
const ClosedStamp = -4

// Stamped returns a stamp from its word in a store's record, and whether the store is wanted.
func Stamped(word uint64) (stamp uint64, wanted bool) {
	const low = 1<<56 - 1
	return word & low, word <= low
}

// PaddedWidth is the room that a value of width bytes takes in a store's record.
func PaddedWidth(width int) int {
	if width < 4 {
		return 4
	}
	return (width + 3) &^ 3
}

// StoreParts says what a store's record holds beside address and value.
type StoreParts struct {
	Base, Stamp, Flags bool
	Old                bool // what was there before, and a stamp of before
	FromBase           bool // the address is told by the base register: nothing is computed for it
}

// StoreSize is the size of a store's record.
func StoreSize(width int, p StoreParts) int {
	n := StoreValue + PaddedWidth(width)
	for _, part := range []bool{p.Base, p.Stamp, p.Flags, p.Old, p.Old} { // the last are two
		if part {
			n += 8
		}
	}
	return n
}
