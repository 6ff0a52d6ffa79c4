package analysis

import (
	"fmt"
	"math"
	"sort"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// calls remembers the outermost calls of watched functions, inlined ones too, so that a
// report can say when: "call 511 of insert".
type calls struct {
	open map[trace.ThreadID]int // index in log
	log  callLog                // in order of from; but for
	idle []mgpp.Timestamp       // those that are over and during which nothing was done: their times, ascending
}

// callLog is calls in pieces that stay where they are: a program may make millions, and to
// copy those again and again would cost more than to note them.
type callLog struct {
	pieces [][]call // of callPiece each, but for the last
	args   []uint64 // room for arguments, of many calls at a time
}

const (
	callPiece = 1 << 10
	argsPiece = 1 << 12
)

func (l *callLog) len() int {
	if n := len(l.pieces); n > 0 {
		return (n-1)*callPiece + len(l.pieces[n-1])
	}
	return 0
}

func (l *callLog) at(i int) *call { return &l.pieces[i/callPiece][i%callPiece] }

// add appends a call, with a copy of its arguments.
func (l *callLog) add(c call) {
	if l.len()%callPiece == 0 {
		l.pieces = append(l.pieces, make([]call, 0, callPiece))
	}
	if n := len(c.args); n > 0 {
		if n > cap(l.args)-len(l.args) {
			l.args = make([]uint64, 0, max(n, argsPiece))
		}
		at := len(l.args)
		l.args = append(l.args, c.args...)
		c.args = l.args[at : at+n : at+n]
	}
	last := &l.pieces[len(l.pieces)-1]
	*last = append(*last, c)
}

// pop takes back the newest call.
func (l *callLog) pop() {
	last := &l.pieces[len(l.pieces)-1]
	k := &(*last)[len(*last)-1]
	l.args = l.args[:len(l.args)-len(k.args)] // which are the newest, too
	if *last = (*last)[:len(*last)-1]; len(*last) == 0 {
		l.pieces = l.pieces[:len(l.pieces)-1]
	}
}

type call struct {
	eval.Activation
	from, to mgpp.Timestamp // operations in (from, to]; to 0: still open
	args     []uint64       // its integer arguments; nil: not known
}

func newCalls() *calls { return &calls{open: map[trace.ThreadID]int{}} }

// note takes note of the outermost call that a thread is in at time now, if it is in one. The
// arguments are those of a call that begins now.
func (c *calls) note(thread trace.ThreadID, outermost eval.Activation, in bool, args []uint64, now mgpp.Timestamp) {
	if i, was := c.open[thread]; was {
		k := c.log.at(i)
		if in && k.Activation == outermost {
			return
		}
		delete(c.open, thread)
		if k.to = now; k.from == now && i == c.log.len()-1 { // most calls of a program only look something up
			c.log.pop()
			if n := len(c.idle); n == 0 || c.idle[n-1] < now {
				c.idle = append(c.idle, now)
			}
		}
	}
	if in {
		c.open[thread] = c.log.len()
		c.log.add(call{Activation: outermost, from: now, args: args})
	}
}

// between returns the times at which no call was open, next to those at which one was.
func (c *calls) between() (out []mgpp.Timestamp) {
	add := func(t mgpp.Timestamp) {
		if n := len(out); n == 0 || out[n-1] < t {
			out = append(out, t)
		}
	}
	first, end := true, mgpp.Timestamp(0)
	begins := func(from mgpp.Timestamp) {
		if !first && from >= end {
			add(end)
		}
		if first || from >= end {
			add(from)
		}
		first = false
	}
	idle := c.idle
	over := func(before mgpp.Timestamp) { // takes the idle ones
		for ; len(idle) > 0 && idle[0] < before; idle = idle[1:] {
			begins(idle[0])
			end = max(end, idle[0])
		}
	}
	for i := range c.log.len() {
		k := c.log.at(i)
		over(k.from)
		begins(k.from)
		if k.to == 0 {
			return out
		}
		end = max(end, k.to)
	}
	over(math.MaxUint64)
	if !first {
		add(end)
	}
	return out
}

// during returns the call during which operation t was done; it is not ok if there is none.
func (c *calls) during(t mgpp.Timestamp) (_ call, ok bool) {
	i := sort.Search(c.log.len(), func(i int) bool { return c.log.at(i).from >= t })
	for n := 0; i > 0 && n < 64; n++ {
		i--
		if k := c.log.at(i); k.to == 0 || t <= k.to {
			return *k, true
		}
	}
	return call{}, false
}

// ofThread returns the call during which a thread did operation t, if it was that thread's call.
func (c *calls) ofThread(thread trace.ThreadID, t mgpp.Timestamp) (call, bool) {
	k, ok := c.during(t)
	return k, ok && k.Thread == thread
}

// at names the call during which operation t was done, "" if none.
func (c *calls) at(t mgpp.Timestamp) string {
	if k, ok := c.during(t); ok {
		return fmt.Sprintf("call %s of %s", report.Thousands(uint64(k.Call)), k.Function)
	}
	return ""
}

// argsOf are the integer arguments of the call during which operation t was done, nil if they are
// not known.
func (c *calls) argsOf(t mgpp.Timestamp) []uint64 {
	k, _ := c.during(t)
	return k.args
}

// function names the watched function during whose call operation t was done, "" if none.
func (c *calls) function(t mgpp.Timestamp) string {
	if k, ok := c.during(t); ok {
		return k.Function
	}
	return ""
}
