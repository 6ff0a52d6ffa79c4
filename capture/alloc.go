package capture

import (
	"encoding/binary"

	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/trace"
)

// allocCall is an open call of an allocator or of free.
type allocCall struct {
	fn    int
	sp    uint64 // address of its return address
	ret   uint64
	ptr   uint64
	size  uint64
	known bool   // size is known
	tail  bool   // it jumped to another allocator, which returns in its place
	chunk uint64 // of a declared allocator's call: the most that it took from another one, bytes; 0 if its piece is known to lie elsewhere
	from  uint64 // where the chunk begins; 0: that is not known
	whole bool   // of a declared allocator's call: ptr is a piece that is all of what was taken for it
	old   uint64 // of a declared allocator's call that resizes a block: how large that was; 0: it is not known
	ended bool   // that the block at ptr is no more has been told
	stack []trace.Addr
}

// enterAlloc opens a call. Nested ones are kept so that their returns are not mistaken for that
// of the outermost one; what they do matters inside of a declared allocator only.
func (a *Assembler) enterAlloc(t *thread, h *Hit, f int) {
	fn := &a.plan.Funcs[f]
	c := allocCall{fn: f, sp: h.SP, ret: h.Regs.Ret}
	if fn.Ptr > 0 {
		c.ptr = argument(h, fn.Ptr)
	}
	c.size, c.known = requested(fn, h)
	if n := len(t.allocs); n > 0 {
		outer := &t.allocs[0]
		if !outer.known && c.known && a.plan.Funcs[outer.fn].Role == probe.RoleStrdup {
			outer.size, outer.known = c.size, true
		}
		a.inside(t, h, outer, &c)
		t.allocs = append(t.allocs, c)
		return
	}
	c.stack = a.backtrace(t, h)
	if fn.Declared && fn.Ptr > 0 {
		b := a.live.at[c.ptr]
		c.whole, c.old = b.whole, b.size
	}
	c.ended = c.ptr != 0 && a.frees(&c)
	t.allocs = append(t.allocs, c)
	if c.ended {
		a.freed(h, &c)
	}
}

// frees: the call is one of free, or one of a declared allocator that resizes its block to nothing.
func (a *Assembler) frees(c *allocCall) bool {
	f := &a.plan.Funcs[c.fn]
	return f.Role == probe.RoleFree || f.Role == probe.RoleRealloc && f.Declared && c.known && c.size == 0 && c.ptr != 0
}

// resizes: the thread is inside of a declared allocator's call that resizes the block in which an address lies. What that writes
// there is not the program's: it has put what was left behind into a list of free ones, say.
func (t *thread) resizes(addr uint64) bool {
	if len(t.allocs) == 0 {
		return false
	}
	c := &t.allocs[0]
	return !c.ended && addr-c.ptr < c.old
}

// alloc takes an outermost call that an engine has followed itself.
func (a *Assembler) alloc(t *thread, h *Hit) {
	if t.inside() {
		a.replaced(t, h, nil)
		a.replacedAllocs(t, h)
	}
	var c allocCall // and no literal: it would be made elsewhere and copied
	c.fn, c.sp, c.ret, c.ptr, c.size, c.known = h.Index, h.SP, h.Regs.Ret, h.Addr, h.Size, true
	c.stack = a.backtrace(t, h)
	if a.plan.Funcs[c.fn].Role == probe.RoleFree {
		a.freed(h, &c)
		return
	}
	a.complete(t, h, &c, h.Result)
}

// replacedAllocs forgets the calls whose place on the stack is entered anew and
// that did not jump here. A call that has a uretprobe, which takes functions that
// always return, can only have jumped (glibc's realloc(NULL, n) to malloc).
func (a *Assembler) replacedAllocs(t *thread, h *Hit) {
	n := len(t.allocs)
	for n > 0 && t.allocs[n-1].sp == h.SP && !t.allocs[n-1].tail && !a.plan.Funcs[t.allocs[n-1].fn].Uretprobe {
		n--
	}
	t.allocs = t.allocs[:n]
}

// requested computes the size that a call asks for.
func requested(fn *probe.Func, h *Hit) (uint64, bool) {
	return fn.Requested(func(n int) uint64 { return argument(h, n) })
}

func argument(h *Hit, n int) uint64 {
	if n < 1 || n > len(h.Regs.Args) {
		return 0
	}
	return h.Regs.Args[n-1]
}

// leaveAlloc closes the calls at this stack pointer and what was left open
// below it.
func (a *Assembler) leaveAlloc(t *thread, h *Hit, tail bool) {
	i := len(t.allocs) - 1
	for i >= 0 && t.allocs[i].sp < h.SP {
		i--
	}
	if i < 0 || t.allocs[i].sp != h.SP {
		return
	}
	if tail {
		t.allocs[i].tail = true
		t.allocs = t.allocs[:i+1]
		return
	}
	for i > 0 && t.allocs[i-1].sp == h.SP {
		i--
	}
	c := &t.allocs[i]
	block := h.Result
	if a.plan.Funcs[c.fn].Role == probe.RolePosix {
		block = 0
		if int32(h.Result) == 0 {
			block = h.Base
		}
	}
	if i > 0 {
		a.innerReturned(t, h, c, block)
	} else {
		a.complete(t, h, c, block)
	}
	t.allocs = t.allocs[:i]
}

// complete reports an outermost call that has returned, with the block that it gave.
func (a *Assembler) complete(t *thread, h *Hit, c *allocCall, block uint64) {
	role := a.plan.Funcs[c.fn].Role
	if role == probe.RoleFree {
		block = 0 // what it returns is none
	}
	kept := uint64(0)
	if role == probe.RoleRealloc && a.plan.Funcs[c.fn].Declared && !c.ended {
		kept = min(c.old, c.size)
	}
	c.place(t.given, block)
	a.took(h, c, block)
	a.tellInner(t, h, block, c.size)
	if block == 0 {
		a.release(t, 0, 0, 0)
	}
	switch role {
	case probe.RoleFree:
		return
	case probe.RoleRealloc, probe.RoleReallocArray:
		a.reallocated(t, h, c, block)
	default:
		a.allocated(t, h, c, block)
	}
	a.release(t, block, c.size, kept)
}

func (a *Assembler) allocated(t *thread, h *Hit, c *allocCall, block uint64) {
	if block == 0 {
		a.send(a.allocEvent(h, c, trace.KindRefused))
		return
	}
	if a.live != nil {
		a.givenUp(t, h, block, c.size)
		a.divide(h, c, block)
	}
	e := a.allocEvent(h, c, trace.KindAlloc)
	if a.plan.Funcs[c.fn].Role == probe.RoleCalloc {
		e.Flags = trace.FlagZeroed
	}
	e.Addr = trace.Addr(block)
	if a.live != nil {
		a.live.add(block, c.size, c.fn)
		if c.chunk > 0 && !divides(c) {
			a.live.whole(block)
		}
	}
	a.send(e)
	if a.live != nil {
		a.givenOut(t, block, c.size, c.fn)
	}
}

func (a *Assembler) reallocated(t *thread, h *Hit, c *allocCall, block uint64) {
	switch {
	case block == 0 && c.size == 0 && (c.ptr == 0 || c.ended):
		return // nothing was asked for
	case c.ptr == 0, c.ended:
		a.allocated(t, h, c, block)
		return
	case block == 0 && c.size == 0: // glibc: realloc(p, 0) frees
		a.freed(h, c)
		return
	case block == 0:
		e := a.allocEvent(h, c, trace.KindRefused)
		e.Addr = trace.Addr(c.ptr)
		a.send(e)
		return
	}
	kind := trace.KindRealloc
	if block != c.ptr && a.live != nil {
		_, piece := a.live.at[c.ptr]
		if size := a.endChunk(h, c); size > 0 && piece {
			kind = trace.KindAlloc // the piece has been freed, and it is not that one which moves
		}
	}
	if c.old > 0 && a.live.at[c.ptr].size == 0 {
		kind = trace.KindAlloc // likewise, with its chunk
	}
	if block != c.ptr && a.live != nil {
		a.givenUp(t, h, block, c.size)
		a.divide(h, c, block)
	}
	e := a.allocEvent(h, c, kind)
	e.Addr = trace.Addr(block)
	if kind == trace.KindRealloc {
		e.Aux = c.ptr
	}
	if a.live != nil {
		a.live.remove(c.ptr)
		a.live.add(block, c.size, c.fn)
		if c.chunk > 0 && !divides(c) || c.whole && c.chunk == 0 && block == c.ptr {
			a.live.whole(block)
		}
	}
	a.send(e)
	if block != c.ptr && a.live != nil {
		a.givenOut(t, block, c.size, c.fn)
	}
}

// freed reports the end of a block, or of a chunk: where no piece lies at its beginning, one may
// have been freed there, and it is not that one which is freed again.
func (a *Assembler) freed(h *Hit, c *allocCall) {
	if a.plan.Funcs[c.fn].Later && a.live != nil {
		a.freedLater(h, c)
		return
	}
	if size := a.endChunk(h, c); size > 0 {
		if _, piece := a.live.at[c.ptr]; !piece {
			a.memory(h, trace.KindUnmap, c.ptr, size)
			return
		}
	}
	e := a.allocEvent(h, c, trace.KindFree)
	e.Addr = trace.Addr(c.ptr)
	e.Size = 0
	if a.live != nil {
		a.live.remove(c.ptr)
	}
	a.send(e)
}

func (a *Assembler) allocEvent(h *Hit, c *allocCall, k trace.Kind) *trace.Event {
	e := a.event(h, k)
	e.PC = trace.Addr(c.ret)
	e.Name = a.plan.Funcs[c.fn].Name
	e.Size = c.size
	e.Stack = c.stack
	return e
}

// backtrace returns the return addresses above a function entry, innermost
// first.
func (a *Assembler) backtrace(t *thread, h *Hit) []trace.Addr {
	switch {
	case h.Calls != nil:
		return h.Calls
	case a.unwind == nil || len(h.Stack) < 8:
		return a.returns.one(trace.Addr(h.Regs.Ret))
	}
	return a.walk(t, h, h.Regs.Ret, h.SP+8)
}

// around reports the calls around an instruction.
func (a *Assembler) around(t *thread, h *Hit) {
	if a.unwind == nil || len(h.Stack) < 8 {
		return
	}
	stack := a.walk(t, h, h.PC+1, h.SP) // as if the instruction were a call of one byte
	e := a.event(h, trace.KindAround)
	e.Stack = stack
	a.send(e)
}

// interrupted returns the return addresses of the calls around an instruction that a signal has met, innermost first. Where no
// code is, as behind a call by a pointer that is NULL, the innermost lies where the stack pointer points.
func (a *Assembler) interrupted(t *thread, h *Hit) []trace.Addr {
	if a.unwind == nil || len(h.Stack) < 8 {
		return nil
	}
	if stack := a.walk(t, h, h.PC+1, h.SP); len(stack) > 1 {
		return stack[1:]
	}
	if h.Skip > 0 {
		return nil
	}
	if stack := a.walk(t, h, binary.LittleEndian.Uint64(h.Stack), h.SP+8); len(stack) > 1 {
		return stack
	}
	return nil
}

// walk unwinds the captured stack from a return address and the stack pointer there.
func (a *Assembler) walk(t *thread, h *Hit, ret, sp uint64) []trace.Addr {
	a.window = Window{Base: h.SP + h.Skip, Data: h.Stack}
	a.restoreReturns(t, h)
	r := &a.regs
	r.R[3], r.R[objfile.RegBP], r.R[objfile.RegSP] = h.Regs.BX, h.Regs.BP, sp
	r.R[12], r.R[13], r.R[14], r.R[15] = h.Regs.R12, h.Regs.R13, h.Regs.R14, h.Regs.R15
	r.R[objfile.RegPC] = ret
	r.Known = 1<<3 | 1<<objfile.RegBP | 1<<objfile.RegSP | 0xf<<12 | 1<<objfile.RegPC
	return a.unwind(r, &a.window)
}

// restoreReturns puts back the return addresses that uretprobes replaced on the
// captured stack: of open watched calls, of those of allocators in which
// the program ends itself, and of the writer that is open in the engine (Size: where, Base: which).
func (a *Assembler) restoreReturns(t *thread, h *Hit) {
	for _, c := range t.calls {
		if a.plan.Funcs[c.fn].Uretprobe {
			a.window.write(c.sp, c.ret)
		}
	}
	for i := range t.allocs {
		if c := &t.allocs[i]; h.Op == Signal && a.plan.Funcs[c.fn].Uretprobe {
			a.window.write(c.sp, c.ret)
		}
	}
	if h.Op == Stop && h.Size != 0 {
		a.window.write(h.Size, h.Base)
	}
}
