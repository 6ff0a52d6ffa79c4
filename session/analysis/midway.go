package analysis

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/constraints/eval"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
)

// A program that is killed dies anywhere, most often in the middle of an operation on its structure,
// which is rightly half-way then. One that hangs since its structure is broken is killed, too. The
// two differ by how long the operation has lasted.

// longOperation is more than an operation takes of a program that goes on, where it is not known what the program had of that
// time for itself (trace.Own): it may have waited for a processor, or for mgtrace.
const longOperation = 1500 * time.Millisecond

// temporary: all that contributed lies in calls that were still open at the
// crash, so the structure may just have been on its way.
func (a *Analysis) temporary(p *point) bool {
	return len(p.suspects) > 0 && changed(p, func(t mgpp.Timestamp) bool {
		return slices.ContainsFunc(p.Open, func(o eval.Activation) bool { return o.Since < t })
	})
}

// midway reports whether nothing speaks for a fault: a signal that the program did not
// bring about itself ended it, in a call that had only just begun and before which all was whole, or all that
// contributed was done in such calls.
func (a *Analysis) midway(p *point) bool {
	if p.Kind != "crash" || a.Exit == nil || !outside(a.Exit.Died()) {
		return false
	}
	short := func(call eval.Activation) bool {
		if call.Wall < 0 || p.Wall <= 0 {
			return false
		}
		if a.Own != nil {
			since, ok := a.Own.Since[call.Thread]
			return !ok || call.Wall > since
		}
		return p.Wall-call.Wall <= longOperation.Nanoseconds()
	}
	if slices.ContainsFunc(p.Open, func(o eval.Activation) bool { return o.Since <= p.healthy && short(o) }) {
		return true
	}
	return a.temporary(p) && changed(p, func(t mgpp.Timestamp) bool {
		for _, o := range slices.Backward(p.Open) { // the one that began last
			if o.Since < t {
				return short(o)
			}
		}
		return false
	})
}

// changed reports whether something holds for each change that the suspects made.
func changed(p *point, holds func(t mgpp.Timestamp) bool) bool {
	for i := range p.suspects {
		if p.suspects[i].Kind != faultloc.Omitted && slices.ContainsFunc(p.suspects[i].Operations, func(t mgpp.Timestamp) bool { return !holds(t) }) {
			return false
		}
	}
	return true
}

// outside reports whether a signal comes from outside: no instruction of the program raises it, nor does
// it end itself by it when it has noticed something.
func outside(signal string) bool {
	switch syscall.Signal(unix.SignalNum(signal)) {
	case 0, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGSYS, unix.SIGABRT:
		return false
	}
	return true
}

// unjudged says what is not told, and what to do if the program hung.
func (a *Analysis) unjudged(p *point) string {
	call := p.Open[len(p.Open)-1]
	return fmt.Sprintf("%s ended the program in call %d of %s, which had just begun: what it had changed breaks %s, as it may half-way, and is not judged; if the program hung, let it hang for two seconds before you end it, or use --timeout",
		a.Exit.Died(), call.Call, call.Function, report.Plural(len(p.found), "constraint instance", "constraint instances"))
}
