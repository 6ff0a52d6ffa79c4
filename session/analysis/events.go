package analysis

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/trace"
)

// Event takes one event of the run.
func (a *Analysis) Event(ev *trace.Event) error {
	a.began = true
	a.foretold.seen(ev.Thread)
	if a.unended != nil {
		return a.beyond(ev)
	}
	if ofCall(ev.Kind) || len(a.around) > 0 { // the event itself stays as it came: other sinks record it
		a.event = *ev
		ev = &a.event
	}
	ret := ev.PC
	CallSite(ev)
	if ofCall(ev.Kind) && len(ev.Stack) > 0 {
		ev.PC, ret = a.own(ev.Stack), ev.Stack[0]
	}
	switch ev.Kind {
	case trace.KindAlloc, trace.KindFree, trace.KindRealloc:
		ev.PC = a.jumped(ev.PC, ret, ev.Name)
	}
	if len(a.unsure) > 0 && settles(ev.Kind) {
		a.settle(ev)
	}
	a.unread.note(ev)
	if eval.IsWrite(ev) {
		if err := a.members.Writes(ev.Thread); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case trace.KindMemory:
		return a.recorded(ev)
	case trace.KindBegin:
		return a.begin(ev)
	case trace.KindAround:
		a.takeAround(ev)
		return nil
	case trace.KindGlobal:
		a.event = *ev
		ev = &a.event
		ev.Aux = uint64(globalID(a.spec.Globals, ev.Name, trace.GlobalID(ev.Aux)))
	case trace.KindImage:
		return a.image(ev)
	case trace.KindPassed:
		a.calls.passed.note(ev)
		return nil
	case trace.KindStore, trace.KindBulk:
		a.attribute(ev)
	case trace.KindCease:
		a.memoryFaults()
		a.ceased, a.done = ev.Name, true
		return nil
	case trace.KindHeld:
		a.heldAt(ev)
		return nil
	case trace.KindWild:
		a.wild.note(ev)
		return nil
	case trace.KindQuiet:
		a.calls.quiet = a.Hist.Now()
		return nil
	case trace.KindFree:
		a.Schedule.Writes(ev.Thread, 1)
		if !a.Hist.Freeable(ev.Addr) && a.cacheFlush(ev) {
			return nil
		}
		_, err := a.Hist.Apply(ev)
		if _, local := trace.Local(ev.Name); local && err == nil {
			a.stacks.end(ev.Addr, a.Hist.Now())
		}
		return err // nothing but the history depends on blocks alone
	case trace.KindAlloc, trace.KindRealloc:
		a.Schedule.Writes(ev.Thread, 1)
		return a.allocated(ev)
	}
	if err := a.members.Before(ev); err != nil {
		return err
	}
	if err := a.apply(ev); err != nil {
		return err
	}
	switch ev.Kind {
	case trace.KindFork:
		a.forks++
		if ev.Flags&trace.FlagShares == 0 { // else its maker waits for it, or it is a thread of another kind
			a.apart, a.forked = true, a.Hist.Now()
		}
	case trace.KindSignal:
		a.Signalled(ev)
	case trace.KindThreadExit:
		delete(a.hands.of, ev.Thread)
	case trace.KindExit:
		a.Ended(ev)
	}
	a.stacks.note(ev)
	a.foretold.note(ev, a.Hist.Now())
	if ev.Kind == trace.KindLine {
		a.elisions.points.pass(ev.PC, a.Hist.Now())
	}
	points := a.Schedule.Event(ev, a.Hist.Now())
	for i := range points { // there may be millions: they are not copied
		if a.o.Observe != nil {
			a.o.Observe(points[i])
		} else {
			a.checkAt(&points[i], ev.PC)
		}
	}
	switch ev.Kind {
	case trace.KindCall, trace.KindReturn, trace.KindLine, trace.KindThreadExit:
		outermost, inner := a.Schedule.Outermost(ev.Thread), a.Schedule.Innermost(ev.Thread)
		a.calls.note(ev.Thread, outermost, ev.PC, ev.Args, a.Hist.Now())
		if inner == outermost {
			inner = nil // the log has it
		}
		a.calls.inner.note(ev.Thread, inner, ev.PC, ev.Args, a.Hist.Now())
	}
	return a.members.After(ev)
}

// globalID is the number that an object in static memory has in a specification: that of a recording is of the one that it was made
// with, or of the command line.
func globalID(declared []check.Global, name string, recorded trace.GlobalID) trace.GlobalID {
	n := trace.GlobalID(len(declared))
	if recorded > 0 && recorded <= n && declared[recorded-1].Name == name {
		return recorded
	}
	if i := slices.IndexFunc(declared, func(g check.Global) bool { return g.Name == name }); i >= 0 {
		return trace.GlobalID(i + 1)
	}
	if recorded > n {
		return recorded
	}
	return recorded + n // none of the specification's
}

// Sites implements capture.Sink.
func (a *Analysis) Sites(sites []trace.StoreSite) error {
	a.stores = sites
	return nil
}

// Stores implements capture.Sink: what Event does with each of them. C-points and members of
// structures depend on no more than that the thread writes.
func (a *Analysis) Stores(run *trace.Stores) error {
	a.began = true
	a.foretold.seen(run.Thread)
	a.Schedule.GoesOn(run.Thread)
	a.Schedule.Writes(run.Thread, len(run.Recs))
	if a.unended != nil {
		a.unended.left += uint64(len(run.Recs))
		return nil
	}
	if err := a.members.Writes(run.Thread); err != nil {
		return err
	}
	if _, ok := a.around[run.Thread]; ok && len(run.Recs) > 0 {
		run.Event(0, a.stores, &a.event)
		a.attribute(&a.event)
		if _, err := a.Hist.Apply(&a.event); err != nil {
			return err
		}
		rest := *run
		rest.Recs, rest.Instants = rest.Recs[1:], rest.Instants[min(1, len(rest.Instants)):]
		run = &rest
	}
	if err := a.take(run); err != nil {
		return err
	}
	a.sample(run)
	a.unending()
	return nil
}

// CallSite makes PC an address inside the instruction that did it: events of
// calls carry the return address, which may belong to the next line.
func CallSite(ev *trace.Event) {
	if ofCall(ev.Kind) && ev.PC > 0 {
		ev.PC--
	}
}

// cacheFlush reports whether the C library frees again, for itself, a block that
// the program has freed: a thread that ends gives the blocks in its cache back by
// calling free (glibc, malloc/malloc.c, tcache_thread_shutdown). No code of the
// program is on the stack then; in a static program the function has its name.
func (a *Analysis) cacheFlush(ev *trace.Event) bool {
	now := a.Hist.Now()
	if id, ok := a.Hist.NodeAtTime(ev.Addr, now); ok && a.Hist.Node(id).Start == ev.Addr {
		return false
	}
	if im, ok := a.Symbols.Image(ev.PC); ok && im.Traced {
		for _, f := range a.Symbols.Frames(ev.PC) {
			if f.Function == "tcache_thread_shutdown" || f.Function == "__malloc_arena_thread_freeres" {
				return true
			}
		}
		return false
	}
	for _, pc := range ev.Stack {
		if im, ok := a.Symbols.Image(pc - 1); ok && im.Traced {
			return false
		}
	}
	return true
}
