package report

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// Version of the JSON form.
const Version = 1

// Report is the outcome of one analysis.
type Report struct {
	Version  int      `json:"version"`
	Program  string   `json:"program"`
	Engine   string   `json:"engine"`
	Complete bool     `json:"complete"`
	Why      []string `json:"incomplete_because,omitempty"` // why Complete is false
	Begins   *Begins  `json:"history_begins,omitempty"`     // nil: with the program
	Events   Events   `json:"events"`
	// Coverage tells how stores were caught; nil: the engine does not tell.
	Coverage *Coverage `json:"coverage,omitempty"`
	Exit     *Exit     `json:"exit"` // nil: the program's end was not seen
	Stopped  *Stopped  `json:"stopped,omitempty"`
	CPoints  []CPoint  `json:"cpoints"`
	Checked  Checked   `json:"checked"`
	Audit    *Audit    `json:"audit,omitempty"`
	// Followed tells how much was looked at for where addresses came from; nil: that
	// was not done.
	Followed *Followed `json:"followed,omitempty"`
	Unprobed []Place   `json:"unprobed,omitempty"` // stores that were not captured
	Warnings []string  `json:"warnings,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // facts that are no cause for concern

	Sources []SourceFile `json:"-"` // for a page
}

// Begins is where a history begins that is not there from the program's start.
// What is older can not be a suspect.
type Begins struct {
	Seconds *float64 `json:"seconds,omitempty"` // after the program's start, if known
	Event   uint64   `json:"event"`             // events that are not in it
	Why     string   `json:"why"`
}

// Events counts what was captured.
type Events struct {
	Delivered     uint64 `json:"delivered"`
	Dropped       uint64 `json:"dropped"`
	UnprobedSites int    `json:"unprobed_sites"`
	Sites         int    `json:"sites"`
	Changes       uint64 `json:"changes"`
	Stops         uint64 `json:"stops"` // times the program was held back so that nothing was lost
}

// Coverage tells how the engine inside the process caught stores: by jumps, which
// cost a few nanoseconds, or by traps, which cost microseconds.
type Coverage struct {
	Stores  uint64   `json:"stores"` // that were caught
	Traps   uint64   `json:"traps"`  // by a trap
	Tactics []Tactic `json:"tactics"`
}

// Tactic counts the sites that were probed in one way: a kind of jump (B1, B2, T1, T2,
// T3; see docs/design/inline.md), or trap.
type Tactic struct {
	Name  string `json:"name"`
	Sites int    `json:"sites"`
}

// Exit is how the program ended: by Status or by Signal.
type Exit struct {
	Status *int   `json:"status,omitempty"`
	Signal string `json:"signal,omitempty"`
	// Handled is the fault that the program had handled, "SIGSEGV", and after which it did no more than end: what follows tells of that.
	Handled string `json:"handled,omitempty"`
	File    string `json:"file,omitempty"` // Signal: where, if known
	Path    string `json:"path,omitempty"` // File with its directories
	Line    int    `json:"line,omitempty"`
	Where   string `json:"where,omitempty"` // Signal: "function+0x12" if there is no line
	Held    string `json:"held,omitempty"`  // mgtrace ended it: "timeout", "interrupt"

	Threads     []Thread   `json:"threads,omitempty"`     // Held: where they were, as far as known
	Instruction string     `json:"instruction,omitempty"` // Signal: that which could not be executed, in Intel syntax, if known
	Registers   []Register `json:"registers,omitempty"`   // Signal: what they held, if known
	StackFull   bool       `json:"stack_full,omitempty"`  // it found no memory where its stack was to go on
}

// Thread is where a thread was when mgtrace ended the program: its innermost statement of the program's own.
type Thread struct {
	Thread uint32 `json:"thread"` // the kernel's number
	Place
	Callers []Place `json:"callers,omitempty"` // innermost first
}

// Register is a general register, or the flags, and what it held.
type Register struct {
	Name  string `json:"name"`
	Value string `json:"value"`           // hexadecimal
	Leads string `json:"leads,omitempty"` // to that node, and so far behind its start: "node#3+8"
	Read  bool   `json:"read,omitempty"`  // by the instruction
}

// Stopped is a program that waits, stopped, at its first inconsistent C-point.
type Stopped struct {
	PID      int    `json:"pid"`
	Debug    string `json:"debug"`    // the command that looks at it
	Continue string `json:"continue"` // the command that lets it go on
}

// Checked counts the C-points at which the specification was checked.
type Checked struct {
	CPoints int            `json:"cpoints"`
	Partly  int            `json:"partly"`        // of these, where something was not judged: another thread was inside, and had changed it
	Spec    string         `json:"specification"` // "": memory faults only
	Objects map[string]int `json:"objects,omitempty"`
}

// Followed counts what addresses were followed through.
type Followed struct {
	Instructions uint64 `json:"instructions"`
	Blocks       int    `json:"blocks"` // of the heap
}

// Audit is the comparison of the history with real memory.
type Audit struct {
	Nodes      int      `json:"nodes"`
	Bytes      uint64   `json:"bytes"`
	Unseen     uint64   `json:"unseen_bytes"`
	Unreadable uint64   `json:"unreadable_bytes,omitempty"`
	Where      []string `json:"where,omitempty"`
	// Libraries are those of which no store was captured, the C library and its kin apart: it may have been one of them.
	Libraries []string `json:"libraries,omitempty"`
}

// CPoint is one consistency point with what is inconsistent there.
type CPoint struct {
	Kind            string          `json:"kind"`            // crash, exit, entry, return, line
	Fault           string          `json:"fault,omitempty"` // Kind line: a memory fault of that statement ("use after free"), or Circle; Kind crash: Crash, where nothing is inconsistent
	Core            bool            `json:"-"`               // Kind crash: as a core file has it
	Function        string          `json:"function"`
	File            string          `json:"file"`
	Line            int             `json:"line"`
	Timestamp       uint64          `json:"timestamp"`
	Call            int             `json:"call,omitempty"`
	Temporary       bool            `json:"possibly_temporary,omitempty"`
	Inconsistencies []Inconsistency `json:"inconsistencies"`
	Suspects        []Suspect       `json:"suspects"`
	Pictures        []string        `json:"pictures,omitempty"`
	Notes           []string        `json:"notes,omitempty"`
	Steps           []Step          `json:"steps,omitempty"`  // what led to it
	Path            string          `json:"path,omitempty"`   // File with its directories
	Film            *Film           `json:"-"`                // for a page
	Access          *Access         `json:"access,omitempty"` // a memory fault that was found by where its address came from
}

// Access is one access to memory that left what its address was of.
type Access struct {
	Write     bool       `json:"write"` // else it read
	Addr      string     `json:"address"`
	Size      uint64     `json:"size"`     // bytes
	Distance  int64      `json:"distance"` // of its last byte behind the end, from 1; below 0: of its first in front of the start
	Times     uint64     `json:"times"`
	Instant   uint64     `json:"instant"`         // of the executed instruction
	By        string     `json:"by,omitempty"`    // function of a library, or system call
	Through   HeapBlock  `json:"through"`         // the block that the address was of
	Hit       *HeapBlock `json:"hit,omitempty"`   // the block that was hit, nil: none
	Field     string     `json:"field,omitempty"` // that the address was of, and that was left
	FieldSize uint64     `json:"field_size,omitempty"`
}

// HeapBlock is a block of the heap in its life.
type HeapBlock struct {
	Addr      string `json:"address"`
	Size      uint64 `json:"size"`
	Allocated Place  `json:"allocated"`
	Resized   *Place `json:"resized,omitempty"` // by a realloc that left it in its place
	Freed     *Place `json:"freed,omitempty"`
}

// Inconsistency is a broken constraint, or a memory fault.
type Inconsistency struct {
	Constraint string            `json:"constraint"`
	Source     string            `json:"source,omitempty"` // the constraint's text
	Nodes      map[string]string `json:"nodes"`            // variable → node
	Reason     string            `json:"reason"`
	Sources    []Field           `json:"sources,omitempty"` // of an in-degree: the cells that are these edges, a few
	Total      int               `json:"total"`             // bindings that it stands for
	Values     []NodeValues      `json:"values,omitempty"`  // the nodes' fields
	Since      string            `json:"since,omitempty"`   // "present since recording began"
	Group      int               `json:"group,omitempty"`
}

// NodeValues shows the fields of a node.
type NodeValues struct {
	Node   string  `json:"node"`
	Addr   string  `json:"addr"`
	Fields []Field `json:"fields"`
}

// Field is one field with its value as text.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// FreeMissing is the Change of a suspect that frees memory, and did not.
const FreeMissing = "missing: its free"

// CallMissing is the Change of a suspect beside which a call is missing.
const CallMissing = "missing: a call"

// Missing: what it should have done is missing, as its sentence says.
func (s *Suspect) Missing() bool { return s.Kind == "omitted" || s.Change == CallMissing }

// Suspect is a statement that may have caused the inconsistencies.
type Suspect struct {
	Rank        int      `json:"rank"`
	File        string   `json:"file"`
	Path        string   `json:"path,omitempty"` // File with its directories
	Line        int      `json:"line"`
	Column      int      `json:"column,omitempty"` // 0: not known
	Function    string   `json:"function"`
	Source      string   `json:"source"`
	Why         string   `json:"why"` // one sentence
	Timestamp   uint64   `json:"timestamp"`
	Change      string   `json:"change"`
	Contributes []string `json:"contributes"`
	Evidence    []string `json:"evidence"`
	Also        []string `json:"-"`    // of the evidence, what the sentence does not tell
	Kind        string   `json:"kind"` // wrote, omitted, died, decided
	When        string   `json:"when,omitempty"`
	Address     string   `json:"address"`           // program counter
	Within      []Place  `json:"within,omitempty"`  // the functions of a library through which it did it, innermost first
	Inlined     []Place  `json:"inlined,omitempty"` // the frames that it is inlined into
	Callers     []Place  `json:"callers,omitempty"` // the calls that led there, innermost first, where they are known
	Merged      []Place  `json:"merged,omitempty"`  // statements that the compiler has made one store of with this one
	Shared      []Place  `json:"shared,omitempty"`  // statements that assign the field in question, and have no store of their own
	Omission    Omission `json:"omission,omitzero"`
	Near        *Place   `json:"near,omitempty"`    // the statement next to which it should have run, or next to which a store is missing as well
	Operations  int      `json:"operations"`        // how many operations of this statement contributed
	Context     []Line   `json:"context,omitempty"` // the lines around
	Before      string   `json:"before,omitempty"`  // picture files
	After       string   `json:"after,omitempty"`
	Thread      uint32   `json:"thread,omitempty"`
	Slice       *Slice   `json:"slice,omitempty"` // where the value came from, if that was asked for
}

// Omission tells what there is of a store that is missing, by numbers of changes; 0: there
// is none.
type Omission struct {
	Elsewhere uint64 `json:"elsewhere,omitempty"` // one that the statement made where it ran
	Beside    uint64 `json:"beside,omitempty"`    // the one next to which it should have run
	Instead   uint64 `json:"instead,omitempty"`   // the one that wrote what is there instead
}

// Outermost is the function of a library that the statement itself calls, nil if it
// does what it does itself.
func (s *Suspect) Outermost() *Place {
	if len(s.Within) == 0 {
		return nil
	}
	return &s.Within[len(s.Within)-1]
}

// Place is a position in the program's source.
type Place struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	Text     string `json:"text,omitempty"`
}

// Line is one line of source.
type Line struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Died is the signal of which the program died, or the fault that it handled before it ended; "" if it did not.
func (e *Exit) Died() string {
	if e == nil {
		return ""
	}
	return cmp.Or(e.Handled, e.Signal)
}

// Found reports whether anything is inconsistent, or a memory fault.
func (r *Report) Found() bool {
	return slices.ContainsFunc(r.CPoints, func(c CPoint) bool { return c.Fault != Crash })
}

// Circle is the CPoint.Fault of a loop that never ends, since it goes round in a circle of pointers.
const Circle = "circle"

// Crash is the CPoint.Fault of a crash at which nothing is inconsistent.
const Crash = "crash"

// Status is mgtrace's exit status: 1 inconsistency found, 3 the program crashed
// and nothing was found, else 0.
func (r *Report) Status() int {
	switch {
	case r.Found():
		return 1
	case r.Exit.Died() != "" && r.Exit.Held == "":
		return statusCrashed
	}
	return 0
}

const statusCrashed = 3

// JSON writes the report as one JSON object.
func (r *Report) JSON(w io.Writer) error {
	r.Version = Version
	if r.CPoints == nil {
		r.CPoints = []CPoint{}
	}
	for i := range r.CPoints {
		r.CPoints[i].fill()
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// fill makes empty lists of absent ones: who reads the contract's lists need not
// ask whether they are there.
func (c *CPoint) fill() {
	if c.Inconsistencies == nil {
		c.Inconsistencies = []Inconsistency{}
	}
	if c.Suspects == nil {
		c.Suspects = []Suspect{}
	}
	for i := range c.Inconsistencies {
		if in := &c.Inconsistencies[i]; in.Nodes == nil {
			in.Nodes = map[string]string{}
		}
	}
	for i := range c.Suspects {
		s := &c.Suspects[i]
		if s.Contributes == nil {
			s.Contributes = []string{}
		}
		if s.Evidence == nil {
			s.Evidence = []string{}
		}
	}
}
