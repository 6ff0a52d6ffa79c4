package analysis

import (
	"errors"
	"fmt"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// A program that is caught in a loop makes garbage until it is killed: a hundred
// million changes within one call are of no more use than the first million, and
// have no room in memory. So of a recording's call that goes on for very long the
// rest is not taken into the history at first: only calls, lines and signals are
// looked at. If it never reaches a C-point, the crash is located at what was taken.
// If it does, or nothing is broken there, everything is taken after all. Nor is much
// taken of what comes after the inconsistency that is located.
const (
	longCall = 1 << 20 // changes since the last C-point, inside a C-point function
	longRun  = 1 << 22 // changes, if the specification names no function
)

// unended is a history that is not taken further.
type unended struct {
	at   mgpp.Timestamp
	open []eval.Activation
	late bool   // what is to be located was found before
	left uint64 // events that were not taken since
}

// ErrEnded: the call that was taken for one without end has ended, or nothing was
// broken when its history was no longer taken.
var ErrEnded = errors.New("the call has ended")

// unending looks whether to take no more.
func (a *Analysis) unending() {
	if !a.o.CutsShort || len(a.spec.Members) > 0 || a.unended != nil {
		return
	}
	now, last := a.Hist.Now(), mgpp.Timestamp(0)
	if n := a.checkedAt.len(); n > 0 {
		last = a.checkedAt.at(n - 1)
	}
	if now-last < longCall {
		return
	}
	if a.done {
		a.unended = &unended{at: now, late: true}
		return
	}
	if open := a.Schedule.Open(); len(open) > 0 || now-last >= longRun && !a.watchesCalls() {
		a.unended = &unended{at: now, open: open}
	}
}

// watchesCalls: some C-point of the specification is a function or a line.
func (a *Analysis) watchesCalls() bool { return len(a.spec.CPoints) > 0 }

// beyond takes an event of what is not taken any more.
func (a *Analysis) beyond(ev *trace.Event) error {
	a.unended.left++
	switch ev.Kind {
	case trace.KindSignal:
		a.Signalled(ev)
	case trace.KindExit:
		a.Ended(ev)
	case trace.KindCall, trace.KindReturn, trace.KindLine, trace.KindThreadExit, trace.KindExec, trace.KindTruncated:
	default:
		return nil
	}
	for _, c := range a.Schedule.Event(ev, a.unended.at) {
		if a.unended.late {
			break
		}
		if c.Kind != "crash" {
			return ErrEnded
		}
		a.checkAt(&c, ev.PC)
		if !a.done {
			return ErrEnded
		}
	}
	return nil
}

// String says what was not looked at.
func (u *unended) String() string {
	if u.late {
		return fmt.Sprintf("the history was looked at up to change %s; %s more events followed, which were not compared with memory", report.Thousands(uint64(u.at)), report.Thousands(u.left))
	}
	what := "the program"
	if n := len(u.open); n > 0 {
		what = fmt.Sprintf("call %d of %s", u.open[n-1].Call, u.open[n-1].Function)
	}
	return fmt.Sprintf("%s did not end: its history was looked at up to change %s; %s more events followed", what, report.Thousands(uint64(u.at)), report.Thousands(u.left))
}
