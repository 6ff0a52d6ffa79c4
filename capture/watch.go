package capture

import (
	"maps"
	"slices"

	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/trace"
)

// watchCall is an open call of a watched function.
type watchCall struct {
	fn   int
	sp   uint64 // address of its return address
	ret  uint64
	pc   uint64 // its entry
	this uint64 // of a destructor (probe.Func.Ends): what it ends
	tail bool   // it jumped to another function, which returns in its place
}

// open takes over the calls that recording found open: their returns are
// events, as those of calls that it saw beginning.
func (a *Assembler) open(calls []probe.OpenCall) {
	for _, c := range calls {
		if c.Point != 0 {
			continue // no call: its end is a point
		}
		f := &a.plan.Funcs[c.Func]
		pc := f.Entry.Addr + a.plan.Images[f.Entry.Image].Bias
		t := a.threads.Of(c.Thread)
		t.calls = append(t.calls, watchCall{fn: c.Func, sp: c.SP, ret: c.Ret, pc: pc})
	}
}

// Quiet says that calls of functions that nobody named are not told any more.
func (a *Assembler) Quiet() bool { return a.quiet }

// silence ends the calls that are open of functions that nobody named: when they really end is not known.
func (a *Assembler) silence(h *Hit) {
	a.quiet = true
	for _, id := range slices.Sorted(maps.Keys(maps.Collect(a.threads.All()))) {
		t := a.threads.Of(id)
		for n := len(t.calls); n > 0; n-- {
			c := &t.calls[n-1]
			if !a.plan.Funcs[c.fn].Beside { // a frame: no others are followed then
				continue
			}
			e := a.event(h, trace.KindReturn)
			e.Thread, e.Flags, e.Aux, e.SP = id, trace.FlagUnwound, uint64(a.plan.Funcs[c.fn].ID), trace.Addr(c.sp)
			a.send(e)
			t.calls = slices.Delete(t.calls, n-1, n)
		}
	}
	a.send(a.event(h, trace.KindQuiet))
}

func (a *Assembler) enterWatched(t *thread, h *Hit, f int) {
	if a.plan.Funcs[f].Beside {
		if a.quiet {
			return
		}
		if a.told++; a.told > probe.MaxCalls {
			a.silence(h)
			return
		}
	}
	t.calls = append(t.calls, watchCall{fn: f, sp: h.SP, ret: h.Regs.Ret, pc: h.PC})
	e := a.event(h, trace.KindCall)
	if a.fromInstance(h.Regs.Ret, a.plan.Funcs[f].ID) {
		e.Flags |= trace.FlagInline
	}
	e.Aux = uint64(a.plan.Funcs[f].ID)
	e.SP = trace.Addr(h.SP)
	e.Args = a.arguments(h, &a.plan.Funcs[f])
	a.send(e)
}

// arguments are those of a call in their order; 0 for one that is nowhere. They are valid until
// the next call.
func (a *Assembler) arguments(h *Hit, f *probe.Func) []uint64 {
	if f.Args == nil {
		return h.Regs.Args[:]
	}
	a.args = a.args[:0]
	for _, arg := range f.Args {
		if arg.Reg >= 0 {
			arg.Value = h.Regs.Args[arg.Reg]
		}
		a.args = append(a.args, arg.Value)
	}
	return a.args
}

// fromInstance: a call that returns to ret was made in an inlined instance of the function.
func (a *Assembler) fromInstance(ret uint64, f trace.FuncID) bool {
	return slices.ContainsFunc(a.plan.Inlined[f], func(in probe.Instance) bool {
		call := ret - 1 - a.plan.Images[in.Image].Bias
		return slices.ContainsFunc(in.Ranges, func(r [2]uint64) bool { return r[0] <= call && call < r[1] })
	})
}

// replaced closes the calls whose return address lies where that of the
// functions now entered does: they never returned. A call that jumped here
// stays open, unless one of the functions is among those that jumped: then it
// was called anew.
func (a *Assembler) replaced(t *thread, h *Hit, entered []int) {
	n := len(t.calls)
	i := n
	again := false
	for i > 0 && t.calls[i-1].sp == h.SP {
		i--
		again = again || slices.Contains(entered, t.calls[i].fn)
	}
	if i == n || t.calls[n-1].tail && !again {
		return
	}
	for j := n - 1; j >= i; j-- {
		a.returned(h, t.calls[j], trace.FlagUnwound, 0)
	}
	t.calls = t.calls[:i]
}

func (a *Assembler) leaveWatched(t *thread, h *Hit, f int, tail bool) {
	n := len(t.calls)
	i := n - 1
	for i >= 0 && (t.calls[i].sp != h.SP || t.calls[i].fn != f) {
		if t.calls[i].sp > h.SP {
			return // a return of a call that began before recording did
		}
		i--
	}
	if i < 0 {
		return
	}
	if tail {
		t.calls[i].tail = true
		return
	}
	for j := n - 1; j >= i; j-- {
		flags := trace.Flags(0)
		if t.calls[j].sp != h.SP {
			flags = trace.FlagUnwound
		}
		a.returned(h, t.calls[j], flags, h.Result)
	}
	// Those that jumped here return with it.
	for i > 0 && t.calls[i-1].sp == h.SP && t.calls[i-1].tail {
		i--
		a.returned(h, t.calls[i], 0, h.Result)
	}
	t.calls = t.calls[:i]
}

func (a *Assembler) returned(h *Hit, c watchCall, flags trace.Flags, result uint64) {
	if a.plan.Funcs[c.fn].Role == probe.RoleFrame {
		a.endFrame(h, &c)
		return
	}
	e := a.event(h, trace.KindReturn)
	e.Flags = flags
	e.Aux = uint64(a.plan.Funcs[c.fn].ID)
	e.SP = trace.Addr(c.sp)
	if flags&trace.FlagUnwound == 0 {
		e.Ret = result
	}
	a.send(e)
}

// body is the code of a watched function.
type body struct {
	known bool // the rest was looked up
	fn    objfile.Func
}

// left says that the frame of a call is gone although the stack pointer is at
// its return address: only the function itself (and one that it jumped to) runs
// there, and this hit lies in another.
func (a *Assembler) left(c *watchCall, h *Hit) bool {
	if c.sp != h.SP || c.tail || h.Op != Store && h.Op != Stop || h.Op == Stop && len(a.sites[h.Index].Enter) > 0 {
		return false
	}
	f := &a.plan.Funcs[c.fn]
	b := &a.bodies[c.fn]
	if !b.known {
		b.known = true
		if file := a.plan.Images[f.Entry.Image].File; file != nil {
			b.fn, _ = file.FuncAt(f.Entry.Addr)
		}
	}
	return b.fn.Size > 0 && !b.fn.Contains(h.PC-c.pc+f.Entry.Addr)
}
