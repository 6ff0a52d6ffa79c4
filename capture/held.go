package capture

import (
	"encoding/binary"
	"slices"

	"mgtrace/probe"
	"mgtrace/trace"
)

// What a declared allocator writes before it returns may be the beginning of the block that it gives out, or its own
// business: the links of its list of free blocks, which are no writes into freed memory. Which of the two is known when it
// returns, and until then it is held back. What it writes to what the program has already, a live block or a declared object in
// static memory, is told at once: other threads go on meanwhile. But for what may lead to the block
// that is to come. A pointer leads to the node that was there when it was stored, so it is told when the block has been.
//
// One that resizes a block copies: what it writes to the part of the new block that the old one had is older than the call, since
// the event of that carries it over, and what it writes to the old one (a link, when it has put that into a list) is its own business.

// maxHeld bounds the writes that are kept back inside a declared allocator.
const maxHeld = 1 << 16

// heldWrites are those of one thread.
type heldWrites struct {
	all   []heldWrite
	waits [][2]uint64 // half-open ranges of those that go to what the program has
}

type heldWrite struct {
	trace.Event      // its Data is owned
	told        bool // already; it is kept since the block may be a chunk of which the first piece is to come, or be given out again
}

// ground is what lies where a write goes to.
type ground int

const (
	nobodys ground = iota // free memory, or what nobody has told of
	chunky                // a block or an object that the allocator may divide
	settled               // a piece
)

func (a *Assembler) groundAt(addr uint64) ground {
	switch _, in, ok := a.live.holding(addr); {
	case ok && a.plan.Funcs[in.by].Declared:
		return settled
	case ok, a.inObject(addr) && !a.pieces.contains(addr):
		return chunky
	}
	return nobodys
}

// staticObject is a declared object in static memory. Where its image lies may change.
type staticObject struct {
	image      *probe.Image
	addr, size uint64
}

// objectsOf are those of a plan.
func objectsOf(plan *probe.Plan) (out []staticObject) {
	for _, g := range plan.Globals {
		out = append(out, staticObject{plan.Images[plan.ImageOf(g.Path)], g.Addr, g.Size})
	}
	return out
}

// inObject says that a declared object in static memory lies there.
func (a *Assembler) inObject(addr uint64) bool {
	return slices.ContainsFunc(a.objects, func(o staticObject) bool { return addr-(o.image.Bias+o.addr) < o.size })
}

// keep sends a write, or holds it back inside a declared allocator.
func (a *Assembler) keep(t *thread, e *trace.Event) {
	if e.Kind == trace.KindBulk && a.ownBooks(t) {
		return
	}
	if len(a.unborn) > 0 && e.Kind != trace.KindPassed {
		a.bear(e)
	}
	if !a.holds(t) {
		a.send(e)
		return
	}
	told := false
	if !a.moves(t) && a.groundAt(uint64(e.Addr)) != nobodys && !t.resizes(uint64(e.Addr)) {
		if told = !a.waits(t, e); told {
			a.send(e)
		} else {
			t.held.waits = append(t.held.waits, [2]uint64{uint64(e.Addr), uint64(e.Addr) + e.Size})
		}
	}
	w := heldWrite{Event: *e, told: told}
	w.Data = slices.Clone(e.Data)
	if len(t.held.all) >= maxHeld {
		a.releaseOlder(t)
	}
	t.held.all = append(t.held.all, w)
}

// waits says that a write to what the program has is told later: it stores what may be a pointer to a block
// that is to come, or goes where such a one was stored.
func (a *Assembler) waits(t *thread, e *trace.Event) bool {
	lo, hi := uint64(e.Addr), uint64(e.Addr)+e.Size
	for _, w := range t.held.waits {
		if lo < w[1] && w[0] < hi {
			return true
		}
	}
	for d := e.Data; len(d) >= 8; d = d[8:] {
		if v := binary.LittleEndian.Uint64(d); v >= firstPage && a.groundAt(v) != settled {
			return true
		}
	}
	return false
}

// firstPage is where the first block may lie.
const firstPage = 1 << pageShift

// releaseOlder makes room: of the older half of the writes held back those to what the program has
// are sent, and the others taken for the allocator's own. What it wrote so early
// to the block that it will return is not known then.
func (a *Assembler) releaseOlder(t *thread) {
	n := len(t.held.all) / 2
	a.sendHeld(t, t.held.all[:n], 0, 0, 0)
	t.held.all = slices.Delete(t.held.all, 0, n)
}

// holds says that the thread is inside a declared allocator, or inside a realloc
// whose books are captured.
func (a *Assembler) holds(t *thread) bool {
	return len(t.allocs) > 0 && (a.plan.Funcs[t.allocs[0].fn].Declared || a.moves(t))
}

// moves says that the thread is inside a realloc of the C library and that its
// stores are captured. The library links the old block into its lists before the
// call returns and tells that the bytes have moved: what it stores meanwhile comes
// after that in the history, or the links would be taken for what was moved.
func (a *Assembler) moves(t *thread) bool {
	if !a.plan.Inside || len(t.allocs) == 0 {
		return false
	}
	f := &a.plan.Funcs[t.allocs[0].fn]
	return !f.Declared && (f.Role == probe.RoleRealloc || f.Role == probe.RoleReallocArray)
}

// release sends the writes held back that go to [addr+kept, addr+size) or to what the program
// has, and drops the others. kept is how much there was in the block that this one was made of: what was
// stored there is older.
func (a *Assembler) release(t *thread, addr, size, kept uint64) {
	if len(t.held.all) == 0 {
		return
	}
	a.sendHeld(t, t.held.all, addr, size, kept)
	clear(t.held.all)
	t.held.all, t.held.waits = t.held.all[:0], t.held.waits[:0]
}

// releaseWaiting sends the writes held back that go to what the program has, and keeps the others.
func (a *Assembler) releaseWaiting(t *thread) {
	if len(t.held.waits) == 0 {
		return
	}
	t.held.waits = t.held.waits[:0]
	for i := range t.held.all {
		w := &t.held.all[i]
		if !w.told && a.groundAt(uint64(w.Addr)) != nobodys && !t.resizes(uint64(w.Addr)) {
			w.told = true
			a.ev = w.Event
			a.send(&a.ev)
		}
	}
}

// givenOut takes note that a block was given out: what other threads' allocators have written there before is what it held
// then, and not what they will have written when they return.
func (a *Assembler) givenOut(t *thread, addr, size uint64, by int) {
	if a.inObject(addr) {
		a.pieces.add(addr, size, by)
	}
	var others []trace.ThreadID
	for id, u := range a.threads.All() {
		if u != t && len(u.held.all) > 0 {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	for _, id := range others {
		held := &a.threads.Find(id).held
		held.all = slices.DeleteFunc(held.all, func(w heldWrite) bool {
			if uint64(w.Addr)-addr >= size {
				return false
			}
			a.ev = w.Event
			a.send(&a.ev)
			return true
		})
	}
}

// beginAt takes what lies in [lo, hi) off the front of a write, and says whether anything is left.
func beginAt(e *trace.Event, lo, hi uint64) bool {
	if at := uint64(e.Addr); at >= lo && at < hi {
		n := min(hi-at, e.Size)
		e.Addr, e.Size = e.Addr+trace.Addr(n), e.Size-n
		e.Data = e.Data[min(n, uint64(len(e.Data))):]
	}
	return e.Size > 0
}

// endAt ends a write at an address in it.
func endAt(e *trace.Event, end uint64) {
	e.Size = end - uint64(e.Addr)
	e.Data = e.Data[:min(e.Size, uint64(len(e.Data)))]
}

// sendHeld sends those of some writes held back that release sends.
func (a *Assembler) sendHeld(t *thread, held []heldWrite, addr, size, kept uint64) {
	moves := a.moves(t)
	for i := range held {
		if kept > 0 && !beginAt(&held[i].Event, addr, addr+kept) {
			continue
		}
		at := uint64(held[i].Addr)
		// What was stored where the bytes were moved to was stored before that, or
		// is what was moved: the realloc accounts for it.
		if moves && at-addr < size {
			continue
		}
		if moves || at-addr < size || !held[i].told && a.groundAt(at) != nobodys && !t.resizes(at) {
			a.ev = held[i].Event
			// An allocator that clears its chunk writes beyond the first piece of it; where another one lies there already
			// it has overrun this one.
			if end := at + a.ev.Size; at-addr < size && end > addr+size && len(a.live.within(addr+size, end-addr-size)) == 0 {
				endAt(&a.ev, addr+size)
			}
			a.send(&a.ev)
		}
	}
}
