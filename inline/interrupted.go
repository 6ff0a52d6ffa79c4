package inline

import (
	"encoding/binary"

	"mgtrace/capture"
	"mgtrace/inline/emit"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/x86"
)

// interrupted says whether a thread is at a store that the hook routine has seen
// coming and that has not executed, or as a string only in part. What it has
// written is then reported, and the routine has forgotten the store: it can begin
// anew with the registers as they are.
func (e *Engine) interrupted(th *target.Stopped, s *slot, regs *mem.Regs, pos *emit.Position) bool {
	if !pos.Called || pos.Fault != emit.FaultProgram {
		return false
	}
	r, ok := e.regions.find(regs.RIP)
	if !ok || r.Site < 0 || r.Hop {
		return false
	}
	n := r.unit.sites[r.Site].Hook
	p, ok := hook.Innermost(s.mem)
	if !ok || p.Syscall || p.Site != n || p.SP != regs.RSP {
		return e.onlyStore(n) // on the thread's own stack, or nothing to do
	}
	if addr, size := p.Done(regs.RDI); size > 0 && e.string(p.Store) {
		e.partly(th, s, r, regs, &p, addr, size)
	}
	hook.Forget(s.mem)
	return e.onlyStore(n)
}

// string says whether a store of the plan is one of a string instruction.
func (e *Engine) string(store int) bool {
	return e.plan.Stores[store].Effect.Shape == x86.ShapeString
}

// onlyStore says whether nothing but a store is recorded at a hook site, so that
// its routine may be called once more.
func (e *Engine) onlyStore(n int) bool {
	return n >= 0 && binary.LittleEndian.Uint32(e.tables.Sites[n*layout.SiteSize+layout.SiteFlags:]) == 0
}

// partly reports what a string store has written so far.
func (e *Engine) partly(th *target.Stopped, s *slot, r region, regs *mem.Regs, p *hook.Pending, addr, size uint64) {
	if !e.opts.Static {
		for _, d := range unwanted(e.images, e.plan) {
			if d[0] <= addr && addr < d[1] {
				return
			}
		}
	}
	h := e.hit(capture.Store, s.tid)
	h.Index, h.PC, h.SP, h.Addr, h.Size, h.Base = p.Store, r.Of, regs.RSP, addr, size, p.Base
	h.Data = make([]byte, min(size, uint64(e.opts.MaxData)))
	if n, err := th.ReadMemory(h.Data, addr); err != nil {
		clear(h.Data[n:])
		h.Flags |= capture.Unread // another thread has taken it away
	}
	if uint64(len(h.Data)) < size {
		h.Flags |= capture.Partial
	}
	e.note(s, h)
}
