package trace

import "strings"

// field is one field of an Event. Its number is part of the file format.
type field uint8

const (
	fieldNone field = iota
	fieldKind
	fieldThread
	fieldWall
	fieldFlags
	fieldPC
	fieldAddr
	fieldSize
	fieldBase
	fieldAux
	fieldSP
	fieldRet
	fieldName
	fieldStack
	fieldArgs
	fieldData
	fieldBytes // the bytes of fieldData, whose own column holds their lengths
	fieldRun   // how many stores a run has
	fieldInstant
	fieldInstants // of the stores of runs
	numFields
)

// fieldSpec describes a field: the name in the text form, and how its column
// is coded.
type fieldSpec struct {
	name, doc, coding string
}

// fieldSpecs is the table of fields. Read-only.
var fieldSpecs = [numFields]fieldSpec{
	fieldKind:     {"kind", "what happened", "one byte each, for all events of the block"},
	fieldThread:   {"thread", "the kernel's thread id; 0: none", "difference from the event before, for all events of the block"},
	fieldWall:     {"wall", "nanoseconds since recording began; -1: unknown", "difference from the event before, for all events of the block"},
	fieldFlags:    {"flags", "qualifiers, joined by a bar", "difference"},
	fieldPC:       {"pc", "the statement", "difference"},
	fieldAddr:     {"addr", "address", "difference"},
	fieldSize:     {"size", "bytes; left out of the text if it is the length of data", "size minus the length of data"},
	fieldBase:     {"base", "the base register or destination argument; 0: none", "0 for none, else 1 + zigzag(addr - base), unsigned"},
	fieldAux:      {"aux", "see the kind", "difference"},
	fieldSP:       {"sp", "stack address", "difference"},
	fieldRet:      {"ret", "result", "difference"},
	fieldName:     {"name", "a name or a reason", "index in the table of strings, unsigned"},
	fieldStack:    {"stack", "return addresses, innermost first", "index in the table of stacks, unsigned"},
	fieldArgs:     {"args", "integer arguments", "their number, then each, unsigned"},
	fieldData:     {"data", "bytes, in hexadecimal", "length, unsigned"},
	fieldBytes:    {"", "the bytes of data", "raw"},
	fieldInstant:  {"instant", "number of the instruction in the flow beside the trace, from 1; 0: none", "difference from the event before, for all events of the block"},
	fieldRun:      {"", "stores of a run", "for all runs of the block, unsigned"},
	fieldInstants: {"", "instants of the stores of runs", "difference from the store before, for all of the block"},
}

// kindRun stands in a block's column of kinds for a run of stores: it has a
// thread and a wall clock as every event has, and the number of its stores.
const kindRun = 255

// fieldSet is a set of fields.
type fieldSet uint32

func set(fs ...field) (s fieldSet) {
	for _, f := range fs {
		s |= 1 << f
	}
	return s
}

func (s fieldSet) has(f field) bool { return s&(1<<f) != 0 }

// kindSpec describes a kind of event. All have thread, wall, instant, flags and pc.
type kindSpec struct {
	name, doc string
	fields    fieldSet
}

// kindSpecs is the one table of kinds, from which writer, reader, text form
// and docs/trace-format.md come. A kind's number is part of the file format.
// Read-only.
var kindSpecs = [NumKinds]kindSpec{
	KindStore:       {"store", "one instruction wrote data at addr", set(fieldAddr, fieldSize, fieldBase, fieldData)},
	KindBulk:        {"bulk", "a library function (name) wrote data at addr", set(fieldAddr, fieldSize, fieldBase, fieldName, fieldData)},
	KindSyscall:     {"syscall", "a system call (aux: its number) wrote data at addr", set(fieldAddr, fieldSize, fieldBase, fieldAux, fieldName, fieldData)},
	KindUnread:      {"unread", "size bytes at addr were written, with what could not be read (name: why, or the writer)", set(fieldAddr, fieldSize, fieldBase, fieldName)},
	KindImage:       {"image", "memory at addr held data when recording began, when it was first touched, when it was about to be part of a node, or when an allocator of the program's own gave it out", set(fieldAddr, fieldSize, fieldData)},
	KindAlloc:       {"alloc", "an allocator (name) returned size bytes at addr", set(fieldAddr, fieldSize, fieldName, fieldStack)},
	KindFree:        {"free", "addr was freed (name: by what)", set(fieldAddr, fieldName, fieldStack)},
	KindRealloc:     {"realloc", "the block at aux became size bytes at addr", set(fieldAddr, fieldSize, fieldAux, fieldName, fieldStack)},
	KindRefused:     {"refused", "an allocator (name) returned NULL for size bytes (aux: realloc's block, which lives on)", set(fieldSize, fieldAux, fieldName, fieldStack)},
	KindMap:         {"map", "size bytes at addr were mapped by the program", set(fieldAddr, fieldSize)},
	KindUnmap:       {"unmap", "size bytes at addr were unmapped", set(fieldAddr, fieldSize)},
	KindCall:        {"call", "a watched function (aux) was entered; sp: address of its return address; args: its first integer arguments", set(fieldAux, fieldSP, fieldArgs)},
	KindReturn:      {"return", "a watched function (aux) was left; sp as at its call; ret: its result", set(fieldAux, fieldSP, fieldRet)},
	KindLine:        {"line", "a watched line or boundary of an inlined instance (aux) was reached; sp, of an instance: the word below the return address of the frame that it is in, 0 if not known", set(fieldAux, fieldSP)},
	KindThreadStart: {"thread-start", "the thread began", set(fieldAux)},
	KindThreadExit:  {"thread-exit", "the thread ended", set(fieldAux)},
	KindFork:        {"fork", "a child process (aux) was forked, which runs on untraced; shares: with the program's memory, until it executes another program", set(fieldAux)},
	KindBegin:       {"begin", "the history begins here, after size events that are not in it (name: why). Blocks and calls that were there precede it, flagged before; aux: how many blocks are not among them", set(fieldSize, fieldAux, fieldName)},
	KindCease:       {"cease", "the history ends here by request (name: why); what follows only says how the program ended", set(fieldName)},
	KindExec:        {"exec", "the program replaced itself (name: by what): this history ends here", set(fieldAux, fieldName)},
	KindSignal:      {"signal", "a fatal or reporting signal (aux) at pc, fault address addr; args: what the registers held, by their DWARF numbers from 0 to 15, and the flags; data: size bytes of the thread's stack at base, from below sp on, or in the next page if there is none at sp; none where that is not known, and in older traces", set(fieldAddr, fieldSize, fieldBase, fieldAux, fieldSP, fieldName, fieldStack, fieldArgs, fieldData)},
	KindExit:        {"exit", "the process ended; aux: its wait status", set(fieldAux)},
	KindLost:        {"lost", "size events of the thread (0: any) were lost here", set(fieldSize, fieldName)},
	KindTruncated:   {"truncated", "recording ended before the program did (name: why)", set(fieldName)},
	KindGlobal:      {"global", "a declared object (aux) lies at addr with size bytes; data: its bytes at the start", set(fieldAddr, fieldSize, fieldAux, fieldName, fieldData)},
	KindAround:      {"around", "the instruction at pc is about to write, or to call what writes; stack: behind its first byte, then the calls around it", set(fieldStack)},
	KindPassed:      {"passed", "memory on the thread's stack, or text elsewhere, at addr held data when the watched function of its next call was entered: an argument leads there; addr 0: what the registers of floating-point arguments held, 8 bytes of each; addr 1: what the registers held where the inlined call of its next line begins, 8 bytes of each, by their DWARF numbers, 0 for r10 and r11, PC behind them, and then what lay on the stack from the stack pointer on", set(fieldAddr, fieldSize, fieldData)},
	KindMemory:      {"memory", "memory at addr held data when the program was held at its crash or end, for an audit; size 0: that was all", set(fieldAddr, fieldSize, fieldData)},
	KindQuiet:       {"quiet", "calls of functions that nobody named are not told from here on; those that were open are told as unwound", 0},
	KindHeld:        {"held", "the thread was at pc when the recording was about to end the program (name: why); args: what may be pointers of what registers and the stack held in its innermost call of the program's own; none in older traces", set(fieldName, fieldStack, fieldArgs)},
	KindWild:        {"wild", "when the program was held at its crash, the word at addr was data: near what a register of the thread held that leads to no memory, or near an address of such a word or of another register", set(fieldAddr, fieldSize, fieldData)},
}

// common are the fields that every kind has.
const common = fieldSet(1<<fieldThread | 1<<fieldWall | 1<<fieldInstant | 1<<fieldFlags | 1<<fieldPC)

// flagNames are the names of the flags by bit. Read-only.
var flagNames = [...]string{"zeroed", "atomic", "partial", "rmw", "late", "inline", "unwound", "handled", "before", "exchange", "shares"}

// String returns the kind's name in the text form.
func (k Kind) String() string {
	if k.valid() {
		return kindSpecs[k].name
	}
	return "none"
}

func (k Kind) valid() bool { return k != KindNone && k < kindEnd }

// kindNamed returns the kind of that name.
func kindNamed(name string) (Kind, bool) {
	for k := KindNone + 1; k < kindEnd; k++ {
		if kindSpecs[k].name == name {
			return k, true
		}
	}
	return KindNone, false
}

// String joins the names of the flags by "|".
func (f Flags) String() string {
	var b strings.Builder
	for i := range 16 {
		if f&(1<<i) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('|')
		}
		if i < len(flagNames) {
			b.WriteString(flagNames[i])
		} else {
			b.WriteString("bit")
			b.WriteString(string([]byte{'0' + byte(i/10), '0' + byte(i%10)}))
		}
	}
	return b.String()
}

// parseFlags is the inverse of Flags.String.
func parseFlags(s string) (Flags, bool) {
	var f Flags
	for name := range strings.SplitSeq(s, "|") {
		bit := -1
		for i := range 16 {
			if Flags(1<<i).String() == name {
				bit = i
			}
		}
		if bit < 0 {
			return 0, false
		}
		f |= 1 << bit
	}
	return f, true
}
