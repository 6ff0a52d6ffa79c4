package index

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Op returns the operation at t; its Kind is OpNone if there is none. It has no
// stack: that of a birth is its node's, those of deaths are not in the index.
func (x *Index) Op(t mgpp.Timestamp) mgpp.Op {
	at := uint64(t)
	if at == 0 || t > x.d.Now {
		return mgpp.Op{}
	}
	var ev trace.Event
	first, last, ok := x.part(x.chunkOf(at), at).event(at, &ev)
	if !ok {
		if first, last, ok = x.readEvent(at, &ev); !ok {
			return mgpp.Op{}
		}
	}
	op := mgpp.Op{Time: t, Thread: ev.Thread, PC: ev.PC, Wall: max(ev.Wall, -1), Instant: ev.Instant, Flags: ev.Flags, Name: ev.Name}
	switch ev.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		x.write(&op, &ev)
	default:
		x.life(&op, &ev, first, last)
	}
	return op
}

// readEvent reads the event that made the operation at t from the trace.
func (x *Index) readEvent(t uint64, ev *trace.Event) (first, last uint64, ok bool) {
	event, first, last, ok := x.eventOf(t)
	if !ok || x.fail(x.r.Seek(event)) || x.fail(x.r.Next(ev)) {
		return 0, 0, false
	}
	if x.CallSite != nil {
		x.CallSite(ev)
	}
	return first, last, true
}

// eventOf returns the number of the event that made the operation at t, and its
// operations.
func (x *Index) eventOf(t uint64) (event, first, last uint64, ok bool) {
	begin := x.chunks.event(x.chunkOf(t))
	i := x.search(tabKept, begin, 0)
	// Of the rows from there on, that which holds t.
	var have row
	x.scan(tabKept, i, func(r *row) bool {
		if r[1] >= t {
			return false
		}
		have, ok = *r, true
		return true
	})
	if !ok || have[2] == 0 {
		return 0, 0, 0, false
	}
	n := (t - have[1] - 1) / have[2]
	first = have[1] + n*have[2] + 1
	return have[0] + n, first, first + have[2] - 1, true
}

// write describes a store or bulk write.
func (x *Index) write(op *mgpp.Op, ev *trace.Event) {
	op.Kind = mgpp.OpBulk
	switch ev.Kind {
	case trace.KindStore:
		op.Kind = mgpp.OpStore
	case trace.KindUnread:
		op.Kind = mgpp.OpUnread
	case trace.KindSyscall:
		if op.Name == "" {
			op.Name = "system call " + trace.SyscallName(ev.Aux)
		}
	}
	addr, size, _ := extent(ev)
	t := uint64(op.Time)
	op.Addr, op.Size, op.Base = ev.Addr, size, ev.Base
	if n, ok := x.liveAt(addr, t); ok {
		op.Node = n.id
		return
	}
	if size > 1 {
		if op.Node = x.nearest(addr, size, t); op.Node != 0 {
			return
		}
	}
	for _, a := range [2]uint64{addr, addr + size - 1} {
		if n, ok := x.formerAt(a, t); ok {
			op.Other = n.id
			return
		}
	}
	if ev.Base != 0 {
		n, _ := x.liveAt(uint64(ev.Base), t)
		op.Other = n.id
	}
}

// maxOwners is how many owners of a place are looked at for one that lives beside
// others.
const maxOwners = 64

// nearest returns, of the nodes alive at t that lie in the range, in part or with no
// byte at all, the one that starts closest to its beginning.
func (x *Index) nearest(addr, size, t uint64) (found mgpp.NodeID) {
	best := uint64(0)
	x.eachOwnerIn(addr, size, t, maxOwners, func(n node, _ uint64) bool {
		distance := max(n.start, addr) - min(n.start, addr)
		if n.alive(t) && n.start < addr+size && n.start+max(x.sizeAt(&n, t), 1) > addr &&
			(found == 0 || distance < best || distance == best && n.id < found) {
			found, best = n.id, distance
		}
		return true
	})
	return found
}

// life describes a birth, a death, a resize or a move: one of the operations [first,
// last] of an event.
func (x *Index) life(op *mgpp.Op, ev *trace.Event, first, last uint64) {
	t := uint64(op.Time)
	if r, ok := x.rowAt(tabDeaths, x.search(tabDeaths, t, 0)); ok && r[0] == t && (last > first || ev.Kind == trace.KindUnmap) {
		if n, ok := x.node(mgpp.NodeID(r[1])); ok && !x.movesTo(&n, t) {
			x.fill(op, mgpp.OpDeath, &n)
			return
		}
	}
	if n, ok := x.node(x.bornBy(t)); ok && n.birth == t && !n.is(bitBefore) && !n.is(bitFixed) {
		kind := mgpp.OpBirth
		if n.is(bitMoved) {
			kind = mgpp.OpMove
		}
		x.fill(op, kind, &n)
		return
	}
	if ev.Kind == trace.KindRealloc && ev.Addr != 0 {
		if n, ok := x.startingAt(uint64(ev.Addr), t); ok {
			x.fill(op, mgpp.OpResize, &n)
		}
		return
	}
	addr := uint64(ev.Addr)
	if ev.Kind == trace.KindRealloc {
		addr = ev.Aux
	}
	if n, ok := x.startingAt(addr, t-1); ok {
		x.fill(op, mgpp.OpDeath, &n)
	}
}

// movesTo reports whether a node that dies at t becomes another then.
func (x *Index) movesTo(n *node, t uint64) bool {
	to, ok := x.node(x.bornBy(t))
	return ok && to.birth == t && x.moved(&to) == n.id
}

// startingAt is the live block that starts at addr.
func (x *Index) startingAt(addr, t uint64) (found node, ok bool) {
	x.eachOwner(addr, t, func(n node, _ uint64) bool {
		if n.start == addr && n.alive(t) && !n.is(bitFixed) {
			found, ok = n, true
		}
		return !ok
	})
	return found, ok
}

func (x *Index) fill(op *mgpp.Op, kind mgpp.OpKind, n *node) {
	op.Kind, op.Node = kind, n.id
	op.Addr, op.Size = trace.Addr(n.start), x.sizeAt(n, uint64(op.Time))
	if kind == mgpp.OpMove {
		op.Other, op.Node = n.id, x.moved(n)
	}
}
