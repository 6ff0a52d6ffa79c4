package capture

import (
	"slices"

	"mgtrace/probe"
	"mgtrace/trace"
)

// Inside of a declared allocator others are called: it takes a chunk from malloc, a tree's destructor calls itself for its
// children, an allocator whose cache is full evicts what is oldest. What they free is freed there and then; what they give out is
// a block of its own unless it is what the outer call returns, or that is a piece of it.

// innerBlock is what a call has given out inside of a declared allocator's.
type innerBlock struct {
	call  allocCall
	block uint64
}

// inside takes a call of an allocator inside of that of another one.
func (a *Assembler) inside(t *thread, h *Hit, outer, c *allocCall) {
	if !a.plan.Funcs[outer.fn].Declared {
		return
	}
	c.stack = a.backtrace(t, h)
	f := &a.plan.Funcs[c.fn]
	if a.frees(c) {
		t.given = slices.DeleteFunc(t.given, func(g innerBlock) bool { return g.block == c.ptr })
		if a.ownBlock(outer, c) {
			a.releaseWaiting(t) // before it, as it was
			a.freed(h, c)
			return
		}
	}
	switch {
	case f.Declared:
	case outer.whole && outer.ptr-c.ptr <= maxHeader: // what was taken for the piece alone
		if f.Role != probe.RoleFree && c.known {
			outer.chunk = max(outer.chunk, c.size)
		}
	case f.Role == probe.RoleFree:
		a.endChunk(h, c)
	case c.known:
		outer.chunk = max(outer.chunk, c.size)
	}
}

// ownBlock says that an inner call is about a block that the program has by the same kind of allocator, and not about the outer
// one's.
func (a *Assembler) ownBlock(outer, c *allocCall) bool {
	b, ok := a.live.at[c.ptr]
	return ok && c.ptr != outer.ptr && a.plan.Funcs[b.by].Declared == a.plan.Funcs[c.fn].Declared
}

// innerReturned takes the return of a call inside of another one.
func (a *Assembler) innerReturned(t *thread, h *Hit, c *allocCall, block uint64) {
	outer := &t.allocs[0]
	if !a.plan.Funcs[outer.fn].Declared || block == 0 {
		return
	}
	switch a.plan.Funcs[c.fn].Role {
	case probe.RoleFree:
		return
	case probe.RoleRealloc, probe.RoleReallocArray:
		t.given = slices.DeleteFunc(t.given, func(g innerBlock) bool { return g.block == c.ptr })
		if a.ownBlock(outer, c) {
			a.releaseWaiting(t)
			a.reallocated(t, h, c, block)
			return
		}
	}
	t.given = append(t.given, innerBlock{*c, block})
}

// givenUp ends the blocks in [addr, addr+size), which the thread's call gives out, that open calls of other threads resize: those have
// given them up, and go on to return what will be told as a new block, with what they have copied there.
func (a *Assembler) givenUp(t *thread, h *Hit, addr, size uint64) {
	var others []trace.ThreadID
	for id, u := range a.threads.All() {
		if u == t || len(u.allocs) == 0 {
			continue
		}
		if c := &u.allocs[0]; c.old > 0 && !c.ended && c.ptr < addr+size && addr < c.ptr+c.old {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	for _, id := range others {
		c := &a.threads.Find(id).allocs[0]
		c.ended = true
		e := a.allocEvent(h, c, trace.KindFree)
		e.Thread, e.Addr, e.Size = id, trace.Addr(c.ptr), 0
		a.live.remove(c.ptr)
		a.send(e)
	}
}

// innerCleared takes the write at the end of a calloc inside of another call: glibc's jumps to memset, which returns in its place
// the block that it has cleared. It clears all of the chunk, so the write itself is the library's own business.
func (a *Assembler) innerCleared(t *thread, h *Hit) bool {
	n := len(t.allocs) - 1
	switch {
	case h.Op != Bulk:
		return false
	case h.Offset > 0:
		return t.cleared // more of it
	}
	t.cleared = n > 0 && t.allocs[n].tail && h.PC == t.allocs[n].ret && a.plan.Funcs[t.allocs[n].fn].Role == probe.RoleCalloc
	if t.cleared {
		a.innerReturned(t, h, &t.allocs[n], h.Addr)
		t.allocs = t.allocs[:n]
	}
	return t.cleared
}

// tellInner tells what was given out inside of the call that has returned [block, block+size), or nothing.
func (a *Assembler) tellInner(t *thread, h *Hit, block, size uint64) {
	for i := range t.given {
		g := &t.given[i]
		if apart := block == 0 || block-g.block >= g.call.size && g.block-block >= size; apart && g.call.known {
			a.allocated(t, h, &g.call, g.block)
		}
	}
	t.given = t.given[:0]
}
