package analysis

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// While one thread is at a C-point, others may be half-way in what they do, inside of a C-point function or in code that
// nobody watches. What another thread has made of a structure since its own last C-point is not judged, nor are the nodes that it has in
// hand: one that it has taken out is not kept up to date by others. What none has touched is judged:
// were they not there, it would be broken all the same. So threads that have structures of their own are judged as one alone is.
//
// A thread that is inside of no C-point function may never come to one again, as one that has started others and waits for them. It has left
// what it has changed as it meant to when it has ended, or written patience times since, and what another thread has changed after it
// is that one's.

// Limits of what is asked at one C-point, beyond which nothing more is judged there, and of what is remembered.
const (
	maxBusy    = 64      // instances that are broken
	maxTouched = 1 << 12 // changes of what they depend on
	maxWaited  = 1 << 12 // changes
	patience   = 1 << 10
	maxMissed  = 1 << 17 // changes between two looks at what threads have in hand
	maxHeld    = 1 << 13 // nodes in one thread's hand
	maxLinks   = 8       // pointers that one change stored
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
	if len(found) > 0 {
		a.hands.follow(a, now)
	}
	since := now
	for _, b := range c.Busy {
		since = min(since, b.Since)
	}
	view, steps := a.Hist.At(now), 0
	touched := func(d eval.Dep) bool { return a.touched(d, c.Busy, since, now, &steps) }
	var own []eval.Inconsistency // and not in place: the list is the checker's
	for _, inc := range found {
		switch {
		case steps > maxTouched || len(left) >= maxBusy || a.inHand(&inc.Instance, c.Busy),
			slices.ContainsFunc(a.Checker.Eval(inc.Instance, view).Deps, touched):
			left = append(left, inc.Instance)
		default:
			own = append(own, inc)
		}
	}
	return own, left
}

// touched: a busy thread has changed something since its last C-point, or so much was changed that nobody looked. since is
// the oldest of these C-points.
func (a *Analysis) touched(d eval.Dep, busy []eval.Busy, since, now mgpp.Timestamp, steps *int) bool {
	last := a.Checker.LastChange(d, now)
	if last == 0 && (a.prog.Before != nil || a.begins != nil) && slices.ContainsFunc(busy, func(b eval.Busy) bool { return b.Inside && b.Since == 0 }) {
		return true // nobody saw what a thread had done of its call when recording began
	}
	for t := last; t > since; t = a.Checker.LastChange(d, t-1) {
		if *steps++; *steps > maxTouched {
			return true
		}
		by := a.Hist.Deed(t).Thread
		if by == 0 {
			return true
		}
		i := slices.IndexFunc(busy, func(b eval.Busy) bool { return b.Thread == by && b.Since < t })
		if i >= 0 && (busy[i].Inside || t == last && !a.longAgo(t, &busy[i])) {
			return true
		}
	}
	return false
}

// hands are the nodes that threads have written to, made or freed, or taken a pointer to from somewhere or stored one to, with the time when
// each did so last.
type hands struct {
	of     map[trace.ThreadID]map[graph.ObjID]mgpp.Timestamp
	seen   mgpp.Timestamp // changes up to there were looked at
	missed mgpp.Timestamp // and up to there some were not: nothing is judged while a thread is inside that came there before
}

// follow looks at the changes since the last time. Of all threads: who is busy with nothing of this type now may be busy later.
func (h *hands) follow(a *Analysis, now mgpp.Timestamp) {
	if h.of == nil {
		h.of = map[trace.ThreadID]map[graph.ObjID]mgpp.Timestamp{}
	}
	if now-h.seen > maxMissed {
		h.seen, h.missed = now-maxMissed, now-maxMissed
	}
	for t := h.seen + 1; t <= now; t++ {
		by := a.Hist.Deed(t).Thread
		held := h.of[by]
		if held == nil {
			held = map[graph.ObjID]mgpp.Timestamp{}
			h.of[by] = held
		}
		a.takes(t, func(o graph.ObjID) { held[o] = t })
		if len(held) > maxHeld {
			h.missed = t
			clear(held)
		}
	}
	h.seen = now
}

// takes yields the nodes that a change takes in hand.
func (a *Analysis) takes(t mgpp.Timestamp, yield func(graph.ObjID)) {
	op := a.Hist.Op(t)
	before, after := a.Hist.At(t-1), a.Hist.At(t)
	for _, v := range [2]mgpp.View{before, after} {
		for _, o := range a.Graph.At(v, op.Addr) {
			yield(o)
		}
		if op.Kind != mgpp.OpStore && op.Kind != mgpp.OpBulk {
			continue
		}
		for k := range min(op.Size/8, maxLinks) {
			to := v.Target(op.Addr+trace.Addr(8*k), coded.Plain)
			if to.State != mgpp.Points {
				continue
			}
			for _, o := range a.Graph.At(v, trace.Addr(to.Value)) {
				yield(o)
			}
		}
	}
}

// inHand: a node that an instance is about is in a busy thread's hand.
func (a *Analysis) inHand(i *eval.Instance, busy []eval.Busy) bool {
	for k := range busy {
		b := &busy[k]
		if b.Inside && b.Since < a.hands.missed {
			return true
		}
		held := a.hands.of[b.Thread]
		in := func(o graph.ObjID) bool {
			t, ok := held[o]
			return ok && o != 0 && t > b.Since && (b.Inside || !a.hands.handedOn(o, t) && !a.longAgo(t, b))
		}
		if slices.ContainsFunc(i.Nodes[:], in) || in(i.SCC) {
			return true
		}
	}
	return false
}

// handedOn: another thread has had a node in hand after that time.
func (h *hands) handedOn(o graph.ObjID, t mgpp.Timestamp) bool {
	for _, held := range h.of {
		if held[o] > t {
			return true
		}
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
		clear(a.ailing)
		return
	}
	a.ails(c, left)
	a.partly = checkpoint{*c, now}
}

// previous is the last C-point at which nothing was found, be it that something was left.
func (a *Analysis) previous() checkpoint {
	if a.partly.time > a.healthy {
		return a.partly
	}
	return checkpoint{a.sound, a.healthy}
}

// ails takes what was left at a C-point: what is new among that was whole at the one before.
func (a *Analysis) ails(c *eval.CPoint, left []eval.Instance) {
	was, before := a.ailing, a.previous()
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
			a.ailing[i] = before
		}
	}
}

// saneFor is the last C-point at which nothing of what is found was broken: at the last at which nothing was, or later.
func (a *Analysis) saneFor(found []eval.Inconsistency) checkpoint {
	last := a.previous()
	for i := range found {
		if p, ok := a.ailing[found[i].Instance]; ok && p.time < last.time {
			last = p
		}
	}
	return last
}
