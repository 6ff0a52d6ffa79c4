package mine

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/syntax"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Run is a healthy run of a program, with what has to be known to mine it.
type Run struct {
	Program check.Program
	History *mgpp.History
	// Typing gives blocks the types of a specification.
	Typing func(*check.Spec) graph.Typing
	// Bias is added to the addresses of the program's file to have the process's.
	Bias trace.Addr
	// Calls are the calls of all functions that may be C-points, in the order in
	// which they began.
	Calls []Call
	// FuncOf names the function, as Calls have it, that a statement belongs to.
	FuncOf func(pc trace.Addr) string
	// Library says which of them lie in headers of the system: they are no C-points.
	Library func(name string) bool
	// Globals are the objects in static memory that were recorded.
	Globals []check.Variable
	// Locals are the variables of functions that may lead to nodes. Those that can be followed were recorded.
	Locals []check.Local
	// Types are the types of nodes to mine, as the program names them.
	Types []string
	// Base is a specification that there is already: its types are mined, its constraints
	// are not proposed again. nil: there is none.
	Base *syntax.File
	// Directives are statements that the specification needs for its nodes to be found as
	// in this run: allocators of the program's own.
	Directives []string
	// Ended: the run came to its normal end, after all of the history.
	Ended bool
	// Progress is told what is being done; nil: nobody is.
	Progress func(what string)
}

// Call is a call of a function.
type Call struct {
	Func   string
	Thread trace.ThreadID
	Parent int            // the call around it, an index of Run.Calls; -1: none is known
	Depth  int            // how many calls are around it
	Inner  bool           // one of them is of the same function
	Enter  mgpp.Timestamp // the last operation before it
	Leave  mgpp.Timestamp // the last operation in it
	Left   bool           // it returned; else Leave is the end of the history
}

func (r *Run) progress(what string) {
	if r.Progress != nil {
		r.Progress(what)
	}
}
