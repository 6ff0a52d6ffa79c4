package graph

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Advance takes over the operations of the history that are new. Most of those
// of a program concern nothing that is declared: they are passed by with a look
// at where they wrote, or at where their block comes from.
func (g *Graph) Advance() {
	g.Trail()
	g.settle()
	if g.inward || g.tangling {
		g.widen()
	}
}

// Trail is Advance without what may be put off (Defer): for who follows a running history, and
// does not ask the graph yet for more than Aside.
func (g *Graph) Trail() { g.trailTo(g.hist.Now()) }

// Coast has Advance pass by all that is written from now on, if that makes no objects: for who asks of later times for no more
// than which objects there were, and of those before for all (Exact). A program that has broken its list may go round in it for long.
func (g *Graph) Coast() {
	g.Exact()
	g.coasts = g.writesCanWait() && len(g.spec.Rows) == 0
}

func (g *Graph) trailTo(end mgpp.Timestamp) {
	for n := g.hist.NodeCount(); g.seen < n; {
		g.seen++
		if id := mgpp.NodeID(g.seen); g.hist.Fixed(id) {
			g.fixed = append(g.fixed, g.hist.Node(id))
		}
	}
	for {
		for len(g.fixed) > 0 && g.fixed[0].Birth <= g.now {
			g.born(g.fixed[0].ID, g.fixed[0].Birth, true)
			g.fixed = g.fixed[1:]
		}
		if g.now >= end {
			return
		}
		g.now++
		brief := g.briefOf(g.now)
		if g.passes(brief, g.now) {
			continue
		}
		switch brief.Kind {
		case mgpp.OpBirth, mgpp.OpDeath: // of which nothing else is asked
			g.take(&mgpp.Op{Time: g.now, Kind: brief.Kind, Node: brief.Node})
		default:
			op := g.hist.Op(g.now)
			g.take(&op)
		}
	}
}

// take takes over one operation, and notes what it changed.
func (g *Graph) take(op *mgpp.Op) {
	if g.put.taken++; g.defers() && g.putsOff(op) {
		return
	}
	g.apply(op)
	if g.following {
		g.changedBy(op, &g.pending)
	}
}

// Follow has Advance note from now on what changes, so that the next Between
// from this time on need not look at the operations again.
func (g *Graph) Follow() {
	g.settle()
	g.pending.Reset()
	g.following, g.since = true, g.now
	g.put.taken = 0
}

// Followed reports whether Advance has noted what changed since t.
func (g *Graph) Followed(t mgpp.Timestamp) bool { return g.following && g.since == t }

// Aside reports whether a write of size bytes at addr, the next thing to happen, concerns no
// object, or need not be looked at. It is for who is about to put it into the history, of which everything else must be
// taken over already, and calls Passed then: that is cheaper than to look at the operation again.
func (g *Graph) Aside(addr trace.Addr, size uint64) bool {
	if g.put.blind {
		return true
	}
	o, sure := g.Concerned(addr, size)
	return sure && o == 0
}

// Passed takes over the operations of the history that are new: writes, all of them Aside.
func (g *Graph) Passed() {
	if now := g.hist.Now(); now > g.now {
		g.now = now
		g.pending.Untyped = true
	}
}

// Concerned returns the one object that a write of size bytes at addr concerns, 0 if it concerns none. It
// is not sure where that takes a look at the history. It is for who is about to put one write, or
// several in a row, into the history, of which everything else must be taken over already, and tells
// the graph then (Wrote, Passed).
func (g *Graph) Concerned(addr trace.Addr, size uint64) (o ObjID, sure bool) {
	o, sure = g.places.over(addr, size)
	if !sure || o == 0 {
		return 0, sure
	}
	if len(g.spec.Reaches) > 0 {
		return 0, false // what its pointers lead to may become a node, or be one no more
	}
	b := g.objs.at(o)
	end, hi := b.Addr+trace.Addr(b.Size), addr+trace.Addr(size)
	switch {
	case g.counting && b.Death == 0 && b.counts(addr, hi):
		return 0, false
	case b.Death != 0 || hi <= b.Addr || addr >= end:
		return 0, true
	case b.Divided && g.rows.in(b.Host, addr, hi):
		return 0, false // it may be the first to a part that is a node then
	}
	return o, addr >= b.Addr && hi <= end
}

// Wrote takes over the operation at t, which is new, and those before it, which were Aside: a write
// that Concerned an object.
func (g *Graph) Wrote(o ObjID, t mgpp.Timestamp, op *mgpp.Brief) {
	if t > g.now+1 {
		g.pending.Untyped = true
	}
	g.now = t
	g.wroteTo(o, op, t)
}

// passes takes over an operation if that takes no look at the history: it changes
// no object, or one object's bytes.
func (g *Graph) passes(op *mgpp.Brief, t mgpp.Timestamp) bool {
	switch op.Kind {
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
		if g.coasts {
			return true
		}
		if g.put.blind {
			g.pending.Untyped = true
			return true
		}
		o, sure := g.Concerned(op.Addr, op.Size)
		if sure {
			g.wroteTo(o, op, t)
		}
		return sure
	case mgpp.OpBirth:
		return g.isUntyped(op.Origin)
	case mgpp.OpDeath, mgpp.OpResize:
		if g.concerns(op.Node) {
			return false
		}
	case mgpp.OpMove:
		if g.concerns(op.Old) || !g.isUntyped(op.Origin) {
			return false
		}
	default:
		return false
	}
	g.pending.Untyped = true
	return true
}

// wroteTo takes over a write that Concerned an object, or none.
func (g *Graph) wroteTo(o ObjID, op *mgpp.Brief, t mgpp.Timestamp) {
	if o == 0 {
		g.pending.Untyped = true
		return
	}
	if g.put.looked++; g.put.looked > g.put.enough {
		g.overlook()
	}
	b := g.objs.at(o)
	if lo := int64(op.Addr - b.Addr); b.matters(lo, lo+int64(op.Size)) {
		g.put.taken++
		g.touched(o, lo, lo+int64(op.Size), op, t)
	}
}

// touched takes over that a write touched [lo, hi) of an object.
func (g *Graph) touched(o ObjID, lo, hi int64, op *mgpp.Brief, t mgpp.Timestamp) {
	b := g.objs.at(o)
	switch {
	case g.defers() && Grain(b.Size) == 8:
		g.wait(o).soiled |= Parts(lo, hi, b.Size)
		return
	case g.following:
		g.pending.Of(o).Mask |= Parts(lo, hi, b.Size)
	}
	g.stored(o, lo, hi, op, t)
}

// concerns reports whether a block is known to the graph: it holds objects, or
// cells lead into it.
func (g *Graph) concerns(id mgpp.NodeID) bool {
	return len(g.of(id)) > 0 || g.members.mayHold(id) || len(g.loose) > 0 && g.loose[id] != nil
}

// briefOf is History.Brief, until the next call.
func (g *Graph) briefOf(t mgpp.Timestamp) *mgpp.Brief {
	g.hist.Brief(t, &g.brief)
	return &g.brief
}

// isUntyped reports whether blocks from a place of the program are known to be of
// no declared type.
func (g *Graph) isUntyped(o mgpp.Origin) bool { return int(o) < len(g.untyped) && g.untyped[o] }

// noType notes that a block that was born at t is of no declared type.
func (g *Graph) noType(id mgpp.NodeID, t mgpp.Timestamp) {
	op := g.briefOf(t)
	if op.Kind != mgpp.OpBirth || op.Node != id || g.guessed[op.Origin] {
		return
	}
	if n := int(op.Origin) + 1; n > len(g.untyped) {
		g.untyped = append(g.untyped, make([]bool, n-len(g.untyped))...)
	}
	g.untyped[op.Origin] = true
}

// guess notes that a block that was born at t has its type by what it is alone: another one of the same origin may
// have none.
func (g *Graph) guess(t mgpp.Timestamp) {
	if op := g.briefOf(t); op.Kind == mgpp.OpBirth {
		if g.guessed == nil {
			g.guessed = map[mgpp.Origin]bool{}
		}
		g.guessed[op.Origin] = true
	}
}

// at returns the history's view at t.
func (g *Graph) at(t mgpp.Timestamp) mgpp.View {
	if g.view == nil || g.view.Time() != t {
		g.view = g.hist.At(t)
	}
	return g.view
}

// apply takes over one operation.
func (g *Graph) apply(op *mgpp.Op) {
	t := op.Time
	switch op.Kind {
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
		g.written(op, t)
	case mgpp.OpBirth:
		g.born(op.Node, t, false)
	case mgpp.OpDeath:
		g.died(op.Node, t)
	case mgpp.OpMove:
		g.died(op.Node, t)
		g.born(op.Other, t, true)
	case mgpp.OpResize:
		g.resized(op, t)
	case mgpp.OpEnter:
		g.entered(op, t)
	case mgpp.OpLeave:
		g.left(op, t)
	}
}
