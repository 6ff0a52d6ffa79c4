package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/report"
	"mgtrace/trace"
)

// No thread knows the address of a block before it is given out. Where a pointer was stored, in the order that is known,
// before another thread was given the block that it leads into, the order may be wrong: a plain load can have told of
// the block, and the store is placed at what its thread did before that. Nobody is accused of what follows from it.

// foretold knows when threads called watched functions or returned: what they store after that is placed behind it.
type foretold struct {
	first    trace.ThreadID // that anything was heard of; 0: none yet
	several  bool           // not only of that one
	threads  trace.Threads[moments]
	unjudged map[eval.Instance]bool
	example  string // of the first of them
}

// moments are those of one thread, by the change before them, each once.
type moments struct {
	at      []mgpp.Timestamp
	dropped bool // older ones
}

const maxMoments = 1 << 12

func newForetold() *foretold { return &foretold{unjudged: map[eval.Instance]bool{}} }

// seen notes whose events come.
func (f *foretold) seen(thread trace.ThreadID) {
	if f.first == 0 {
		f.first = thread
	}
	f.several = f.several || thread != f.first && thread != 0
}

func (f *foretold) note(ev *trace.Event, now mgpp.Timestamp) {
	if ev.Kind != trace.KindCall && ev.Kind != trace.KindReturn {
		return
	}
	m := f.threads.Of(ev.Thread)
	switch n := len(m.at); {
	case n > 0 && m.at[n-1] == now:
		return
	case n == 2*maxMoments:
		m.at, m.dropped = append(m.at[:0], m.at[maxMoments:]...), true
	}
	m.at = append(m.at, now)
}

// between says whether a thread had such a moment behind one change and before another, or may have had.
func (f *foretold) between(thread trace.ThreadID, from, to mgpp.Timestamp) bool {
	m := f.threads.Find(thread)
	if m == nil {
		return false
	}
	i, _ := slices.BinarySearch(m.at, from)
	return i < len(m.at) && m.at[i] < to || i == 0 && m.dropped
}

// inOrder leaves inconsistencies out that depend on a pointer which was stored too early.
func (a *Analysis) inOrder(found []eval.Inconsistency, now mgpp.Timestamp) []eval.Inconsistency {
	if a.prog.Engine != trace.EngineInline || !a.foretold.several {
		return found // stores have places of their own, or are one thread's: nothing is asked of thousands of inconsistencies at each C-point
	}
	v := a.Checker.View(now)
	return a.without(found, v, func(in eval.Instance, d eval.Dep) bool {
		if d.Size != 8 || !a.tooEarly(v.Target(d.Addr, coded.Plain), now) {
			return false
		}
		if len(a.foretold.unjudged) == 0 {
			a.foretold.example = a.Checker.Label(in)
		}
		a.foretold.unjudged[in] = true
		return true
	})
}

// tooEarly: the block that a pointer leads into was given to another thread soon after it had been stored, and the
// thread that stored it did nothing in between whose place in the order is certain.
func (a *Analysis) tooEarly(p mgpp.Target, now mgpp.Timestamp) bool {
	switch {
	case p.State == mgpp.Wild:
	case p.State == mgpp.Dangling && a.Hist.Node(p.Node).Death <= p.Since:
	default:
		return false
	}
	id, ok := a.Hist.NodeAtTime(trace.Addr(p.Value), now)
	if !ok {
		return false
	}
	birth, writer := a.Hist.Node(id).Birth, a.Hist.Op(p.Since).Thread
	return birth > p.Since && a.Hist.Op(birth).Thread != writer &&
		!a.foretold.between(writer, p.Since, birth) && !a.placed(writer, p.Since, birth)
}

// reportForetold says what was not judged.
func (a *Analysis) reportForetold(r *report.Report) {
	if n := len(a.foretold.unjudged); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s not judged at some C-points, because a thread stored a pointer, as far as the order is known, before another one was given the block there (%s): --order strict tells",
			report.Plural(n, "constraint instance was", "constraint instances were"), a.foretold.example))
	}
}
