package capture

import (
	"encoding/binary"
	"fmt"
	"strings"

	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/trace"
)

// sameStack bounds the distance of two stack pointers on one stack: frames are
// compared by address only within it, so that coroutines and signal stacks do
// not unwind each other.
const sameStack = 64 << 20

// An Unwinder returns the return addresses of a function entry and of the frames
// above it, innermost first. regs hold the registers as the caller will find them
// after the return, and it may change them; stack is the captured part of the
// stack, from the word below the stack pointer on. The result never changes.
type Unwinder func(regs *objfile.Regs, stack *Window) []trace.Addr

// Assembler makes events of hits. It is not safe for concurrent use.
type Assembler struct {
	plan    *probe.Plan
	sites   []Site
	unwind  Unwinder
	sink    func(*trace.Event) error
	runs    func(*trace.Stores) error // nil: stores of runs go to sink, one by one
	stores  SiteList                  // what Stores.Recs name: by index in Plan.Stores, and calls
	threads trace.Threads[thread]
	live    *blocks // nil: no declared allocator needs it
	divided dividedBlocks
	objects []staticObject // in which a declared allocator may have its own; nil: none needs it
	pieces  *blocks        // that were given out of declared objects in static memory, freed ones too; nil: live is
	ev      trace.Event
	err     error
	beside  bool // functions are watched that nobody named, and no others
	told    int  // calls of these
	quiet   bool // no more are told

	args     []uint64     // of the call that is told
	begun    []byte       // how an inlined call does
	window   Window       // what unwinding reads
	regs     objfile.Regs // scratch of unwinding
	returns  stackSet     // return addresses alone, where there is no more
	inlinePt []bool       // by index in Plan.Points
	bodies   []body       // by index in Plan.Funcs
	unborn   []local      // of all threads: nothing has been written there yet
	ended    []local      // likewise: a destructor has ended them
}

// thread is what is open in one thread.
type thread struct {
	allocs  []allocCall // outermost first
	calls   []watchCall // outermost first
	frames  int         // so many of them are of a RoleFrame
	write   chunks
	held    heldWrites   // inside a declared allocator
	given   []innerBlock // by other allocators inside of its call, which has not returned
	cleared bool         // the bulk write that is under way is the end of a calloc
}

// inside says that a call of the thread is open.
func (t *thread) inside() bool { return len(t.calls)+len(t.allocs) > 0 }

// calling says the same, but for functions that are followed for nothing but their variables.
func (t *thread) calling() bool { return len(t.calls) > t.frames || len(t.allocs) > 0 }

// New returns an assembler for hits at sites, which must be Sites(plan). It
// gives each event to sink, whose error ends the recording. unwind may be nil:
// stacks then hold the return address alone.
func New(plan *probe.Plan, sites []Site, unwind Unwinder, sink func(*trace.Event) error) *Assembler {
	a := &Assembler{
		plan:     plan,
		sites:    sites,
		unwind:   unwind,
		sink:     sink,
		inlinePt: make([]bool, len(plan.Points)),
		bodies:   make([]body, len(plan.Funcs)),
		beside:   len(plan.Operations) > 0,
	}
	for i := range plan.Funcs {
		if plan.Funcs[i].Declared {
			a.live, a.pieces, a.objects = newBlocks(), newBlocks(), objectsOf(plan)
		}
	}
	for i := range plan.Points {
		a.inlinePt[i] = strings.HasPrefix(plan.Points[i].Point.Kind, "inline")
	}
	a.open(plan.Open)
	return a
}

// Hit takes one hit, in the order of the run. The error is the sink's, or says
// that the hit does not fit the plan.
func (a *Assembler) Hit(h *Hit) error {
	if a.err != nil {
		return a.err
	}
	if err := a.check(h); err != nil {
		a.err = err
		return err
	}
	t := a.threads.Of(h.Thread)
	if t.inside() && h.Op != Bulk && h.Flags&Late == 0 { // those carry an earlier stack pointer
		a.unwound(t, h)
	}
	a.dispatch(t, h)
	return a.err
}

// Plain says that a call of the C library's allocator in the thread is an event, and no more: it may
// stand in a run.
func (a *Assembler) Plain(id trace.ThreadID) bool {
	t := a.threads.Of(id)
	inside := t.calling()
	if a.beside { // that such a call was left by an exception may be told a little later
		inside = len(t.allocs) > 0
	}
	return a.live == nil && !inside && !t.write.open && len(t.held.all) == 0
}

// AllocOf is the event that an outermost call of a function is, and its flags: KindAlloc or KindFree;
// 0: another one, or several.
func AllocOf(f *probe.Func) (trace.Kind, trace.Flags) {
	switch f.Role {
	case probe.RoleFree:
		return trace.KindFree, 0
	case probe.RoleCalloc:
		return trace.KindAlloc, trace.FlagZeroed
	case probe.RoleRealloc, probe.RoleReallocArray, probe.RoleStrdup, probe.RoleWatch, probe.RoleWriter, probe.RoleWait, probe.RoleFrame:
		return 0, 0
	}
	return trace.KindAlloc, 0
}

// check says whether the index of a hit exists.
func (a *Assembler) check(h *Hit) error {
	n := -1
	switch h.Op {
	case Store:
		n = len(a.plan.Stores)
	case Bulk, Alloc, Return:
		n = len(a.plan.Funcs)
	case Stop:
		n = len(a.sites)
	}
	if n >= 0 && (h.Index < 0 || h.Index >= n) {
		return fmt.Errorf("hit of kind %d: no index %d in %d", h.Op, h.Index, n)
	}
	return nil
}

func (a *Assembler) dispatch(t *thread, h *Hit) {
	if t.write.open && (h.Offset == 0 || !h.Op.writes()) {
		a.cut(t) // the rest of a write was lost
	}
	switch h.Op {
	case Store, Bulk, Syscall, Found, Passed:
		a.write(t, h)
	case Stop:
		a.stop(t, h)
	case Alloc:
		a.alloc(t, h)
	case Return:
		a.leave(t, h, h.Index, false)
	case Map:
		a.memory(h, trace.KindMap, h.Addr, h.Size)
	case Unmap:
		a.memory(h, trace.KindUnmap, h.Addr, h.Size)
	case Break:
		if h.Addr > h.Base {
			a.memory(h, trace.KindMap, h.Base, h.Addr-h.Base)
		} else {
			a.memory(h, trace.KindUnmap, h.Addr, h.Base-h.Addr)
		}
	case Thread:
		a.send(a.event(h, trace.KindThreadStart))
	case ThreadExit:
		a.release(t, 0, 0, 0)
		a.endFrames(t, h)
		a.send(a.event(h, trace.KindThreadExit))
		a.threads.Delete(h.Thread)
	case Fork:
		e := a.event(h, trace.KindFork)
		e.Aux = uint64(h.Index)
		if h.Flags&Shares != 0 {
			e.Flags = trace.FlagShares
		}
		a.send(e)
	case Exec:
		a.number(h, trace.KindExec)
	case Signal:
		e := a.event(h, trace.KindSignal)
		e.Addr = trace.Addr(h.Addr)
		e.Aux = uint64(h.Index)
		if h.Base != 0 {
			e.Flags = trace.FlagHandled
		}
		e.Stack = a.interrupted(t, h)
		if e.Args = h.Registers; e.Args != nil {
			most := maxSignalStack
			if h.Base != 0 {
				most = maxHandledStack
			}
			e.Data = append(h.Below, h.Stack[:min(len(h.Stack), most)]...)
			e.Base, e.Size = trace.Addr(h.SP+h.Skip)-trace.Addr(len(h.Below)), uint64(len(e.Data))
		}
		a.send(e)
	case Exit:
		a.number(h, trace.KindExit)
	case Lost:
		e := a.event(h, trace.KindLost)
		e.Size = h.Size
		a.send(e)
	}
}

// stop handles a hit of a function entry, point or return.
func (a *Assembler) stop(t *thread, h *Hit) {
	s := &a.sites[h.Index]
	if len(s.Enter) > 0 {
		a.replaced(t, h, s.Enter)
		a.replacedAllocs(t, h)
	}
	for _, f := range s.Enter {
		a.enter(t, h, f)
	}
	if s.Around {
		a.around(t, h)
	}
	for _, p := range s.Points {
		if end := p - len(a.plan.Points); end >= 0 {
			a.destroyed(t, h, &a.plan.Ends[end])
			continue
		}
		pt := &a.plan.Points[p]
		if pt.Begins() {
			a.begins(h, &pt.Frame)
		}
		e := a.event(h, trace.KindLine)
		e.Aux = uint64(pt.ID)
		if a.inlinePt[p] {
			e.Flags, e.SP = trace.FlagInline, belowReturn(h, &pt.Frame)
		}
		a.send(e)
	}
	for _, f := range s.Leave {
		a.leave(t, h, f, s.Tail)
	}
}

// maxBegun is how much of its frame is told where an inlined call begins, bytes.
const maxBegun = 256

// begins tells with which registers the inlined call begins that a point tells of next, and what lies in the frame that it is in.
func (a *Assembler) begins(h *Hit, f *probe.Frame) {
	r := &h.Regs
	words := [trace.BegunRegs]uint64{h.Result, 0, 0, r.BX, 0, 0, r.BP, h.SP, 0, 0, 0, 0, r.R12, r.R13, r.R14, r.R15, h.PC}
	for i, n := range objfile.ArgRegs {
		words[n] = r.Args[i]
	}
	a.begun = a.begun[:0]
	for _, w := range words {
		a.begun = binary.LittleEndian.AppendUint64(a.begun, w)
	}
	frame := h.Stack[:min(len(h.Stack), maxBegun)]
	if below := belowReturn(h, f); below != 0 {
		frame = frame[:min(uint64(len(frame)), uint64(below)+8-h.SP)]
	}
	a.begun = append(a.begun, frame[:len(frame)&^7]...)
	e := a.event(h, trace.KindPassed)
	e.Addr, e.Size, e.Data = trace.RegsAddr, uint64(len(a.begun)), a.begun
	a.send(e)
}

// belowReturn is what frames are told apart by: the word below the return address. It lies below
// what Call and Return have of the same frame, and not below what they have of its callees. 0:
// nothing tells where the frame is.
func belowReturn(h *Hit, f *probe.Frame) trace.Addr {
	switch {
	case !f.Known:
		return 0
	case f.ByBP:
		return trace.Addr(h.Regs.BP + uint64(f.Offset) - 16)
	default:
		return trace.Addr(h.SP + uint64(f.Offset) - 16)
	}
}

func (a *Assembler) enter(t *thread, h *Hit, f int) {
	switch a.plan.Funcs[f].Role {
	case probe.RoleWatch:
		a.enterWatched(t, h, f)
	case probe.RoleFrame:
		a.enterFrame(t, h, f)
	case probe.RoleWriter: // the engine follows it itself and reports Bulk
	default:
		if h.Flags&Whole == 0 {
			a.enterAlloc(t, h, f)
		}
	}
}

func (a *Assembler) leave(t *thread, h *Hit, f int, tail bool) {
	switch a.plan.Funcs[f].Role {
	case probe.RoleWatch, probe.RoleFrame:
		a.leaveWatched(t, h, f, tail)
	case probe.RoleWriter, probe.RoleWait:
	default:
		if h.Flags&Whole == 0 {
			a.leaveAlloc(t, h, tail)
		}
	}
}

// unwound closes the frames that lie below the stack pointer of a hit: they
// were left by an exception, longjmp, or the return of a function that they
// jumped to.
func (a *Assembler) unwound(t *thread, h *Hit) {
	for n := len(t.calls); n > 0 && (Left(t.calls[n-1].sp, h.SP) || a.left(&t.calls[n-1], h)); n-- {
		c := &t.calls[n-1]
		if c.tail && h.Op == Stop && h.PC == c.ret && h.SP == c.sp+8 {
			a.returned(h, *c, 0, h.Result) // right where it was called
		} else {
			a.returned(h, *c, trace.FlagUnwound, 0)
		}
		t.calls = t.calls[:n-1]
	}
	n := len(t.allocs)
	for n > 0 && Left(t.allocs[n-1].sp, h.SP) {
		n--
	}
	if n < len(t.allocs) {
		t.allocs = t.allocs[:n]
		if n == 0 {
			a.tellInner(t, h, 0, 0)
			a.release(t, 0, 0, 0)
		}
	}
}

// Left says that a frame whose return address lies at frame has been left when
// the stack pointer is sp.
func Left(frame, sp uint64) bool { return frame < sp && sp-frame < sameStack }

// event returns the assembler's one event, filled with what all kinds share.
func (a *Assembler) event(h *Hit, k trace.Kind) *trace.Event {
	e := &a.ev
	*e = trace.Event{} // and no literal: it would be made elsewhere and copied
	e.Kind, e.Thread, e.Wall, e.Instant, e.PC = k, h.Thread, h.Wall, h.Instant, trace.Addr(h.PC)
	return e
}

func (a *Assembler) number(h *Hit, k trace.Kind) {
	e := a.event(h, k)
	e.Aux = uint64(h.Index)
	a.send(e)
}

func (a *Assembler) memory(h *Hit, k trace.Kind, addr, size uint64) {
	e := a.event(h, k)
	e.Addr, e.Size = trace.Addr(addr), size
	if k == trace.KindUnmap && a.live != nil {
		a.live.removeRange(addr, size)
	}
	a.send(e)
}

func (a *Assembler) send(e *trace.Event) {
	if a.err == nil {
		a.err = a.sink(e)
	}
}
