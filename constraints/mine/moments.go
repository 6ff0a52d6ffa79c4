package mine

import (
	"cmp"
	"slices"
	"sort"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// moment is a boundary of a call, at which the structure may have been whole.
type moment struct {
	at    mgpp.Timestamp
	place int
	depth int
	state int // changes of the structure before it
	stack Stack
}

// place is what a C-point directive can name: one end of a function's outermost
// calls, or the normal end of the program.
type place struct {
	fn   string // "": the end of the program
	exit bool
}

// terrain is the run seen from the structure: what changed it, and at the boundaries
// of which calls one can look at it.
type terrain struct {
	run      *Run
	changes  []mgpp.Timestamp                    // of nodes of the types, and of the globals that lead to them
	by       map[trace.ThreadID][]mgpp.Timestamp // changes, by the thread that made them
	alive    []int                               // nodes alive, after each change
	own      map[string]bool                     // functions with a statement that changed it
	stores   map[string]bool                     // likewise, other than by allocating or freeing
	births   map[string]int                      // nodes by type
	places   []place
	moments  []moment // of calls that changed the structure, by time
	idle     []moment // of calls that did not, of functions with others that did: C-points there are checked as well
	mutating []bool   // by call
	limited  bool     // moments that lie late are left out
}

// survey finds out what changed the structure, and where.
func survey(r *Run, g *graph.Graph) *terrain {
	t := &terrain{run: r, by: map[trace.ThreadID][]mgpp.Timestamp{}, own: map[string]bool{}, stores: map[string]bool{}, births: map[string]int{}}
	g.Advance()
	intrusive := len(g.Spec().Members) > 0 // nodes need no block of their own
	funcs := map[trace.Addr]string{}
	parts := map[mgpp.Timestamp]int{} // by when they came to be
	for o := graph.ObjID(1); int(o) <= g.Objects(); o++ {
		switch b := g.Object(o); {
		case g.InRow(o):
			parts[b.Birth]++
			t.births[b.Type.Name]++
		case b.Host != 0 && b.Member == 0 && b.Type != nil && g.Former(b.Host) != o: // it came with the block that it lies in
			t.births[b.Type.Name]++
		}
	}
	alive := parts[0]
	for at := mgpp.Timestamp(1); at <= r.History.Now(); at++ {
		alive += parts[at]
		var b mgpp.Brief
		r.History.Brief(at, &b)
		op := mgpp.Op{}
		node := b.Node
		if b.Kind == mgpp.OpStore || b.Kind == mgpp.OpBulk {
			op = r.History.Op(at)
			node = op.Node
		}
		member := b.Kind == mgpp.OpEnter || b.Kind == mgpp.OpLeave ||
			op.Time != 0 && intrusive && slices.ContainsFunc(g.At(r.History.At(at), op.Addr), func(o graph.ObjID) bool { return g.Object(o).Member != 0 })
		if !member && !concerns(g, node) || trace.Locks(op.Name) {
			continue
		}
		if op.Time == 0 {
			op = r.History.Op(at)
		}
		switch b.Kind {
		case mgpp.OpBirth:
			alive++
			t.births[g.Object(g.Former(node)).Type.Name]++
		case mgpp.OpEnter:
			alive++
			t.births[g.Spec().Members[op.Mark].Type.Name]++
		case mgpp.OpDeath, mgpp.OpLeave:
			alive--
		}
		t.changes, t.alive = append(t.changes, at), append(t.alive, alive)
		if op.Name != trace.UnseenWrite { // nobody saw whose it was
			t.by[op.Thread] = append(t.by[op.Thread], at)
		}
		fn, ok := funcs[op.PC]
		if !ok {
			fn = r.FuncOf(op.PC)
			funcs[op.PC] = fn
		}
		t.own[fn] = true
		if b.Kind == mgpp.OpStore || b.Kind == mgpp.OpBulk {
			t.stores[fn] = true
			r.onStack = r.onStack || r.leadsToStack(at, &op)
		}
	}
	t.boundaries()
	return t
}

// concerns reports whether a block is a node of a declared type, or a declared
// global that may lead to one. What only counts is no part of the structure: a function that counts its calls changes nothing else.
func concerns(g *graph.Graph, id mgpp.NodeID) bool {
	if id == 0 {
		return false
	}
	o := g.Object(g.Former(id))
	if o.ID == 0 || o.Type != nil || o.Global == 0 {
		return o.ID != 0 && o.Type != nil
	}
	t := g.Spec().Globals[o.Global-1].Layout
	return !Counts(t) && !CountsEach(t)
}

// state returns how many changes there are up to a time.
func (t *terrain) state(at mgpp.Timestamp) int { return until(t.changes, at) }

// changed reports whether a call changed the structure.
func (t *terrain) changed(c *Call) bool {
	own := t.by[c.Thread]
	return until(own, c.Enter) < until(own, c.Leave)
}

// until returns how many of sorted times are not after one.
func until(times []mgpp.Timestamp, at mgpp.Timestamp) int {
	return sort.Search(len(times), func(i int) bool { return times[i] > at })
}

// boundaries lists the moments at which outermost calls begin and end that change
// the structure, and those of other calls of the same functions.
func (t *terrain) boundaries() {
	ids := map[place]int{}
	add := func(p place, at mgpp.Timestamp, depth int, stack Stack) {
		id, ok := ids[p]
		if !ok {
			id = len(t.places)
			ids[p] = id
			t.places = append(t.places, p)
		}
		t.moments = append(t.moments, moment{at, id, depth, t.state(at), stack})
	}
	idle := func(p place, at mgpp.Timestamp, depth int, stack Stack) {
		if id, ok := ids[p]; ok {
			t.idle = append(t.idle, moment{at, id, depth, t.state(at), stack})
		}
	}

	t.mutating = make([]bool, len(t.run.Calls))
	for i := range t.run.Calls {
		t.mutating[i] = t.changed(&t.run.Calls[i])
	}
	others := t.concurrent()
	ends := func(mutating bool, add func(p place, at mgpp.Timestamp, depth int, stack Stack)) {
		for i, c := range t.run.Calls {
			if t.mutating[i] != mutating || c.Inner {
				continue
			}
			if !others.inside(c.Thread, c.Enter) {
				add(place{c.Func, false}, c.Enter, c.Depth, c.EnterStack)
			}
			if c.Left && !others.inside(c.Thread, c.Leave) {
				add(place{c.Func, true}, c.Leave, c.Depth, c.LeaveStack)
			}
		}
	}
	ends(true, add)
	ends(false, idle)
	if t.run.Ended {
		add(place{}, t.run.History.Now(), 0, Stack{})
	}
	inTime(t.moments)
	inTime(t.idle)
}

// times are those of moments.
func times(moments []moment) []mgpp.Timestamp {
	var out []mgpp.Timestamp
	for _, m := range moments {
		out = append(out, m.at)
	}
	return out
}

// inTime sorts moments.
func inTime(moments []moment) {
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
}

// beside returns the idle moments of places, of those that show the structure in a state in which other moments
// do not: in the others nothing new is to be seen.
func (t *terrain) beside(moments []moment, at func(place int) bool) []moment {
	seen := map[int]bool{}
	for _, m := range moments {
		seen[m.state] = true
	}
	var out []moment
	for _, m := range t.idle {
		if at(m.place) && !seen[m.state] {
			seen[m.state] = true
			out = append(out, m)
		}
	}
	return out
}

// aliveAt returns how many nodes there are at a moment.
func (t *terrain) aliveAt(m moment) int {
	if m.state == 0 {
		return 0
	}
	return t.alive[m.state-1]
}

const (
	enoughStates = 8    // of the structure, to take a depth of calls for that of its operations
	maxMoments   = 4000 // that are checked; more are thinned out
	maxExplored  = 1e5  // changes of the structure, the first, at moments among which laws are looked for
	maxSettled   = 4e5  // and at moments among which they are checked
	maxOfPlace   = 150  // that tell whether a place is a C-point
	maxLooks     = 12   // moments that are looked at whole
)

// quiet returns the moments of the outermost calls that show the structure in
// enough states: where it should be whole, before anything is known of it. A driver
// shows it once or twice, an operation often, a helper in the middle of operations.
func (t *terrain) quiet() []moment {
	funcs := t.functions()
	depths := map[int]map[int]bool{}
	deepest := 0
	for _, m := range t.moments {
		if depths[m.depth] == nil {
			depths[m.depth] = map[int]bool{}
		}
		if f := funcs[t.places[m.place].fn]; t.aliveAt(m) > 0 && (f == nil || !f.leads() && !t.handsOn(f)) {
			depths[m.depth][m.state] = true
		}
		deepest = max(deepest, m.depth)
	}
	all := map[int]bool{}
	for _, s := range depths {
		for k := range s {
			all[k] = true
		}
	}
	enough := min(enoughStates, max(2, len(all)/3))
	states := map[int]bool{}
	limit := deepest
	for d := 0; d <= deepest; d++ {
		for k := range depths[d] {
			states[k] = true
		}
		if len(states) >= enough {
			limit = d
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(t.moments), func(m moment) bool { return m.depth > limit })
}

// limit leaves out what lies behind so many changes of the structure, but for the end of the program.
func (t *terrain) limit(changes int) {
	kept := t.early(t.moments, changes, true)
	if t.limited = len(kept) < len(t.moments); t.limited {
		t.moments = kept
		t.idle = slices.DeleteFunc(t.idle, func(m moment) bool { return m.state > changes })
	}
}

// early leaves the moments among so many changes of the structure, the first: a run that only goes on to do the same tells nothing new. The end of
// the program is left if the end is asked for. All are left if there are few before.
func (t *terrain) early(moments []moment, changes int, end bool) []moment {
	states := map[int]bool{}
	kept := slices.DeleteFunc(slices.Clone(moments), func(m moment) bool {
		if m.state <= changes {
			states[m.state] = true
		}
		return m.state > changes && !(end && t.places[m.place].fn == "")
	})
	if len(states) < enoughStates {
		return moments
	}
	return kept
}

// thin leaves at most n moments, every so many of them, and the last one of each
// place. dropped says how many are gone.
func thin(moments []moment, n int) (kept []moment, dropped int) {
	if len(moments) <= n {
		return moments, 0
	}
	last := map[int]int{}
	for i, m := range moments {
		last[m.place] = i
	}
	step := float64(len(moments)) / float64(n)
	next := 0.0
	for i, m := range moments {
		if float64(i) >= next || last[m.place] == i {
			kept = append(kept, m)
			next += step
		}
	}
	return kept, len(moments) - len(kept)
}

// thinPlaces leaves at most so many moments of each place.
func thinPlaces(moments []moment, each int) (kept []moment) {
	total, seen := map[int]int{}, map[int]int{}
	for _, m := range moments {
		total[m.place]++
	}
	for _, m := range moments {
		n := seen[m.place]
		seen[m.place]++
		if step := (total[m.place] + each - 1) / each; n%step == 0 || n == total[m.place]-1 {
			kept = append(kept, m)
		}
	}
	return kept
}

// looks chooses moments to look at whole: different states, spread over the run,
// the largest structure among them.
func (t *terrain) looks(moments []moment) []moment {
	var distinct []moment
	biggest := 0
	for _, m := range moments {
		if t.aliveAt(m) == 0 || len(distinct) > 0 && distinct[len(distinct)-1].state == m.state {
			continue
		}
		distinct = append(distinct, m)
		if t.aliveAt(m) > t.aliveAt(distinct[biggest]) {
			biggest = len(distinct) - 1
		}
	}
	if len(distinct) == 0 {
		return nil
	}
	out := []moment{distinct[biggest]}
	n := min(maxLooks, len(distinct))
	for i := range n {
		out = append(out, distinct[(2*i+1)*len(distinct)/(2*n)])
	}
	inTime(out)
	return slices.CompactFunc(out, func(a, b moment) bool { return a.at == b.at })
}
