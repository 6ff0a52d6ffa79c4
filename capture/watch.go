package capture

import (
	"slices"

	"mgtrace/trace"
)

// watchCall is an open call of a watched function.
type watchCall struct {
	fn   int
	sp   uint64 // address of its return address
	ret  uint64
	tail bool // it jumped to another function, which returns in its place
}

func (a *Assembler) enterWatched(t *thread, h *Hit, f int) {
	t.calls = append(t.calls, watchCall{fn: f, sp: h.SP, ret: h.Regs.Ret})
	e := a.event(h, trace.KindCall)
	e.Aux = uint64(a.plan.Funcs[f].ID)
	e.SP = trace.Addr(h.SP)
	e.Args = h.Regs.Args[:]
	a.send(e)
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
	e := a.event(h, trace.KindReturn)
	e.Flags = flags
	e.Aux = uint64(a.plan.Funcs[c.fn].ID)
	e.SP = trace.Addr(c.sp)
	if flags&trace.FlagUnwound == 0 {
		e.Ret = result
	}
	a.send(e)
}
