package analysis

import (
	"cmp"
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where calls make nodes, any block may hold one of which debug information does not tell
// better. A few places get most stores of a program (registers of an interpreter, pages beside
// their headers), and mostly no node lies there: these are looked for by samples, and the engine is
// asked to close them, in this block and in others that are allocated by the same calls. If a node
// is made there after all, what it holds is told then, though not who wrote it (image).

// Closer is an engine that can drop stores to parts of blocks; inline.Engine is one.
type Closer interface {
	// CloseBarren asks for it, as of a time of the run. False: an earlier request is open.
	CloseBarren(block, addr, size uint64, wall int64) bool
	// ClosedBarren says what has become of that. done: it is not open any more.
	ClosedBarren() (closed, done bool)
	// CloseAlike does it for blocks that are allocated later with a stack, and have a size if it
	// is not 0, but for the bytes from lo to hi.
	CloseAlike(stack []trace.Addr, size, lo, hi uint64) bool
	// OpenAlike takes that back.
	OpenAlike(stack []trace.Addr)
}

const (
	barrenSample = 1024 // one of so many stores is looked at
	barrenAfter  = 32   // samples in a gap between nodes
	barrenHosts  = 4    // blocks in which nodes were made, before anything is closed
	barrenAlike  = 16   // blocks that hold nodes, before others are taken to hold them in the same places
	barrenKept   = 4096 // gaps with samples
)

// barren finds such places.
type barren struct {
	Closer
	next    int // stores until the next sample
	samples map[gapAt]int
	hosts   map[mgpp.NodeID][]extent // where in a block nodes were ever made, sorted
	kinds   map[*trace.Addr]*kind    // by the stack of the allocation, which is interned
	seen    int                      // objects that were looked at
	asked   gapAt                    // block 0: no request is open
	closed  map[gapAt]bool
	partly  map[mgpp.NodeID]bool // has a closed gap
}

// gapAt is what lies between nodes of a block, by its lower end.
type gapAt struct {
	block mgpp.NodeID
	lo    uint64
}

// extent is a part of a block, bytes from its start, half-open.
type extent struct{ lo, hi uint64 }

// kind is blocks that are allocated with the same stack.
type kind struct {
	extent         // where nodes lie in those that have any
	size    uint64 // of these; 0: there are none
	mixed   bool   // they have other sizes too
	hosts   int    // how many there are
	samples int    // stores that were looked at, where no node was made
	closed  bool   // those allocated later are closed but for extent
	opened  bool   // that was wrong
}

// CloseWith has places closed in which no nodes are made.
func (a *Analysis) CloseWith(c Closer) {
	a.barren = &barren{
		Closer: c, samples: map[gapAt]int{}, hosts: map[mgpp.NodeID][]extent{}, kinds: map[*trace.Addr]*kind{},
		closed: map[gapAt]bool{}, partly: map[mgpp.NodeID]bool{},
	}
}

// sample looks at some stores of a run that the history has taken.
func (a *Analysis) sample(run *trace.Stores) {
	b := a.barren
	if b == nil {
		return
	}
	for ; b.next < len(run.Recs); b.next += barrenSample {
		a.sampleAt(trace.Addr(run.Recs[b.next].Addr), run.Wall)
	}
	b.next -= len(run.Recs)
}

// sampleAt counts a store, and has its place closed if it is one of many where no node was made.
func (a *Analysis) sampleAt(addr trace.Addr, wall int64) {
	b := a.barren
	id, ok := a.Hist.NodeAtTime(addr, a.Hist.Now())
	if !ok {
		return
	}
	a.noteMembers()
	n := a.Hist.Node(id)
	n.Size = a.Hist.NodeSize(id, a.Hist.Now())
	off := uint64(addr - n.Start)
	gap, ok := b.gap(id, off, n.Size)
	at := gapAt{id, gap.lo}
	if !ok || b.closed[at] || len(b.hosts) < barrenHosts || n.Before || n.Tracked || n.Arena || n.Global != 0 || len(n.Stack) == 0 {
		return
	}
	if t, _, _ := a.Graph.TypeOf(n); t != nil {
		return
	}
	if len(b.samples) > barrenKept {
		clear(b.samples)
	}
	b.samples[at]++
	b.closeKind(&n, off)
	if b.samples[at] >= barrenAfter && b.free() && !b.closed[at] && b.CloseBarren(uint64(n.Start), uint64(n.Start)+gap.lo, gap.hi-gap.lo, wall) {
		b.asked = at
		b.partly[id] = true // it may be at any time from here on
		delete(b.samples, at)
	}
}

// closeKind has blocks closed that will be allocated as this one was, of which there was a sample at
// an offset: where such blocks have no nodes, or where many have them, all in the same place. One block
// may be gone too soon to be sampled often, but there are many like it.
func (b *barren) closeKind(n *mgpp.Node, off uint64) {
	k := b.kind(n)
	k.samples++
	switch {
	case k.closed || k.opened:
	case k.size == 0 && k.samples >= barrenAfter:
		k.closed = b.CloseAlike(n.Stack, 0, 0, 0)
	case k.hosts >= barrenAlike && !k.mixed && (off < k.lo || off >= k.hi):
		k.closed = b.CloseAlike(n.Stack, k.size, k.lo, k.hi)
	}
}

func (b *barren) kind(n *mgpp.Node) *kind {
	k := b.kinds[&n.Stack[0]]
	if k == nil {
		k = &kind{}
		b.kinds[&n.Stack[0]] = k
	}
	return k
}

// noteMembers takes the nodes over that were made.
func (a *Analysis) noteMembers() {
	b := a.barren
	a.Graph.Trail() // objects are made at once, whatever is put off
	for ; b.seen < a.Graph.Objects(); b.seen++ {
		o := a.Graph.Object(graph.ObjID(b.seen + 1))
		if o.Member == 0 || o.Host == 0 {
			continue
		}
		n := a.Hist.Node(o.Host)
		at := uint64(o.Addr - n.Start)
		first := len(b.hosts[o.Host]) == 0
		b.holds(o.Host, extent{at, at + o.Size})
		if len(n.Stack) > 0 {
			b.ofKind(&n, extent{at, at + o.Size}, first)
		}
	}
}

// holds notes where a block has, or had, a node.
func (b *barren) holds(id mgpp.NodeID, x extent) {
	list := b.hosts[id]
	i, found := slices.BinarySearchFunc(list, x, func(e, x extent) int { return cmp.Compare(e.lo, x.lo) })
	if !found {
		b.hosts[id] = slices.Insert(list, i, x)
		return
	}
	list[i].hi = max(list[i].hi, x.hi)
}

// ofKind notes it for blocks like that. Those that are allocated later are open again if they
// were closed there.
func (b *barren) ofKind(n *mgpp.Node, x extent, first bool) {
	k := b.kind(n)
	switch {
	case k.size == 0:
		k.size, k.extent = n.Size, x
	case k.size != n.Size:
		k.mixed = true
	}
	if k.closed && (k.hosts == 0 || k.mixed || x.lo < k.lo || x.hi > k.hi) {
		b.OpenAlike(n.Stack)
		k.closed, k.opened = false, true
	}
	if first {
		k.hosts++
	}
	k.lo, k.hi = min(k.lo, x.lo), max(k.hi, x.hi)
}

// gap is the part of a block around an offset in which no node was made. It is false if one
// was made there.
func (b *barren) gap(id mgpp.NodeID, off, size uint64) (extent, bool) {
	g := extent{0, size}
	for _, x := range b.hosts[id] {
		switch {
		case x.hi <= off:
			g.lo = max(g.lo, x.hi)
		case x.lo > off:
			g.hi = min(g.hi, x.lo)
			return g, true
		default:
			return g, false
		}
	}
	return g, true
}

// free says whether no request is open.
func (b *barren) free() bool {
	if b.asked.block == 0 {
		return true
	}
	closed, done := b.ClosedBarren()
	if done {
		b.closed[b.asked] = closed
		b.asked = gapAt{}
	}
	return done
}

// allocated takes a block into the history. What realloc moved is not known either where the
// old block was closed.
func (a *Analysis) allocated(ev *trace.Event) error {
	closed := false
	if ev.Kind == trace.KindRealloc && a.barren != nil {
		old, ok := a.Hist.NodeAtTime(trace.Addr(ev.Aux), a.Hist.Now())
		closed = ok && a.closedLate(old)
	}
	_, err := a.Hist.Apply(ev)
	if !closed {
		return err
	}
	if id, ok := a.Hist.NodeAtTime(ev.Addr, a.Hist.Now()); ok {
		a.barren.partly[id] = true
	}
	return err
}

// closedLate says whether stores to a part of a block are not recorded from some time on, or
// may not be.
func (a *Analysis) closedLate(id mgpp.NodeID) bool { return a.barren != nil && a.barren.partly[id] }
