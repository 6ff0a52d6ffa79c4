package capture

import (
	"slices"

	"mgtrace/probe"
	"mgtrace/trace"
)

// A variable on a stack that is a node is a block from the first write to it in an activation of its function on, since
// before that nothing of it is meant, to the end of the activation, behind its KindReturn.

// local is such a variable of an activation.
type local struct {
	at     uint64
	of     *probe.Local
	thread trace.ThreadID
	entry  trace.Addr // of its function
}

// that says of such variables whether one is this, at an address.
func that(of *probe.Local, at uint64) func(local) bool {
	return func(l local) bool { return l.at == at && l.of == of }
}

func (a *Assembler) enterFrame(t *thread, h *Hit, f int) {
	t.calls = append(t.calls, watchCall{fn: f, sp: h.SP, ret: h.Regs.Ret, pc: h.PC, this: h.Regs.Args[0]})
	t.frames++
	locals := a.plan.Funcs[f].Locals
	for i := range locals {
		a.unborn = append(a.unborn, local{placeOf(&locals[i], h.SP), &locals[i], h.Thread, trace.Addr(h.PC)})
	}
}

// placeOf is where a variable lies in the frame whose return address is at sp.
func placeOf(l *probe.Local, sp uint64) uint64 { return sp + probe.AfterReturn + uint64(l.Offset) }

// bear tells of the variables that a write is the first to, which is about to be told.
func (a *Assembler) bear(e *trace.Event) {
	if !a.bears(uint64(e.Addr), max(e.Size, uint64(len(e.Data)))) {
		return
	}
	write := *e // it may be the assembler's own
	a.born(uint64(e.Addr), max(e.Size, uint64(len(e.Data))), write.Wall, write.Instant)
	*e = write
}

// bearAll does so for the stores of a run, ahead of all of them.
func (a *Assembler) bearAll(s *trace.Stores) {
	sites := a.stores.All()
	for i := range s.Recs {
		r := &s.Recs[i]
		width := uint64(1)
		if int(r.Site) < len(sites) {
			width = max(width, uint64(sites[r.Site].Width))
		}
		if a.bears(r.Addr, width) {
			a.born(r.Addr, width, s.Wall, s.InstantOf(i))
		}
	}
}

func (a *Assembler) bears(addr, size uint64) bool {
	return slices.ContainsFunc(a.unborn, func(l local) bool { return l.at < addr+size && addr < l.at+l.of.Size })
}

// born tells of those variables that a write goes to.
func (a *Assembler) born(addr, size uint64, wall int64, at trace.Instant) {
	a.unborn = slices.DeleteFunc(a.unborn, func(l local) bool {
		if l.at >= addr+size || addr >= l.at+l.of.Size {
			return false
		}
		a.ev = trace.Event{
			Kind: trace.KindAlloc, Thread: l.thread, Wall: wall, Instant: at, PC: l.entry + 1,
			Addr: trace.Addr(l.at), Size: l.of.Size, Name: l.of.Name, Stack: a.returns.one(l.entry + 1), // as if the function's first instruction were a call
		}
		a.send(&a.ev)
		return true
	})
}

// endFrame tells that the variables of an activation are gone.
func (a *Assembler) endFrame(h *Hit, c *watchCall) {
	t, f := a.threads.Of(h.Thread), &a.plan.Funcs[c.fn]
	t.frames--
	for i := range f.Locals {
		l := &f.Locals[i]
		at := placeOf(l, c.sp)
		n := len(a.unborn) + len(a.ended)
		a.unborn, a.ended = slices.DeleteFunc(a.unborn, that(l, at)), slices.DeleteFunc(a.ended, that(l, at))
		if len(a.unborn)+len(a.ended) == n && f.Name != "main" { // with that the program ends, and memory stays as it is
			a.end(h, at, l)
		}
	}
	if f.Ends {
		a.destroy(t, h, c.this)
	}
}

func (a *Assembler) end(h *Hit, at uint64, l *probe.Local) {
	e := a.event(h, trace.KindFree)
	e.Addr, e.Name, e.Stack = trace.Addr(at), l.Name, a.returns.one(e.PC+1)
	a.send(e)
}

// destroyed tells of the variables that an inlined destructor ends.
func (a *Assembler) destroyed(t *thread, h *Hit, d *probe.End) {
	sp := uint64(belowReturn(h, &d.Frame)) // a word below the place of the return address
	for i := range d.Locals {
		if sp != 0 {
			a.destroy(t, h, placeOf(&d.Locals[i], sp+8))
		}
	}
}

// destroy ends the variable of an open call that lies at an address. In C++ the lifetime of an object ends with its
// destructor, which need not leave anything in it that means something: with that of another one it is not judged any more.
func (a *Assembler) destroy(t *thread, h *Hit, at uint64) {
	for _, c := range t.calls {
		locals := a.plan.Funcs[c.fn].Locals
		for i := range locals {
			l := &locals[i]
			if placeOf(l, c.sp) != at || slices.ContainsFunc(a.unborn, that(l, at)) || slices.ContainsFunc(a.ended, that(l, at)) {
				continue
			}
			a.ended = append(a.ended, local{at: at, of: l})
			a.end(h, at, l)
		}
	}
}

// endFrames ends those that a thread has left when it ends.
func (a *Assembler) endFrames(t *thread, h *Hit) {
	for n := len(t.calls); n > 0; n-- {
		if c := &t.calls[n-1]; a.plan.Funcs[c.fn].Role == probe.RoleFrame {
			a.endFrame(h, c)
		}
	}
}
