package analysis

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// calls remembers the outermost calls of watched functions, inlined ones too, so that a
// report can say when: "call 511 of insert".
type calls struct {
	open   trace.Threads[openCall]
	log    callLog // in order of from; but for
	passed passed
	inner  innerCalls
	// quiet: calls are not known from then on; 0: they all are.
	quiet mgpp.Timestamp
	idle  times // those that are over and during which nothing was done: their times
	asked int   // where in log find was last: most that is asked next is near
}

// openCall is a call in the log that has not returned.
type openCall struct {
	is    bool   // there is one
	order uint64 // eval.Activation.Order
	index int
}

// callLog is calls in pieces that stay where they are: a program may make millions, and to
// copy those again and again would cost more than to note them.
type callLog struct {
	pieces [][]logged // of callPiece each, but for the last
	args   [][]uint64 // of argsPiece each
	used   uint32     // of args
	names  []string   // of functions
	nameOf map[string]uint32
}

// logged is a call as the log has it: with no pointers, and small.
type logged struct {
	wall            int64
	since, from, to uint32 // of these there are no more operations in a history
	args            uint32 // where they are
	name            uint32
	call            uint32
	passed          uint32 // what its arguments lead to on the stack: passed.record
	thread          trace.ThreadID
	n               uint8 // of args
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

func (l *callLog) logged(i int) *logged { return &l.pieces[i/callPiece][i%callPiece] }

// at returns a call. Its arguments are the log's.
func (l *callLog) at(i int) (c call) {
	k := l.logged(i)
	c.Activation = eval.Activation{Function: l.names[k.name], Thread: k.thread, Since: mgpp.Timestamp(k.since), Call: int(k.call), Wall: k.wall}
	c.from, c.to, c.passed = mgpp.Timestamp(k.from), mgpp.Timestamp(k.to), k.passed
	if k.n > 0 {
		at := k.args % argsPiece
		c.args = l.args[k.args/argsPiece][at : at+uint32(k.n) : at+uint32(k.n)]
	}
	return c
}

// add appends a call that begins.
func (l *callLog) add(a *eval.Activation, from mgpp.Timestamp, args []uint64, passed uint32) {
	if l.len()%callPiece == 0 {
		l.pieces = append(l.pieces, make([]logged, 0, callPiece))
	}
	last := &l.pieces[len(l.pieces)-1]
	at, name := l.keep(args), l.name(a.Function)
	*last = append(*last, logged{})
	x := &(*last)[len(*last)-1] // filled where it lies: a copy of what has just been written takes longer
	x.wall, x.since, x.from, x.args, x.name = a.Wall, uint32(a.Since), uint32(from), at, name
	x.call, x.passed, x.thread, x.n = uint32(a.Call), passed, a.Thread, uint8(len(args))
}

// keep copies arguments, of which a call has a few, and returns where they are.
func (l *callLog) keep(args []uint64) (at uint32) {
	n := uint32(len(args))
	if l.used%argsPiece+n > argsPiece {
		l.used = (l.used/argsPiece + 1) * argsPiece
	}
	at = l.used
	l.used += n
	for n > 0 && int(at/argsPiece) >= len(l.args) {
		l.args = append(l.args, make([]uint64, argsPiece))
	}
	if n > 0 {
		copy(l.args[at/argsPiece][at%argsPiece:], args)
	}
	return at
}

// name numbers the name of a function.
func (l *callLog) name(s string) uint32 {
	if n := len(l.pieces); n > 0 && len(l.pieces[n-1]) > 0 {
		if last := l.logged(l.len() - 1).name; l.names[last] == s {
			return last
		}
	}
	i, ok := l.nameOf[s]
	if !ok {
		i = uint32(len(l.names))
		l.names = append(l.names, s)
		l.nameOf[s] = i
	}
	return i
}

// pop takes back the newest call.
func (l *callLog) pop() {
	last := &l.pieces[len(l.pieces)-1]
	l.used = (*last)[len(*last)-1].args // which are the newest, too
	if *last = (*last)[:len(*last)-1]; len(*last) == 0 {
		l.pieces = l.pieces[:len(l.pieces)-1]
	}
}

type call struct {
	eval.Activation
	from, to mgpp.Timestamp // operations in (from, to]; to 0: still open
	args     []uint64       // its integer arguments; nil: not known
	passed   uint32         // what they lead to on the stack: passed.objects
}

func newCalls() *calls {
	return &calls{log: callLog{nameOf: map[string]uint32{}}}
}

// note takes note of the outermost call that a thread is in at time now; nil: it is in none. The
// arguments are those of a call that begins now.
func (c *calls) note(thread trace.ThreadID, outermost *eval.Activation, args []uint64, now mgpp.Timestamp) {
	o := c.open.Of(thread)
	if o.is {
		if outermost != nil && o.order == outermost.Order() {
			c.passed.drop(thread)
			return
		}
		o.is = false
		k := c.log.logged(o.index)
		k.to = uint32(now)
		if mgpp.Timestamp(k.from) == now && o.index == c.log.len()-1 { // most calls of a program only look something up
			c.passed.takeBack(k.passed)
			c.log.pop()
			c.idle.add(now)
		}
	}
	if outermost != nil {
		o.is, o.order, o.index = true, outermost.Order(), c.log.len()
		c.log.add(outermost, now, args, c.passed.take(thread))
		return
	}
	c.passed.drop(thread)
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
	idle := c.idle.all()
	over := func(before mgpp.Timestamp) { // takes the idle ones
		for ; len(idle) > 0 && idle[0] < before; idle = idle[1:] {
			begins(idle[0])
			end = max(end, idle[0])
		}
	}
	for i := range c.log.len() {
		k := c.log.logged(i)
		from := mgpp.Timestamp(k.from)
		over(from)
		begins(from)
		if k.to == 0 {
			return out
		}
		end = max(end, mgpp.Timestamp(k.to))
	}
	over(math.MaxUint64)
	if !first {
		add(end)
	}
	return out
}

// during returns the call during which operation t was done; it is not ok if there is none.
func (c *calls) during(t mgpp.Timestamp) (_ call, ok bool) {
	if i := c.find(t); i >= 0 {
		return c.log.at(i), true
	}
	return call{}, false
}

// find is where in the log that call is, -1 if there is none.
func (c *calls) find(t mgpp.Timestamp) int {
	i, n := c.asked, c.log.len()
	from := func(i int) mgpp.Timestamp { return mgpp.Timestamp(c.log.logged(i).from) }
	first := func(i int) bool { return i <= n && (i == n || from(i) >= t) && (i == 0 || from(i-1) < t) }
	switch {
	case first(i):
	case first(i + 1):
		i++
	default:
		i = sort.Search(n, func(i int) bool { return from(i) >= t })
	}
	c.asked = i
	for tries := 0; i > 0 && tries < 64; tries++ {
		i--
		if k := c.log.logged(i); k.to == 0 || t <= mgpp.Timestamp(k.to) {
			return i
		}
	}
	return -1
}

// current is a copy of the call in which a thread is, which may be taken back after that; without arguments: it is in none.
func (c *calls) current(thread trace.ThreadID) call {
	o := c.open.Of(thread)
	if !o.is {
		return call{}
	}
	k := c.log.at(o.index)
	k.args = slices.Clone(k.args)
	c.passed.hold(k.passed)
	return k
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
	if i := c.find(t); i >= 0 {
		return c.log.names[c.log.logged(i).name]
	}
	return ""
}
