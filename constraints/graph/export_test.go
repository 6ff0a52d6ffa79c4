package graph

// AdvanceSlowly is Advance with a look at every operation in the history.
func (g *Graph) AdvanceSlowly() {
	for g.now < g.hist.Now() {
		g.now++
		op := g.hist.Op(g.now)
		g.apply(&op)
		if g.following {
			g.changedBy(&op, &g.pending)
		}
	}
}

// Pending is what has changed since Follow.
func (g *Graph) Pending() *Changes { return &g.pending }

// Past is how many edges that led to an object are known.
func (g *Graph) Past(o ObjID) int { return len(g.objs.at(o).rare().past.list) }

// Apart reports whether nodes that calls make have lain apart so far.
func (g *Graph) Apart() bool { return !g.members.tangled() }

// Tangle has the graph take them not to from the start.
func (g *Graph) Tangle() { g.members.apart = false }
