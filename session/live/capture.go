package live

import (
	"slices"
	"time"

	"mgtrace/constraints/check"
	"mgtrace/probe"
	"mgtrace/session/specfile"
	"mgtrace/target/undo"
)

// CaptureOptions say how to run and watch a program.
type CaptureOptions struct {
	Engine            string // "auto" or one of trace.Engine…
	Full              bool   // record every executed instruction beside the trace
	Around            string // Full: only what runs within calls of this function
	Everything        bool   // record also what can not matter to the specification
	Watch             bool   // stop the program at its first inconsistent C-point (inline)
	Strict            bool   // a place in the total order for each store (inline)
	Modules           []string
	Allocators        []probe.Allocator
	CPoints           []string // functions to watch beside those of the specification
	Globals           []string
	Locals            []check.Local // variables of functions to record beside those of the specification
	StandardLibrary   bool          // capture what the compiled part of the C++ library writes, whatever the specification
	Window            Window        // of the run that is recorded
	Follow            string        // wait for the program of this name
	Timeout           time.Duration
	AllowUnprivileged bool
	Progress          func(Progress) // nil: none; called about once a second
	Running           func(bool)     // nil: nobody wants to know; the program runs now, and has signals that the terminal sends
	Log               func(format string, a ...any)

	// Undo is told how to let a process go to which mgtrace has attached: for TakeBack, if
	// this process is killed. nil: nobody would do it.
	Undo *undo.Writer

	Counts bool // nobody looks at the events: they need no stacks
}

func (o *CaptureOptions) log(format string, a ...any) {
	if o.Log != nil {
		o.Log(format, a...)
	}
}

func (o *CaptureOptions) running(on bool) {
	if o.Running != nil {
		o.Running(on)
	}
}

// Progress of a recording.
type Progress struct {
	Elapsed time.Duration
	Events  uint64
	Rate    float64 // events a second, over the last second
	Done    bool    // the last call: wipe the line
}

// wants is what is to be captured beside what a specification needs.
func (o *CaptureOptions) wants() specfile.Wants {
	return specfile.Wants{Allocators: o.Allocators, Globals: o.Globals, Locals: o.Locals, Watch: append(slices.Clone(o.CPoints), o.Window.From, o.Window.To, o.Around)}
}
