package mgpp

import (
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// Timestamp counts operations from 1. 0 is the time before the first.
type Timestamp uint64

// NodeID names a node for ever: freed nodes stay, IDs are not reused. 0: none.
type NodeID uint32

// OpKind says what an operation did.
type OpKind uint8

// The operations (algorithms.md, section 1).
const (
	OpNone OpKind = iota
	OpStore
	OpBulk // library function or system call: one operation with its extent
	OpBirth
	OpDeath
	OpResize // realloc in place
	OpMove   // realloc that moved: the death of Node, the birth of Other with the bytes carried over; ONE operation
	OpEnter  // a watched function made Addr a member (intrusive membership); see Mark
	OpLeave
	OpUnread // bytes changed to what nobody knows
)

// Op is one operation of the history.
type Op struct {
	Time    Timestamp
	Kind    OpKind
	Thread  trace.ThreadID
	PC      trace.Addr    // its statement
	Wall    int64         // nanoseconds, as in trace.Event
	Instant trace.Instant // of its instruction; 0: not known
	Addr    trace.Addr
	Size    uint64
	Base    trace.Addr
	Flags   trace.Flags
	Node    NodeID       // the node that it hit, was born, died or was resized; 0 if none
	Other   NodeID       // OpMove: the new node; a stray write (Node is 0): the dead node that it hit, else the node beside it, else that of its base
	Name    string       // bulk writer or allocator, else ""
	Mark    int          // OpEnter, OpLeave: the caller's own number (index of the directive)
	Stack   []trace.Addr // OpBirth, OpDeath, OpMove, and a write whose event has one: return addresses, innermost first; shared, read-only
}

// Node is one block of memory during its life [Birth, Death).
type Node struct {
	ID     NodeID
	Start  trace.Addr
	Size   uint64 // at its last resize up to the time asked for
	Birth  Timestamp
	Death  Timestamp      // 0: alive at the end of the history
	Global trace.GlobalID // not 0: an object in static memory
	Moved  NodeID         // realloc: the node that it was before, 0 if none
	Alloc  string         // allocator's name
	Stack  []trace.Addr   // of its birth, innermost first; shared, read-only
	Before bool           // it was there before the history began: Birth is 0, or when it was found
	// Tracked: no block, but a range that was entered or tracked where no
	// block is (static memory, a stack).
	Tracked bool
	Arena   bool // tracked memory in which an allocator has its blocks; see Options.Arenas
}

// Resize is a change of a node's size in place.
type Resize struct {
	Time      Timestamp
	Was, Size uint64 // bytes, before and from then on
}

// Bytes is the content of a memory range at a time.
type Bytes struct {
	Data    []byte
	Written []bool    // false: never written since the node's birth (calloc writes 0), or unknown after OpUnread; len(Data)
	Newest  Timestamp // newest version among the bytes; 0 if none was written
}

// View is the memory graph at one time: what constraints are evaluated on. It
// is implemented by History.At and by overlays (what if this operation had not
// happened; what if this cell held that value).
type View interface {
	Time() Timestamp
	// Node returns the node if it is alive in the view.
	Node(NodeID) (Node, bool)
	// NodeAt returns the live node that contains addr.
	NodeAt(addr trace.Addr) (NodeID, bool)
	// Read fills b for [addr, addr+len(b.Data)). It reports false if the
	// range is not wholly inside one live node.
	Read(addr trace.Addr, b *Bytes) bool
	// Target resolves a pointer cell of 8 bytes at addr to the node that its
	// value pointed into when it was stored.
	Target(addr trace.Addr, as coded.Pointer) Target
}

// Target is what a pointer cell leads to.
type Target struct {
	State  TargetState
	Value  uint64    // the pointer, decoded; valid unless Unwritten
	Node   NodeID    // State Points and Dangling: the node meant
	Offset uint64    // bytes into that node
	Reused NodeID    // Dangling: the node that lives at the address now, 0 if none
	Since  Timestamp // when the value was stored: its newest byte, before any realloc that moved it
	Past   NodeID    // Wild: the node whose end the value is, or which shrank below it; 0 if none
}

// TargetState classifies a pointer cell.
type TargetState uint8

const (
	Unwritten TargetState = iota // never written or partly written
	Null
	Points   // into a live node
	Dangling // into a node that has died since, or had died when the value was stored
	Wild     // to nothing that was ever known to be a node at that time
)
