package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// What was written may not be known: of a long read only the beginning is recorded, and a process may be gone before what a call wrote could be
// read. A cell in that is not one that nothing has written to: who asks for it asks for what is not known.
type unread struct {
	any      bool // there was such a write
	unjudged map[eval.Instance]bool
	example  string
}

// note takes note of an event that wrote what is not known.
func (u *unread) note(ev *trace.Event) {
	u.any = u.any || ev.Kind == trace.KindUnread || ev.Flags&trace.FlagPartial != 0
}

// unreadable: an instance is broken, and asks for bytes of which it is not known what was written there.
func (a *Analysis) unreadable(inc eval.Inconsistency) bool {
	if !a.unread.any {
		return false
	}
	now := a.Hist.Now()
	v := a.Checker.View(now)
	var by mgpp.Op
	eval.Leaves(a.Checker, a.Checker.Eval(inc.Instance, v).Deps, v, func(d eval.Dep) bool {
		if d.Kind == eval.DepBytes && by.Time == 0 {
			by, _ = a.unreadBy(d.Addr, d.Size, now, v)
		}
		return by.Time == 0
	})
	if by.Time == 0 {
		return false
	}
	if a.unread.unjudged == nil {
		a.unread.unjudged = map[eval.Instance]bool{}
		a.unread.example = fmt.Sprintf("%s of what %s wrote to %#x, %s bytes, at %s", a.Checker.Label(inc.Instance), by.Name, uint64(by.Addr), report.Thousands(by.Size), a.Symbols.Place(by.PC))
	}
	a.unread.unjudged[inc.Instance] = true
	return true
}

// unreadBy is what wrote bytes of which nobody knows what they are, if some of them are such.
func (a *Analysis) unreadBy(addr trace.Addr, size uint64, now mgpp.Timestamp, v mgpp.View) (op mgpp.Op, ok bool) {
	b := mgpp.NewBytes(size)
	if !v.Read(addr, &b) || !slices.Contains(b.Written, false) {
		return op, false
	}
	for i, written := range b.Written {
		if written {
			continue
		}
		if t := a.Hist.LastWrite(addr+trace.Addr(i), 1, now); t != 0 {
			if op = a.Hist.Op(t); op.Kind == mgpp.OpUnread || op.Kind == mgpp.OpBulk {
				return op, true
			}
		}
	}
	return mgpp.Op{}, false
}

// reportUnread says what was not judged.
func (a *Analysis) reportUnread(r *report.Report) {
	if n := len(a.unread.unjudged); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s not judged, because it is not known what was written where they ask, as by %s: of a long write only the beginning is recorded",
			report.Plural(n, "constraint instance was", "constraint instances were"), a.unread.example))
	}
}
