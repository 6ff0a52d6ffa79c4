package query

import (
	"fmt"
	"sort"

	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// Calls remembers the outermost calls of watched functions, for each function and
// thread: as the C-points of a specification count them.
type Calls struct {
	prog  *trace.Program
	log   [][]Call // by FuncID-1
	stack map[trace.ThreadID][]activation
}

// Call is an outermost call. Its changes are in (From, To]; To is 0 while Open.
type Call struct {
	Thread   trace.ThreadID
	From, To mgpp.Timestamp
	Open     bool
}

type activation struct {
	fn     trace.FuncID
	sp     trace.Addr
	at     int // in the function's log; -1: it is nested
	inline bool
}

// NewCalls returns an empty log.
func NewCalls(prog *trace.Program) *Calls {
	return &Calls{prog: prog, log: make([][]Call, len(prog.Funcs)), stack: map[trace.ThreadID][]activation{}}
}

// Event takes note of an event, after which the history is at time now.
func (c *Calls) Event(ev *trace.Event, now mgpp.Timestamp) {
	switch ev.Kind {
	case trace.KindCall:
		c.enter(ev, trace.FuncID(ev.Aux), now, false)
	case trace.KindReturn:
		c.leave(ev, trace.FuncID(ev.Aux), now, false)
	case trace.KindLine:
		if ev.Aux < 1 || ev.Aux > uint64(len(c.prog.Points)) {
			return
		}
		switch p := &c.prog.Points[ev.Aux-1]; p.Kind {
		case "inline-entry":
			c.enter(ev, p.Func, now, true)
		case "inline-exit":
			c.leave(ev, p.Func, now, true)
		}
	case trace.KindThreadExit:
		c.unwind(ev.Thread, 0, now)
		delete(c.stack, ev.Thread)
	}
}

func (c *Calls) enter(ev *trace.Event, fn trace.FuncID, now mgpp.Timestamp, inline bool) {
	if fn < 1 || int(fn) > len(c.log) {
		return
	}
	stack := c.stack[ev.Thread]
	for n := len(stack); n > 0 && stack[n-1].inline && ev.SP != 0 && stack[n-1].sp < ev.SP; n-- { // its frame is gone
		c.unwind(ev.Thread, n-1, now)
		stack = c.stack[ev.Thread]
	}
	a := activation{fn: fn, sp: ev.SP, at: -1, inline: inline}
	nested := false
	for i := range stack {
		nested = nested || stack[i].fn == fn
	}
	if !nested {
		a.at = len(c.log[fn-1])
		c.log[fn-1] = append(c.log[fn-1], Call{Thread: ev.Thread, From: now, Open: true})
	}
	c.stack[ev.Thread] = append(stack, a)
}

func (c *Calls) leave(ev *trace.Event, fn trace.FuncID, now mgpp.Timestamp, inline bool) {
	stack := c.stack[ev.Thread]
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i].fn == fn && (stack[i].sp == ev.SP || inline || ev.SP == 0) {
			c.unwind(ev.Thread, i, now)
			return
		}
	}
}

// unwind ends the activations of a thread from number n on.
func (c *Calls) unwind(thread trace.ThreadID, n int, now mgpp.Timestamp) {
	stack := c.stack[thread]
	for _, a := range stack[min(n, len(stack)):] {
		if a.at >= 0 {
			x := &c.log[a.fn-1][a.at]
			x.To, x.Open = now, false
		}
	}
	c.stack[thread] = stack[:min(n, len(stack))]
}

// Log is the calls of each function, by FuncID-1.
func (c *Calls) Log() [][]Call { return c.log }

// callList is a CallLog in memory.
type callList []Call

func (l callList) Len() int { return len(l) }

func (l callList) Call(i int) (from, to mgpp.Timestamp, open bool) {
	return l[i].From, l[i].To, l[i].Open
}

// Of returns the calls of a function by its name, with or without its parameters
// and scopes; nil if it was not watched.
func (c *Calls) Of(function string) CallLog {
	if i := FuncNamed(c.prog.Funcs, function); i >= 0 {
		return callList(c.log[i])
	}
	return nil
}

// FuncNamed finds a watched function as a specification would name it; -1 if there
// is none.
func FuncNamed(funcs []trace.Func, name string) int {
	names := make([]cxxname.Name, len(funcs))
	for i := range funcs {
		names[i] = cxxname.Of(funcs[i].Name)
	}
	if found := cxxname.Find(name, names); len(found) > 0 {
		return found[0]
	}
	return -1
}

// maxBack is how many calls are looked at for one that contains a change: those
// of other threads may lie between.
const maxBack = 64

// During names the call during which a change was made: the innermost of the
// watched ones.
func During(funcs []trace.Func, log func(fn int) CallLog, t mgpp.Timestamp) string {
	best, name := mgpp.Timestamp(0), ""
	for fn := range funcs {
		if funcs[fn].End { // what runs in exit is told by its statement
			continue
		}
		l := log(fn)
		n := sort.Search(l.Len(), func(i int) bool { from, _, _ := l.Call(i); return from >= t })
		for i := n - 1; i >= 0 && i >= n-maxBack; i-- {
			from, to, open := l.Call(i)
			if !open && to < t {
				continue
			}
			if name == "" || from > best {
				best, name = from, fmt.Sprintf("call %s of %s", report.Thousands(uint64(i+1)), funcs[fn].Name)
			}
			break
		}
	}
	return name
}

// During names the call during which a change was made.
func (c *Calls) During(t mgpp.Timestamp) string {
	return During(c.prog.Funcs, func(fn int) CallLog { return callList(c.log[fn]) }, t)
}
