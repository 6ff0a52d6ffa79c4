package analysis

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// innerCalls keeps the open calls of watched functions within others with their arguments, outermost first. The log has the outermost ones alone; where
// one of these can not be executed again, the call in it at whose end something is broken may be.
type innerCalls struct {
	open trace.Threads[[]innerCall] // what lies behind an end is used again
}

type innerCall struct {
	order  uint64     // eval.Activation.Order
	begins trace.Addr // call.begins
	from   mgpp.Timestamp
	args   []uint64
}

// maxInner bounds the calls that are kept of a thread: a recursion may be deep.
const maxInner = 64

// note takes note of the innermost call that a thread is in at time now, with the arguments of one that begins now, and where its function begins; nil: it is in none.
func (c *innerCalls) note(thread trace.ThreadID, innermost *eval.Activation, begins trace.Addr, args []uint64, now mgpp.Timestamp) {
	o := c.open.Of(thread)
	if innermost == nil {
		*o = (*o)[:0]
		return
	}
	n := len(*o)
	for n > 0 && (*o)[n-1].order > innermost.Order() {
		n--
	}
	if *o = (*o)[:n]; n == maxInner || n > 0 && (*o)[n-1].order == innermost.Order() {
		return
	}
	*o = slices.Grow(*o, 1)[:n+1]
	x := &(*o)[n]
	x.order, x.begins, x.from, x.args = innermost.Order(), begins, now, append(x.args[:0], args...)
}

// returning is the call whose return a C-point is, before that is noted; innermost is the one around it. Without arguments: they are not known.
func (c *innerCalls) returning(p *eval.CPoint, innermost *eval.Activation, now mgpp.Timestamp) (k call) {
	if p.Kind != "return" || p.Inlined || innermost == nil { // the outermost is in the log
		return k
	}
	open := *c.open.Of(p.Thread)
	i := slices.IndexFunc(open, func(x innerCall) bool { return x.order > innermost.Order() })
	if i < 0 {
		return k
	}
	k.Function, k.Thread, k.Since, k.Call = p.Function, p.Thread, open[i].from, p.Call
	k.begins, k.from, k.to, k.args = open[i].begins, open[i].from, now, slices.Clone(open[i].args)
	return k
}
