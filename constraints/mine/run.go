package mine

import (
	"encoding/binary"

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
	// LeftOut says what is no node by the typing that was asked for last, and might be; nil: nobody knows.
	LeftOut func() []string
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

	stacks  map[trace.ThreadID]Stack // all that the calls had in use, by thread; nil: not looked for
	onStack bool                     // pointers in nodes lead there
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
	// What of its thread's stack was in use then: what is read through a pointer that leads there is not known.
	EnterStack, LeaveStack Stack
}

// Stack is a part of a thread's stack, half-open [Lo, Hi). The zero one is not known.
type Stack struct{ Lo, Hi trace.Addr }

// frame is what a function may have below where the stack was when it was called, bytes.
const frame = 1 << 16

// leadsToStack reports whether an operation stored a pointer to something on a stack.
func (r *Run) leadsToStack(at mgpp.Timestamp, op *mgpp.Op) bool {
	if r.stacks == nil {
		r.stacks = map[trace.ThreadID]Stack{}
		for _, c := range r.Calls {
			for _, s := range []Stack{c.EnterStack, c.LeaveStack} {
				if all, ok := r.stacks[c.Thread]; s.Hi != 0 && !ok {
					r.stacks[c.Thread] = Stack{s.Lo - frame, s.Hi}
				} else if s.Hi != 0 {
					r.stacks[c.Thread] = Stack{min(all.Lo, s.Lo-frame), max(all.Hi, s.Hi)}
				}
			}
		}
	}
	b := mgpp.NewBytes(8)
	view := r.History.At(at)
	for addr := (op.Addr + 7) &^ 7; addr+8 <= op.Addr+trace.Addr(op.Size); addr += 8 {
		if !view.Read(addr, &b) {
			continue
		}
		v := trace.Addr(binary.LittleEndian.Uint64(b.Data))
		for _, s := range r.stacks {
			if s.holds(v) {
				return true
			}
		}
	}
	return false
}

func (s Stack) holds(addr trace.Addr) bool { return s.Lo <= addr && addr < s.Hi }

func (r *Run) progress(what string) {
	if r.Progress != nil {
		r.Progress(what)
	}
}
