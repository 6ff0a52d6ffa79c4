package analysis

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// While one thread is at a C-point, others may be half-way in what they do, inside of a C-point function or in code that
// nobody watches. What another thread has made of a structure since its own last C-point is not judged; what none has touched is:
// were they not there, it would be broken all the same. So threads that have structures of their own are judged as one alone is.
//
// A thread that is inside of no C-point function may never come to one again. It has left what it has changed as it meant to
// when it has ended, or written patience times since.

// Limits of what is asked at one C-point, beyond which nothing more is judged there, and of what is remembered.
const (
	maxBusy    = 64      // instances that are broken
	maxTouched = 1 << 12 // changes of what they depend on
	maxWaited  = 1 << 12 // changes
	patience   = 1 << 10
)

// checkpoint is a C-point that was checked.
type checkpoint struct {
	eval.CPoint
	time mgpp.Timestamp
}

// untouched are the inconsistencies at a C-point that no thread which is busy there has to do with; left are the others.
func (a *Analysis) untouched(found []eval.Inconsistency, c *eval.CPoint, now mgpp.Timestamp) (_ []eval.Inconsistency, left []eval.Instance) {
	if len(c.Busy) == 0 {
		return found, nil
	}
	view, steps := a.Hist.At(now), 0
	var own []eval.Inconsistency // and not in place: the list is the checker's
	for _, inc := range found {
		switch {
		case steps > maxTouched || len(left) == maxBusy,
			slices.ContainsFunc(a.Checker.Eval(inc.Instance, view).Deps, func(d eval.Dep) bool { return a.touched(d, c.Busy, now, &steps) }):
			left = append(left, inc.Instance)
		default:
			own = append(own, inc)
		}
	}
	return own, left
}

// touched: a busy thread has changed something since its last C-point, or so much was changed that nobody looked.
func (a *Analysis) touched(d eval.Dep, busy []eval.Busy, now mgpp.Timestamp, steps *int) bool {
	since := now
	for _, b := range busy {
		since = min(since, b.Since)
	}
	var done []trace.ThreadID // that are through with what they changed here
	for t := a.Checker.LastChange(d, now); t > since; t = a.Checker.LastChange(d, t-1) {
		if *steps++; *steps > maxTouched {
			return true
		}
		by := a.Hist.Deed(t).Thread
		if by == 0 {
			return true
		}
		i := slices.IndexFunc(busy, func(b eval.Busy) bool { return b.Thread == by && b.Since < t })
		if i < 0 || slices.Contains(done, by) {
			continue
		}
		if busy[i].Inside || !a.longAgo(t, &busy[i]) {
			return true
		}
		done = append(done, by)
	}
	return false
}

// longAgo: a thread has written patience times since one of its changes was seen first.
func (a *Analysis) longAgo(t mgpp.Timestamp, b *eval.Busy) bool {
	then, seen := a.waited[t]
	if !seen {
		if a.waited == nil || len(a.waited) == maxWaited {
			a.waited = map[mgpp.Timestamp]uint64{}
		}
		a.waited[t] = b.Writes
		return false
	}
	return b.Writes-then >= patience
}

// sane notes a C-point at which nothing was found, but for what was left.
func (a *Analysis) sane(c *eval.CPoint, now mgpp.Timestamp, left []eval.Instance) {
	if len(left) == 0 {
		if c.Kind != "crash" {
			a.whole = now
		}
		a.healthy, a.sound = now, *c
		if len(a.ailing) > 0 {
			clear(a.ailing)
		}
	} else {
		a.ails(c, left)
	}
	a.previous = checkpoint{*c, now}
}

// ails takes what was left at a C-point: what is new among that was whole at the one before.
func (a *Analysis) ails(c *eval.CPoint, left []eval.Instance) {
	was := a.ailing
	a.ailing = make(map[eval.Instance]checkpoint, len(left))
	for i, p := range was {
		if !a.Checker.For(i, c.For) {
			a.ailing[i] = p // nobody asked
		}
	}
	for _, i := range left {
		if p, ok := was[i]; ok {
			a.ailing[i] = p
		} else {
			a.ailing[i] = a.previous
		}
	}
}

// saneFor is the last C-point at which nothing of what is found was broken: at the last at which nothing was, or later.
func (a *Analysis) saneFor(found []eval.Inconsistency) checkpoint {
	last := a.previous
	for i := range found {
		if p, ok := a.ailing[found[i].Instance]; ok && p.time < last.time {
			last = p
		}
	}
	if last.time <= a.healthy {
		return checkpoint{a.sound, a.healthy}
	}
	return last
}
