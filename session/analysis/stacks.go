package analysis

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// What a program keeps on its stacks is not recorded, and programs link heap nodes to it: the
// head of a ring, a list of what is to be done, in a function's own variable. What would have
// to be read there is not known, and nobody is accused of it. A pointer into the frame of a
// function that has been left is another matter.

// stacks knows, by the calls of watched functions, what of the stacks is in use.
type stacks struct {
	threads  trace.Threads[stack]
	prog     *trace.Program
	unjudged map[eval.Instance]bool
	example  string      // why, of the first of them
	laws     map[int]law // by constraint
	ended    []ended
}

// law is what is known of a constraint of which instances were not judged, or broken.
type law struct {
	times  int    // how often that was so
	judged bool   // another instance held, or was broken
	why    string // of the first
}

// ended is a variable that was a node, and ended: when its function was left, or destroyed before that.
type ended struct {
	addr trace.Addr
	at   mgpp.Timestamp
}

// maxEnded bounds those that are remembered: so many variables that are nodes has hardly a function.
const maxEnded = 64

// end takes note of one.
func (s *stacks) end(addr trace.Addr, at mgpp.Timestamp) {
	s.ended = slices.DeleteFunc(s.ended, func(e ended) bool { return e.addr == addr })
	if len(s.ended) == maxEnded {
		s.ended = s.ended[1:]
	}
	s.ended = append(s.ended, ended{addr, at})
}

// stack is a thread's.
type stack struct {
	now, high trace.Addr // of the latest event, and the highest
}

const (
	// frames is how much a thread may have on its stack beyond what its events tell, bytes.
	frames = 1 << 20
	// mainStack is below the lowest address of the main thread's stack, and above what is
	// mapped, images apart (Linux, mmap_base and arch_align_stack of x86).
	mainStack = 0x7ffb_f000_0000
)

func newStacks(prog *trace.Program) *stacks {
	return &stacks{prog: prog, unjudged: map[eval.Instance]bool{}, laws: map[int]law{}}
}

// note takes note of where an event leaves its thread's stack.
func (s *stacks) note(ev *trace.Event) {
	switch {
	case ev.Kind == trace.KindThreadExit:
		s.threads.Delete(ev.Thread)
	case ev.SP != 0:
		t := s.threads.Of(ev.Thread)
		t.now, t.high = ev.SP, max(t.high, ev.SP)
	}
}

// inUse says whether an address lies on the stack of a thread, in what is in use at a C-point:
// of the thread that is there exactly, of others as far as is known.
func (s *stacks) inUse(addr trace.Addr, c eval.CPoint) bool {
	known := false // of the main thread's
	for id, t := range s.threads.All() {
		low := t.now
		if exact := id == c.Thread && !c.Inlined && (c.Kind == "entry" || c.Kind == "return"); !exact {
			low -= min(low, frames)
		}
		if low <= addr && addr < t.high+frames {
			return true
		}
		known = known || s.main(low)
	}
	return !known && s.main(addr)
}

// Stack is what of its thread's stack is in use at a C-point, half-open; nothing if that is not known.
func (a *Analysis) Stack(c *eval.CPoint) (lo, hi trace.Addr) {
	t := a.stacks.threads.Of(c.Thread)
	if t.high == 0 || c.Inlined || c.Kind != "entry" && c.Kind != "return" {
		return 0, 0
	}
	return t.now, t.high + frames
}

// main says whether an address is one of the main thread's stack, or nearly so high. Without
// randomisation files are mapped as high.
func (s *stacks) main(addr trace.Addr) bool {
	return addr >= mainStack && addr < trace.UserEnd && !slices.ContainsFunc(s.prog.Modules, func(m trace.Module) bool { return filepath.IsAbs(m.Path) && addr < m.Hi })
}

// elsewhere says whether at an address there may be what is not recorded: in static memory,
// or on a stack.
func (a *Analysis) elsewhere(addr trace.Addr) bool {
	return a.stacks.inUse(addr, eval.CPoint{}) ||
		slices.ContainsFunc(a.prog.Modules, func(m trace.Module) bool { return m.Lo <= addr && addr < m.Hi })
}

// offStack leaves inconsistencies out that may be none, could what lies on a stack be read, or what the
// specification does not declare.
func (a *Analysis) offStack(found []eval.Inconsistency, c eval.CPoint) []eval.Inconsistency {
	found = slices.DeleteFunc(found, func(inc eval.Inconsistency) bool {
		if a.note(inc) || a.unreadable(inc) || a.cutOff(inc, c) || a.begun(inc, c) || a.strays(inc, c) {
			return true
		}
		if inc.Through == 0 || !a.stacks.inUse(inc.Through, c) {
			return false
		}
		a.onStack(inc, inc.Through)
		return true
	})
	for _, inc := range found {
		l := a.stacks.laws[inc.Instance.Constraint]
		l.judged = true
		a.stacks.laws[inc.Instance.Constraint] = l
	}
	return found
}

// onStack notes an instance that is not judged since a pointer leads to a stack.
func (a *Analysis) onStack(inc eval.Inconsistency, to trace.Addr) {
	if len(a.stacks.unjudged) == 0 {
		a.stacks.example = fmt.Sprintf("%s: %s, %#x", a.Checker.Label(inc.Instance), inc.Reason, uint64(to))
	}
	a.stacks.unjudged[inc.Instance] = true
	k := inc.Instance.Constraint
	if k < 0 || k >= len(a.spec.Constraints) {
		return
	}
	l := a.stacks.laws[k]
	if l.times++; l.times == 1 {
		l.why = inc.Reason
	}
	if !l.judged && l.times&(l.times-1) == 0 { // ever more seldom: all is evaluated for that
		tallies := a.Checker.Tallies(a.Checker.View(a.Hist.Now()), nil, func(int, int) bool { return false }, nil)
		l.judged = k < len(tallies) && tallies[k].Held > 0
	}
	a.stacks.laws[k] = l
}

// strays: what an instance counts as dangling, or takes not to exist, are pointers to variables of functions that run, or to what the
// specification does not declare. These are there, and no nodes.
func (a *Analysis) strays(inc eval.Inconsistency, c eval.CPoint) bool {
	if !a.asksForStrays(inc.Instance.Constraint) {
		return false
	}
	var stack trace.Addr
	var places []string
	verdict := a.Checker.Sparing(inc.Instance, a.Checker.View(a.Hist.Now()), func(addr trace.Addr, block mgpp.NodeID) bool {
		if block == 0 && a.stacks.inUse(addr, c) {
			stack = addr
			return true
		}
		place := a.undeclaredAt(addr, block, false)
		if place == "" {
			return false
		}
		places = append(places, place)
		return true
	})
	if verdict == eval.Broken {
		return false
	}
	for _, place := range places {
		a.unjudgedAt(place, inc.Instance)
	}
	if stack != 0 {
		a.onStack(inc, stack)
	}
	return stack != 0 || len(places) > 0
}

// asksForStrays: a constraint asks where pointers lead, and not what is there.
func (a *Analysis) asksForStrays(k int) (asks bool) {
	if k < 0 || k >= len(a.spec.Constraints) {
		return k >= len(a.spec.Constraints) // check dangling for T
	}
	a.spec.Constraints[k].Walk(func(e check.Expr) {
		if b, ok := e.(*check.Builtin); ok {
			asks = asks || b.Kind == check.BuiltinExists || b.Kind == check.BuiltinDangling
		}
	})
	return asks
}

// cutOff: a destructor has ended a variable that led to one of the nodes, and goes on, or leaves them: the function still runs.
func (a *Analysis) cutOff(inc eval.Inconsistency, c eval.CPoint) bool {
	return slices.ContainsFunc(a.stacks.ended, func(e ended) bool {
		before := a.Hist.At(e.at - 1)
		id, ok := before.NodeAt(e.addr)
		if !ok || !a.stacks.inUse(e.addr, c) {
			return false
		}
		if _, again := a.Hist.At(a.Hist.Now()).NodeAt(e.addr); again {
			return false
		}
		for off := uint64(0); off < min(a.Hist.Node(id).Size, maxCutOff); off += 8 {
			for _, o := range a.Graph.At(before, e.addr+trace.Addr(off)) { // itself, and what is embedded in it
				if slices.ContainsFunc(a.Graph.Out(before, o), func(edge graph.Edge) bool {
					return edge.To != 0 && slices.Contains(inc.Instance.Nodes[:], edge.To)
				}) {
					return true
				}
			}
		}
		return false
	})
}

// maxCutOff is how much of a variable is looked at, in bytes.
const maxCutOff = 4096

// begun: what is asked is read from a variable of another thread, which has not written it yet: that thread is making it, in a function that
// need not be a watched one.
func (a *Analysis) begun(inc eval.Inconsistency, c eval.CPoint) bool {
	if len(a.spec.Locals) == 0 {
		return false
	}
	v := a.Hist.At(a.Hist.Now())
	return slices.ContainsFunc(a.Checker.Eval(inc.Instance, v).Deps, func(d eval.Dep) bool {
		if d.Kind != eval.DepBytes {
			return false
		}
		id, ok := v.NodeAt(d.Addr)
		if !ok {
			return false
		}
		n := a.Hist.Node(id)
		if _, local := trace.Local(n.Alloc); !local || a.Hist.Op(n.Birth).Thread == c.Thread {
			return false
		}
		b := mgpp.NewBytes(d.Size)
		return v.Read(d.Addr, &b) && slices.Contains(b.Written, false)
	})
}

// reportStacks says what was not judged.
func (a *Analysis) reportStacks(r *report.Report) {
	if n := len(a.stacks.unjudged); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s not judged at some C-points, because a pointer leads to a variable on the program's stack, which is not recorded (%s); `local VARIABLE in FUNCTION;` makes a node of one",
			report.Plural(n, "constraint instance was", "constraint instances were"), a.stacks.example))
	}
	for _, k := range slices.Sorted(maps.Keys(a.stacks.laws)) {
		if l := a.stacks.laws[k]; !l.judged && l.times > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s could not be judged: %s, and that is a variable on the program's stack, which is not recorded; `local VARIABLE in FUNCTION;` makes a node of one",
				a.spec.Constraints[k].Label, l.why))
		}
	}
}
