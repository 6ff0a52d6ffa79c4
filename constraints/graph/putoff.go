package graph

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Between two checks nobody asks where pointers lead. So what is written into objects, and what
// they led to when they end, is only noted, and looked at once when the graph is asked for
// (settle): pointers that are gone again by then have cost next to nothing.
//
// What leads where is known then for the present and for the time of the last Follow, and for no
// other time. Who asks for one has the graph made anew from the history, as it is without this
// (Exact).

// putOff is what Advance puts off.
type putOff struct {
	on      bool
	after   int     // so many operations after Follow on
	taken   int     // operations since Follow that were looked at
	waiting []ObjID // those objects that say so
	lost    bool    // something was put off or forgotten: past and inTimes of objects are not complete

	looked int  // writes since settle whose object was looked for
	enough int  // of them, before overlook is worth a thought
	blind  bool // see overlook
	broke  int  // how often that ended before anybody asked for the graph
}

// Defer has Trail put off what the operations of the history do to edges, from the one on that
// follows so many of them after Follow: the first few are looked at sooner than noted. It must be
// called before anything is taken over, else it changes nothing; nor does it where pointers make
// objects, or where it depends on numbers which pointers count. Where a call makes an object or ends it, what
// was put off before is looked at first. It reports whether it does.
func (g *Graph) Defer(after int) bool {
	if g.now > 0 || g.objs.len() > 1 || !g.writesCanWait() {
		return false
	}
	g.put.on, g.put.after = true, after
	return true
}

// writesCanWait: what is written makes no objects, and which pointers count does not depend on it.
func (g *Graph) writesCanWait() bool {
	return !g.fills && len(g.spec.Reaches) == 0 && !slices.ContainsFunc(g.layouts, func(l *layout) bool { return l.conditional || l.fills })
}

// forget gives up the edges that led to an object before the last Follow: the head of a list that is pushed to
// has had one for each of its nodes, and nobody asks for them as long as nothing is broken.
func (g *Graph) forget(m *more) {
	if n := len(m.past.list); n > 0 && g.put.on && g.following && mgpp.Timestamp(m.past.list[n-1].until) <= g.since {
		m.past.clear()
		g.put.lost = true
	}
}

// What a program writes between two checks may be more than what it has written to: one that is checked once, or when
// it has crashed, has all of its writes taken down to say of nearly each cell that it is to be looked at. So as
// soon as the writes that were looked for are so many that it takes less to look at all cells there are, nobody looks
// for the object of a write any more, and settle looks at all.
const (
	leastLooked = 16 // times as many as are not put off at all
	// looksPerCell is how many writes are looked for in the time in which a cell is looked at and all that is said of
	// it evaluated anew, where not all is anyway.
	looksPerCell = 32
	// mostBroke bounds how often it takes twice as many: where operations come again and again that read the graph as
	// it is, all cells would be looked at for each.
	mostBroke = 20
)

// overlook has writes not looked at from now on, if that is worth it and writes do nothing but what can wait.
func (g *Graph) overlook() {
	need := g.cells
	if g.following && !g.pending.All {
		need *= looksPerCell
	}
	need = (need + leastLooked*(1+g.put.after)) << min(g.put.broke, mostBroke)
	switch {
	case g.put.looked < need:
		g.put.enough = need
	case g.defers() && !g.counting && len(g.spec.Rows) == 0:
		g.put.blind, g.put.lost = true, true
	default:
		g.put.enough = 2 * g.put.looked
	}
}

// Overlooks reports whether no write needs to be looked at (Concerned): it is for who is about to put some into the
// history, of which everything else must be taken over already, and calls Passed then.
func (g *Graph) Overlooks() bool { return g.put.blind }

// soilAll has all cells looked at that there are: what was written while nobody looked is not known.
func (g *Graph) soilAll() {
	g.put.blind = false
	g.pending.All = g.pending.All || g.following
	soil := func(o ObjID) { g.wait(o).soiled = ^uint64(0) }
	for i := range g.pops {
		for k, live := 0, &g.pops[i].live; k < live.n; k++ {
			soil(*live.at(k))
		}
	}
	for _, o := range g.globals {
		if o != 0 && g.living(o) {
			soil(o)
		}
	}
}

// defers reports whether the next operation is put off.
func (g *Graph) defers() bool { return g.put.on && g.put.taken > g.put.after }

// wait puts an object on the list.
func (g *Graph) wait(o ObjID) *object {
	b := g.objs.at(o)
	if !b.waiting {
		b.waiting = true
		if w := g.put.waiting; len(w) == cap(w) {
			g.put.waiting = slices.Grow(w, max(1, len(w))) // twice as long: append leaves much more behind
		}
		g.put.waiting = append(g.put.waiting, o)
	}
	return b
}

// putsOff takes over an operation but for what can wait. It is false where that is nothing.
func (g *Graph) putsOff(op *mgpp.Op) bool {
	t := op.Time
	switch op.Kind {
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
		if g.bears(op) {
			return g.lookFirst()
		}
		typed := false
		g.overlapping(g.at(t), op.Node, op.Addr, op.Addr+trace.Addr(op.Size), t, func(o ObjID, lo, hi int64) {
			typed = typed || !g.bare(o)
			if g.objs.at(o).matters(lo, hi) {
				g.touched(o, lo, hi, &mgpp.Brief{}, t)
			}
		})
		g.pending.Untyped = g.pending.Untyped || !typed
		g.disowned(op, t)
	case mgpp.OpBirth:
		g.born(op.Node, t, false)
	case mgpp.OpDeath:
		if g.members.tangled() && len(g.members.in(g, op.Node, t)) > 0 {
			return g.lookFirst()
		}
		g.died(op.Node, t)
		if g.following {
			g.loosened(op.Node, t, &g.pending)
		}
	default: // these read cells and edges as they are
		return g.lookFirst()
	}
	return true
}

// lookFirst looks at what waits before an operation is taken over that can not.
func (g *Graph) lookFirst() (putOff bool) {
	if g.put.blind {
		g.put.broke++
	}
	g.now--
	g.settle()
	g.now++
	return false
}

// unsettled: something waits to be looked at.
func (g *Graph) unsettled() bool { return g.put.blind || len(g.put.waiting) > 0 }

// settle looks at what waits.
func (g *Graph) settle() {
	if g.put.blind {
		g.soilAll()
	}
	g.put.looked = 0
	list := g.put.waiting
	if len(list) == 0 {
		return
	}
	g.put.waiting, g.put.lost = nil, true
	mark := g.following && !g.pending.All
	if mark && g.tooMany(list) {
		g.pending.All, mark = true, false
	}
	var resolved resolved
	for k, o := range list {
		if k%resolveSlab == 0 {
			g.resolveBeside(list[k:min(k+resolveSlab, len(list))], &resolved)
		}
		b := g.objs.at(o)
		fresh := uint64(0) // parts that are as they were at Follow, as far as anybody has looked
		if mark && (b.Death == 0 || b.Birth <= g.since) {
			fresh = g.markWaiting(b)
		}
		if mask := b.soiled; mask != 0 && b.Death == 0 {
			g.eachCell(o, mask, func(r ref) { g.rereadNoting(r, fresh, resolved.next(r)) })
		}
	}
	for _, o := range list {
		b := g.objs.at(o)
		b.soiled, b.turned, b.waiting = 0, false, false
		if b.Death == 0 {
			continue
		}
		if mark && b.Birth <= g.since {
			g.markLeading(b)
		}
		for i := range b.slots {
			s := &b.slots[i]
			switch {
			case s.to == 0:
			case g.living(s.to):
				if g.following {
					g.pending.otherIn(s.to)
				}
				g.unlink(s, g.now)
			case s.off >= notNear: // which the slot alone knows
				g.unlink(s, g.now)
			}
		}
		b.slots = nil
	}
	g.put.waiting = list[:0]
}

// tooMany: so many of the objects that wait have ended that all is evaluated anew. To say which
// they are would be for nothing.
func (g *Graph) tooMany(list []ObjID) bool {
	most := 64
	for i := range g.pops {
		most += g.pops[i].live.n
	}
	if len(list) <= most {
		return false
	}
	for _, o := range list {
		if b := g.objs.at(o); b.Death != 0 && b.Birth <= g.since {
			most--
		}
	}
	return most < 0
}

// rereadNoting is reread for a cell that waits, of which may be known where it leads. Where it led elsewhere at
// Follow, the part is sure to differ.
func (g *Graph) rereadNoting(r ref, fresh uint64, known *resolvedCell) {
	b := g.objs.at(r.from)
	s := &b.slots[b.lay.slotOf(int(r.cell), int64(r.elem), b.Size)]
	was := *s
	if known != nil && known.known && !g.members.tangled() {
		g.point(r, known.to, known.off, g.now)
	} else {
		g.reread(r, g.now)
	}
	if led := was.to != 0 || was.off == holdsNull; led && (s.to != was.to || g.bytes(s.off) != g.bytes(was.off)) {
		c := b.lay.cells[r.cell].EdgeCell
		off := c.Offset + int64(r.elem)*c.Stride
		if sure := fresh & Parts(off, off+8, b.Size); sure != 0 {
			g.pending.Of(r.from).sure |= sure
		}
	}
}

// markWaiting notes what has changed of an object. It returns what of that was not dirty before.
func (g *Graph) markWaiting(b *object) (fresh uint64) {
	d := g.pending.Of(b.ID)
	fresh = b.soiled &^ d.Mask
	d.Mask |= b.soiled
	if b.turned {
		d.Life = true
		g.pending.All = g.pending.All || g.sentinelCell(b, ^uint64(0))
	}
	return fresh
}

// markLeading notes that the cells that lead to an object which has ended read differently.
func (g *Graph) markLeading(b *object) {
	for i := range b.in {
		r := g.ref(b.in[i].ref())
		from := g.objs.at(r.From)
		if from.Death != 0 {
			continue
		}
		off := int64(r.Addr - from.Addr)
		g.pending.Of(r.From).Mask |= Parts(off, off+8, from.Size)
	}
}

// eachCell calls f for the cells of an object in the parts of a mask.
func (g *Graph) eachCell(o ObjID, mask uint64, f func(ref)) {
	b := g.objs.at(o)
	for ci := range b.lay.cells {
		c := b.lay.cells[ci].EdgeCell
		for e, n := int64(0), elems(c, b.Size); e < n; e++ {
			if off := c.Offset + e*c.Stride; mask&Parts(off, off+8, b.Size) != 0 {
				f(ref{o, int32(ci), int32(e)})
			}
		}
	}
}

// Exact has the graph know what led where at all times, from now on and for all of the history
// that it has taken over.
func (g *Graph) Exact() {
	if !g.put.on {
		return
	}
	g.settle()
	lost := g.put.lost
	g.put = putOff{}
	if !lost {
		return
	}
	anew := New(g.spec, g.hist, known{g}, g.opts)
	anew.layouts, anew.reads, anew.pathFields, anew.wide = g.layouts, g.reads, g.pathFields, g.wide
	anew.members.apart = g.members.apart
	g.become(anew)
}

// exactAt is Exact, unless what is known of a time is exact already.
func (g *Graph) exactAt(t mgpp.Timestamp) {
	if g.put.lost && t != g.now && !g.Followed(t) {
		g.Exact()
	}
}

// known is the types that blocks have in a graph.
type known struct{ g *Graph }

func (k known) TypeOf(n mgpp.Node) (t *check.NodeType, offset int64, why string) {
	objs := k.g.of(n.ID)
	if len(objs) == 0 {
		return nil, 0, ""
	}
	o := k.g.Object(objs[0])
	if o.Guessed {
		why = check.BySize
	}
	return o.Type, int64(o.Addr - n.Start), why
}

// Owners implements Counting.
func (k known) Owners(n mgpp.Node) int64 {
	if c, ok := k.g.typing.(Counting); ok {
		return c.Owners(n)
	}
	return 0
}
