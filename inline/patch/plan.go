package patch

import "fmt"

// Range is half-open, [Lo, Hi), of addresses in the process.
type Range struct{ Lo, Hi uint64 }

// Code is one contiguous executable mapping.
type Code struct {
	Addr  uint64 // in the process
	Bytes []byte // what the program's file has there; not modified
	// Funcs holds instructions; what lies outside is data or unknown, and is
	// neither changed nor made a victim. Sorted and disjoint.
	Funcs []Range
	// Pinned are addresses that control may reach although no direct branch of
	// the code leads there. The instruction there keeps its bytes, and so
	// do those behind it until the sweep is met again.
	Pinned []uint64
}

func (c *Code) end() uint64 { return c.Addr + uint64(len(c.Bytes)) }

// Site is an instruction to patch.
type Site struct {
	Addr uint64
	Len  int // bytes of the instruction
	ID   int // what the emitter knows it by
}

// Emitter makes the code for a site. Several goroutines use it at once.
type Emitter interface {
	// Size is an upper bound for the bytes that Emit appends, wherever they are
	// placed: so much room they get. An error says why there can be none; else Emit
	// fails nowhere in reach of what the instruction refers to.
	Size(site int) (int, error)
	// Emit appends the trampoline for the site (payload, displaced instruction,
	// jump to the next instruction) as placed at address at. It must append
	// the same bytes whenever it is asked the same.
	Emit(buf []byte, site int, at uint64) ([]byte, error)
	// Span is the bytes of the code that the trampoline stands for: those of the
	// instruction, or of several that are executed one after the other, the
	// site's first, if no conditional jump among them leads away. It jumps back
	// behind them, and to where those lead, which is Near. The last one may be a
	// jump or a return: then it goes there.
	Span(site int) int
}

// Tactic is how control gets from a site to its trampoline.
type Tactic uint8

// The tactics, cheapest first.
const (
	Refused Tactic = iota // not at all
	B1                    // jump over five or more bytes of the instruction
	B2                    // punned jump
	T1                    // punned jump behind prefixes
	T2                    // pun over an evicted successor
	T3                    // short jump to the tail of an evicted neighbour, or to dead bytes
	Trap                  // breakpoint
	NumTactics
)

var tacticNames = [NumTactics]string{"refused", "B1", "B2", "T1", "T2", "T3", "trap"}

func (t Tactic) String() string {
	if t < NumTactics {
		return tacticNames[t]
	}
	return fmt.Sprintf("Tactic(%d)", uint8(t))
}

// Plan is what is to be done to a process.
type Plan struct {
	Patches     []Patch      // sorted, disjoint
	Trampolines []Trampoline // sorted, disjoint
	Traps       []Breakpoint // sorted
	Refusals    []Refusal
	TacticOf    []Tactic // per site, as given to Make
	Tactics     [NumTactics]int
	Evicted     int // instructions that are no sites and have trampolines
	Hops        int // jumps to trampolines that did not fit where the pun leads
	Pages       int // pages of 4096 bytes that hold trampolines
}

// Patch replaces bytes of the code; each byte differs.
type Patch struct {
	Addr     uint64
	New, Old []byte // as long as each other; Old is part of Code.Bytes
}

// Trampoline is code at a free address.
type Trampoline struct {
	Addr  uint64
	Bytes []byte
	Site  int    // Site.ID; Evicted for an instruction that is no site
	Of    uint64 // address of the instruction that it stands for
	Hop   bool   // only a jump to the trampoline of the same instruction
}

// Evicted is the Site of a trampoline that stands for no site.
const Evicted = -1

// Breakpoint is an int3 of the plan; it is among the patches too.
type Breakpoint struct {
	Addr       uint64 // of the int3
	Site       int    // Site.ID
	Trampoline uint64 // where to go on
}

// Refusal is a site that stays as it is.
type Refusal struct {
	Site   int // Site.ID
	Addr   uint64
	Reason error
}
