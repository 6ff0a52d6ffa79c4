package trace

import "time"

// The engines that record, by the names that they have everywhere.
const (
	EngineInline = "inline" // inside the process
	EngineKernel = "ebpf"
	EngineStep   = "step" // instruction by instruction: it tells all of them
	// EngineTranslate runs translations of the program's code, which tell all of them
	// thousands of times faster.
	EngineTranslate = "translate"
)

// Program describes what was recorded: everything that an analysis needs
// besides the events. It is stored in the trace (as JSON, in its own block)
// and completed by a Trailer when recording ends.
type Program struct {
	Path     string     `json:"path"`
	Args     []string   `json:"args,omitempty"`
	PID      int        `json:"pid"`
	Engine   string     `json:"engine"` // EngineInline, …
	Kernel   string     `json:"kernel"`
	Began    string     `json:"began"` // RFC 3339
	Modules  []Module   `json:"modules"`
	Funcs    []Func     `json:"funcs,omitempty"`
	Points   []Point    `json:"points,omitempty"`
	Globals  []Global   `json:"globals,omitempty"`
	Unprobed []Unprobed `json:"unprobed,omitempty"`
	Sites    int        `json:"sites"` // probed store sites
	Warnings []string   `json:"warnings,omitempty"`
	Notes    []string   `json:"notes,omitempty"`
	// Granted is a traced file that asks how much of its blocks it may use beyond what it asked
	// for (malloc_usable_size); "": none does.
	Granted string  `json:"granted,omitempty"`
	Inside  bool    `json:"inside,omitempty"` // what the C library's allocator writes into its own memory was captured
	Before  *Before `json:"before,omitempty"` // nil: recorded from the program's start
	// Flow names the executed instructions that lie beside the trace (package flow).
	Flow string `json:"flow,omitempty"`
	Last *Last  `json:"last,omitempty"` // nil: nothing of the history was dropped to save room
	// Inferred says that the blocks are not those of the program's allocators, but were
	// found in a recording of its instructions; nil: they are.
	Inferred *Inferred `json:"inferred,omitempty"`
}

// Last says that only the newest part of the history was kept.
type Last struct {
	Bytes int64  `json:"bytes"` // that the trace may take on disk, at any time
	Ring  string `json:"ring"`  // of its segments
}

// Inferred says of what, and how, blocks were found.
type Inferred struct {
	Version    int      `json:"version"`              // of what is told of them
	Flow       string   `json:"flow"`                 // Program.Flow of that recording
	Allocators []string `json:"allocators,omitempty"` // functions that were left out
	Heap       []string `json:"heap,omitempty"`       // objects in static memory that were taken for heap
}

// Segment begins a part of the history that can be understood without what came
// before.
type Segment struct {
	Ring   string `json:"ring"`
	Number int    `json:"number"` // from 1, without gaps
}

// Before is what recording found in a program that ran already. The blocks
// themselves are events: KindAlloc with FlagBefore, KindImage.
type Before struct {
	Blocks int    `json:"blocks"`
	Bytes  uint64 `json:"bytes"`
	// Unknown says why there may be other blocks that are not known; "": there
	// are none.
	Unknown string `json:"unknown,omitempty"`
	Roots   []Root `json:"roots,omitempty"`
}

// Root is a block to which a typed pointer in static memory or on a stack led
// when recording began.
type Root struct {
	Addr Addr   `json:"addr"`
	Type string `json:"type"` // that the pointer points to
}

// Module is one mapped ELF file. A virtual address v of the file is at
// Bias + v in the process.
type Module struct {
	Path    string `json:"path"`
	BuildID string `json:"build_id,omitempty"` // hex
	Bias    Addr   `json:"bias"`
	Lo      Addr   `json:"lo"` // half-open range of the mapped image
	Hi      Addr   `json:"hi"`
	Traced  bool   `json:"traced"` // its stores were planned for capture
	// File names the attachment of the trace that holds the ELF file; Debug is
	// what the names of those with its debug files begin with. "": none travel.
	File  string `json:"file,omitempty"`
	Debug string `json:"debug,omitempty"`
}

// Func is a watched function: its calls and returns are KindCall/KindReturn.
type Func struct {
	Name     string `json:"name"` // demangled
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	NoReturn bool   `json:"no_return,omitempty"` // its exit could not be probed (reason in Program.Warnings)
	Beside   bool   `json:"beside,omitempty"`    // nobody named it: watched because its calls help to locate a fault, up to KindQuiet
	End      bool   `json:"end,omitempty"`       // the C library's exit: with its call the program's normal end begins
}

// Exits reports whether an event is a call of the C library's exit, by which the program ends as it should.
func (p *Program) Exits(ev *Event) bool {
	return p != nil && ev.Kind == KindCall && ev.Aux > 0 && ev.Aux <= uint64(len(p.Funcs)) && p.Funcs[ev.Aux-1].End
}

// Point is a watched source line, C-POINT mark, or boundary of an inlined
// instance of a watched function.
type Point struct {
	Kind     string `json:"kind"` // "line", "mark", "inline-entry", "inline-exit"
	Function string `json:"function,omitempty"`
	Func     FuncID `json:"func,omitempty"` // inline-*: the function it is an instance of
	File     string `json:"file"`
	Line     int    `json:"line"`
	For      string `json:"for,omitempty"` // mark: the type it names
	At       Addr   `json:"at,omitempty"`  // inline-*: where it is; 0 of an instance of which not every exit is known
}

// Global is an object in static memory that is a node from the start.
type Global struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Addr Addr   `json:"addr"`
	Size uint64 `json:"size"`
}

// Unprobed is a store site that is not captured.
type Unprobed struct {
	PC          Addr   `json:"pc"`
	Instruction string `json:"instruction"`
	Reason      string `json:"reason"`
}

// Trailer is what is known only when recording ends. A trace without one was
// cut off: it is incomplete.
type Trailer struct {
	Hits      uint64 `json:"hits"`      // what the engine counted in the kernel or process
	Delivered uint64 `json:"delivered"` // events that reached the trace or were filtered by rule
	Dropped   uint64 `json:"dropped"`
	Stops     uint64 `json:"stops"` // times the program was held back
	Complete  bool   `json:"complete"`
	Why       string `json:"why,omitempty"` // why it is not complete
	// Coverage tells how stores were caught; nil: the engine does not tell.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Audit is the comparison of the history with real memory at the end.
	Audit   *Audit   `json:"audit,omitempty"`
	Modules []Module `json:"modules,omitempty"` // the final map, dlopen'd modules included
	// Warnings are those that Program.Warnings does not have: of what was seen while it ran.
	Warnings []string `json:"warnings,omitempty"`
	// Shared are files that the program has mapped shared while it ran, at most a few.
	Shared []Shared `json:"shared,omitempty"`
	// Own tells of the threads' last time; nil: it was not looked at.
	Own *Own `json:"own,omitempty"`
}

// Shared is a file that is memory of the program, as a data base may be: what lies there is no block of an allocator.
type Shared struct {
	Path string `json:"path"`
	Size uint64 `json:"size"` // of the mapping, bytes
}

// OwnTime is more than an operation takes that nothing keeps from going on.
const OwnTime = 500 * time.Millisecond

// Own says for each thread that was there at the end when the last time began in which it had OwnTime for itself, as
// Event.Wall: it waited neither for a processor nor for mgtrace. One that is missing had not as much.
type Own struct {
	Since map[ThreadID]int64 `json:"since"`
}

// Coverage tells how an engine inside the process caught stores. A jump costs a few
// nanoseconds, a trap microseconds.
type Coverage struct {
	Stores  uint64   `json:"stores"`  // that were caught
	Traps   uint64   `json:"traps"`   // by a trap, of whatever site
	Tactics []Tactic `json:"tactics"` // how many sites were probed in which way
}

// Tactic counts the sites that are probed in one way.
type Tactic struct {
	Name  string `json:"name"`
	Sites int    `json:"sites"`
}

// Audit compares the history with memory (algorithms.md, "Audit").
type Audit struct {
	Nodes      int      `json:"nodes"`
	Bytes      uint64   `json:"bytes"`
	Unseen     []Unseen `json:"unseen,omitempty"`     // at most a few hundred, in address order
	Total      uint64   `json:"total"`                // bytes that differ
	Unreadable uint64   `json:"unreadable,omitempty"` // bytes that could not be read
}

// Unseen is a range whose bytes in memory are not those of the history: some
// write to it was not seen. It is never a suspect.
type Unseen struct {
	Addr Addr   `json:"addr"`
	Have []byte `json:"have"` // memory
	Want []byte `json:"want"` // history
}
