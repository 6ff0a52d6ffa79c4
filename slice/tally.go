package slice

// tally notes what is told of a backward slice, beside the sweep: how far each op of the program is
// from the criterion, what uses it, and the ways.
type tally struct {
	out   *Slice
	ways  *backwardWays
	least [][]uint32  // by plan: the least distance of each wanted op, at all steps; nil: it was not met
	users []user      // by number of the edge
	last  [][2]uint32 // ops of the program to which it led last, + 1
	led   [1 << 14]struct {
		edge edgeID
		to   uint32
	}

	idle chan *swept
	work chan *swept
	done chan struct{}
}

// user has the edge of a plan.
type user struct {
	plan *plan
	i    int
}

// tallyMost is how many segments are swept before they are noted.
const tallyMost = 3

func newTally(out *Slice) *tally {
	t := &tally{
		out: out, ways: &backwardWays{x: out.x, o: out.Options}, users: make([]user, 1), last: make([][2]uint32, 1),
		idle: make(chan *swept, tallyMost), work: make(chan *swept, tallyMost), done: make(chan struct{}),
	}
	for range tallyMost {
		t.idle <- &swept{}
	}
	go func() {
		defer close(t.done)
		for s := range t.work {
			t.segment(s)
			t.idle <- s
		}
	}()
	return t
}

// room returns room for what is found out about a segment; what it was used for is noted.
func (t *tally) room() *swept { return <-t.idle }

// add notes what was found out.
func (t *tally) add(s *swept) { t.work <- s }

// stop waits for all of it, and returns the ways.
func (t *tally) stop() *backwardWays {
	close(t.work)
	<-t.done
	return t.ways
}

func (t *tally) segment(s *swept) {
	g := &s.segment.segment
	for _, p := range s.bucket.p {
		if p.edge != 0 {
			d := &g.steps[p.node.Step()-g.first]
			t.leads(p.edge.number(), d.piece.base+uint32(p.node.Op()))
		}
	}
	for _, k := range s.taken {
		d, p := &g.steps[k.step], k.plan
		least := t.plan(p)
		nearer := false
		for i, op := range p.wanted {
			if dist := s.need[d.base+uint32(op)].dist; dist < least[i] {
				least[i], nearer = dist, true
			}
		}
		if nearer {
			t.nearer(g, s, k)
		}
		refs, first := g.refs[d.refs:][:d.piece.refs], p.first.number()
		for i := range p.edges {
			e := &p.edges[i]
			switch to := refs[e.ref]; {
			case to < refSource:
				t.leads(first+i, g.ops[to])
			case to >= refList && to < refBefore:
				for j, to := range g.list(to) {
					if to < refSource && (e.units == 0 || e.units&(1<<j) != 0) {
						t.leads(first+i, g.ops[to])
					}
				}
			}
		}
	}
	t.ways.add(s)
}

// plan is the least distances of a plan's wanted ops.
func (t *tally) plan(p *plan) []uint32 {
	for int(p.id) >= len(t.least) {
		t.least = append(t.least, nil)
	}
	if least := t.least[p.id]; least != nil {
		return least
	}
	least := make([]uint32, len(p.wanted))
	for i := range least {
		least[i] = ^uint32(0)
	}
	t.least[p.id] = least
	for op := range bitsOf(p.all) {
		for use := range p.piece.within(op, t.out.Options) {
			t.out.used(p.piece, use.op, staticOp{p.piece.ID, uint16(op), usedAs(use.addr)})
		}
	}
	first := p.first.number()
	for first+len(p.edges) > len(t.users) {
		t.users, t.last = append(t.users, user{}), append(t.last, [2]uint32{})
	}
	for i := range p.edges {
		t.users[first+i] = user{p, i}
	}
	return least
}

// leads notes that an edge leads to an op of the program.
func (t *tally) leads(edge int, to uint32) {
	last := &t.last[edge][to&1]
	if *last == to+1 {
		return
	}
	*last = to + 1
	led := &t.led[(uint64(edge)<<32|uint64(to))*0x9e3779b97f4a7c15>>50]
	if led.edge == edgeID(edge) && led.to == to {
		return
	}
	led.edge, led.to = edgeID(edge), to
	piece := t.out.x.pieceOf(to)
	u := t.users[edge]
	e := &u.plan.edges[u.i]
	for op := range bitsOf(e.ops) {
		t.out.used(piece, uint16(to-piece.base), staticOp{u.plan.piece.ID, uint16(op), e.kind})
	}
}

// nearer notes how far the ops of a step are from the criterion, where some of what is
// wanted is nearer than it was at all steps before.
func (t *tally) nearer(g *segment, s *swept, k taken) {
	d := &g.steps[k.step]
	var far distances
	for _, op := range k.plan.wanted {
		far.from(op, s.need[d.base+uint32(op)].dist)
	}
	k.plan.spread(&far, t.out.Options)
	for op := range bitsOf(k.plan.all) {
		t.out.reached(node(g.first+StepID(k.step), uint16(op)), d, far[op].dist)
	}
}
