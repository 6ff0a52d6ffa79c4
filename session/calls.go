package session

import (
	"fmt"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// calls remembers the outermost calls of watched functions, so that a report
// can say when: "call 511 of insert".
type calls struct {
	funcs  []trace.Func
	counts []int                     // by FuncID-1
	depth  map[trace.ThreadID][]open // open calls, outermost first
	log    []call                    // in order of from
}

type open struct {
	fn  trace.FuncID
	log int // index of its entry in log; -1: it is nested
}

type call struct {
	fn       trace.FuncID
	number   int
	thread   trace.ThreadID
	from, to mgpp.Timestamp // operations in (from, to]; to 0: still open
}

func newCalls(funcs []trace.Func) *calls {
	return &calls{funcs: funcs, counts: make([]int, len(funcs)), depth: map[trace.ThreadID][]open{}}
}

// event takes note of a call or return at time now.
func (c *calls) event(ev *trace.Event, now mgpp.Timestamp) {
	if ev.Kind != trace.KindCall && ev.Kind != trace.KindReturn {
		return
	}
	fn := trace.FuncID(ev.Aux)
	stack := c.depth[ev.Thread]
	switch ev.Kind {
	case trace.KindCall:
		o := open{fn: fn, log: -1}
		if len(stack) == 0 && int(fn) >= 1 && int(fn) <= len(c.counts) {
			c.counts[fn-1]++
			o.log = len(c.log)
			c.log = append(c.log, call{fn: fn, number: c.counts[fn-1], thread: ev.Thread, from: now})
		}
		c.depth[ev.Thread] = append(stack, o)
	case trace.KindReturn:
		for n := len(stack); n > 0; n-- {
			o := stack[n-1]
			if o.log >= 0 {
				c.log[o.log].to = now
			}
			if o.fn == fn {
				c.depth[ev.Thread] = stack[:n-1]
				return
			}
		}
	}
}

// during returns the call during which operation t was done; it is not ok if there is none.
func (c *calls) during(t mgpp.Timestamp) (_ call, ok bool) {
	i := sort.Search(len(c.log), func(i int) bool { return c.log[i].from >= t })
	for n := 0; i > 0 && n < 64; n++ {
		i--
		if k := c.log[i]; k.to == 0 || t <= k.to {
			return k, true
		}
	}
	return call{}, false
}

// at names the call during which operation t was done, "" if none.
func (c *calls) at(t mgpp.Timestamp) string {
	if k, ok := c.during(t); ok {
		return fmt.Sprintf("call %s of %s", report.Thousands(uint64(k.number)), c.funcs[k.fn-1].Name)
	}
	return ""
}

// function names the watched function during whose call operation t was done, "" if none.
func (c *calls) function(t mgpp.Timestamp) string {
	if k, ok := c.during(t); ok {
		return c.funcs[k.fn-1].Name
	}
	return ""
}
