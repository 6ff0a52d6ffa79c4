package mine

import (
	"cmp"
	"slices"

	"mgtrace/cxxname"
)

// agree decides what held, where facts and places contradict each other: a place at
// which many facts fail that hold elsewhere is no C-point, a fact that fails at many
// places is none. It drops the worse of the two, measured by the share of what
// contradicts it, until no contradiction is left; cands are those that stay, and
// places (by number) those that count. ends says how often and where they were checked.
//
// Of facts that may well be accidents (candidate.loose) two have a say in what a place is:
// a dozen numbers of nodes that were not given yet are no dozen reasons. What failed only at first says nothing of the place.
// A place stays without which a tenth of all moments would not be left: where a loop calls one operation, all but the beginning and the end of the run.
func agree(cands []*candidate, places map[int]bool, ends map[int]end) (facts []*candidate) {
	fails := func(c *candidate, p int) bool { return places[p] && c.fails[p] > 0 }
	share := func(c *candidate) float64 {
		n := 0
		for p := range places {
			if fails(c, p) {
				n++
			}
		}
		return float64(n) / float64(max(1, len(places)))
	}
	moments := func(all map[int]bool) (n int) {
		for p := range all {
			n += ends[p].moments
		}
		return n
	}
	least := moments(places) / 10
	against := func(c *candidate, p int) bool { return fails(c, p) && !c.grown(p, ends[p]) }
	for _, c := range cands {
		if !c.dead && share(c) <= 0.5 {
			facts = append(facts, c)
		}
	}
	for {
		worst, most := -1, 0.0
		for i, c := range facts {
			if s := share(c); s > most {
				worst, most = i, s
			}
		}
		if worst < 0 {
			return facts
		}
		place, share := -1, 0.0 // one contradiction alone does not tell who is wrong: then it is the fact
		all := say(facts, func(*candidate) bool { return true })
		for _, p := range sortedKeys(places) {
			n := say(facts, func(c *candidate) bool { return against(c, p) })
			if s := float64(n) / float64(all); s > share && n > 1 && moments(places)-ends[p].moments >= least {
				place, share = p, s
			}
		}
		between := betweenCalls(facts[worst], places, ends)
		switch {
		case share > most && len(places) > 2:
			delete(places, place)
		case len(between) > 0 && len(places) > len(between)+1:
			for _, p := range between {
				delete(places, p)
			}
		default:
			facts = slices.Delete(facts, worst, worst+1)
		}
	}
}

// grown: the fact failed at the first few of a place's moments, and never again: the structure was too small for it, as a root that is a
// leaf has no parent. Before the very first call it may not have been made yet.
func (c *candidate) grown(p int, e end) bool {
	const few = 10 // one in so many
	return c.since[p] == c.fails[p] && few*c.fails[p] <= e.moments && (c.fails[p] > 1 || !e.begins)
}

// end is one of a function's: where it begins, or else where it is left.
type end struct {
	begins  bool
	moments int // that were checked
}

// say counts the facts of which something is true, of loose ones two at most.
func say(facts []*candidate, is func(*candidate) bool) int {
	firm, loose := 0, 0
	for _, c := range facts {
		switch {
		case !is(c):
		case c.loose():
			loose++
		default:
			firm++
		}
	}
	return firm + min(loose, 2)
}

// betweenCalls are the places between the call that makes a node and the one that links it:
// where the one begins, and maybe where the other is left, a fact fails in nine of ten cases,
// and nowhere else. None: that is not what contradicts the fact.
func betweenCalls(c *candidate, places map[int]bool, ends map[int]end) []int {
	const many = 8 // moments that show what is always so
	var out []int
	begins := false
	for _, p := range sortedKeys(places) {
		if n := c.fails[p]; n > 0 {
			e := ends[p]
			if c.weak || e.moments < many || 10*n < 9*e.moments || len(out) == 2 {
				return nil
			}
			out, begins = append(out, p), begins || e.begins
		}
	}
	if !begins {
		return nil
	}
	return out
}

// ends describes the places of the quiet moments.
func (m *mining) ends() map[int]end {
	out := map[int]end{}
	for _, q := range m.quiet {
		p := m.land.places[q.place]
		out[q.place] = end{begins: p.fn != "" && !p.exit, moments: out[q.place].moments + 1}
	}
	return out
}

func sortedKeys(m map[int]bool) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// CPoint is a proposed C-point, or a function that is none.
type CPoint struct {
	Func  string `json:"function"`
	Calls int    `json:"calls"` // outermost ones that changed the structure
	Entry bool   `json:"entry"` // the structure was whole whenever one began; not of a constructor
	Exit  bool   `json:"exit"`  // and whenever one ended; not of a destructor
	// Chosen: it is a statement of the specification.
	Chosen bool `json:"chosen"`
	// Broken are facts that failed at its boundaries.
	Broken []string `json:"broken,omitempty"`
	// Library: it lies in a header of the system, see Run.Library.
	Library bool `json:"library,omitempty"`
}

// function is what is known of a function that changed the structure.
type function struct {
	CPoint
	callees []string // of calls that changed the structure, each once
	below   int      // such calls
	root    bool     // called by nobody that is known
}

// functions sums up the calls that changed the structure.
func (t *terrain) functions() map[string]*function {
	out := map[string]*function{}
	get := func(name string) *function {
		f := out[name]
		if f == nil {
			f = &function{CPoint: CPoint{Func: name, Library: t.run.Library(name)}}
			out[name] = f
		}
		return f
	}
	for i, c := range t.run.Calls {
		if !t.mutating[i] {
			continue
		}
		f := get(c.Func)
		if !c.Inner {
			f.Calls++
		}
		if c.Parent < 0 {
			f.root = true
			continue
		}
		up := get(t.run.Calls[c.Parent].Func)
		if up == f {
			continue
		}
		up.below++
		if !slices.Contains(up.callees, c.Func) {
			up.callees = append(up.callees, c.Func)
		}
	}
	return out
}

// leads says that a function is called a few times and calls many times.
func (f *function) leads() bool { return f.Calls < enoughStates && f.below > 2*f.Calls }

// handsOn says that a function is called a few times, and all it does is to call
// another: what begins a thread.
func (t *terrain) handsOn(f *function) bool {
	return f.Calls < enoughStates && len(f.callees) == 1 && !t.own[f.Func]
}

// driver reports whether a function only calls what changes the structure, so that
// C-points belong to what it calls: it is called a few times and calls many times, or
// it hands each call on to one of several. A function that is often called and makes
// its change of several parts is an operation.
func (t *terrain) driver(f *function, good func(string) bool) bool {
	switch {
	case len(f.callees) == 0:
		return false
	case f.leads(), t.handsOn(f):
		return true
	case t.own[f.Func] || slices.ContainsFunc(f.callees, func(c string) bool { return !good(c) }):
		return false
	}
	return f.below > 8*f.Calls || len(f.callees) > 1 && 4*f.below <= 5*f.Calls
}

// worth reports whether a function may be a C-point: whole at both ends, or at one if
// it changes the structure itself. What only allocates or frees is none: nothing is
// broken there.
func (t *terrain) worth(f *function) bool {
	if f.Library || t.takenDown(f) || !t.stores[f.Func] && len(f.callees) == 0 {
		return false
	}
	return f.Entry && f.Exit || (f.Entry || f.Exit) && t.stores[f.Func]
}

// takenDown: it is the destructor of nodes, of which a few were not destroyed in the course of something else, as at the end of the run:
// another run may destroy one in the middle of an operation.
func (t *terrain) takenDown(f *function) bool {
	class, ok := cxxname.Destroyed(f.Func)
	return ok && f.Calls < enoughStates && t.births[class] > f.Calls
}

// unborn: the place is the beginning of a constructor, or the end of a destructor. Its object is there, and holds nothing that
// any law could be about, even if none of those that were found is broken.
func (p place) unborn() bool {
	return !p.exit && cxxname.Constructs(p.fn) || p.exit && cxxname.Destroys(p.fn)
}

// choose proposes C-points: the outermost functions at whose boundaries no fact
// failed, drivers excepted. facts have been swept over all moments.
func (t *terrain) choose(facts []*candidate) []CPoint {
	funcs := t.functions()
	for id, p := range t.places {
		f := funcs[p.fn]
		if f == nil || p.unborn() {
			continue
		}
		whole := true
		for _, c := range facts {
			if c.fails[id] > 0 {
				whole = false
				if !slices.Contains(f.Broken, c.key) {
					f.Broken = append(f.Broken, c.key)
				}
			}
		}
		if p.exit {
			f.Exit = whole
		} else {
			f.Entry = whole
		}
	}
	good := func(name string) bool {
		f := funcs[name]
		return (f.Entry || cxxname.Constructs(name)) && (f.Exit || cxxname.Destroys(name))
	}
	seen := map[string]bool{}
	var visit func(name string) bool // something was chosen there
	visit = func(name string) bool {
		f := funcs[name]
		if seen[name] {
			return f.Chosen
		}
		seen[name] = true
		if t.worth(f) && name != "main" && !t.driver(f, good) {
			f.Chosen = true
			return true
		}
		any := false
		for _, c := range f.callees {
			if visit(c) {
				any = true
			}
		}
		if !any && t.worth(f) && good(name) && name != "main" {
			f.Chosen, any = true, true
		}
		return any
	}
	var list []*function
	for _, f := range funcs {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *function) int { return cmp.Compare(a.Func, b.Func) })
	for _, f := range list {
		if f.root {
			visit(f.Func)
		}
	}
	t.onlyOutermost(funcs)
	var out []CPoint
	for _, f := range list {
		if !f.Library {
			out = append(out, f.CPoint)
		}
	}
	slices.SortStableFunc(out, func(a, b CPoint) int {
		if a.Chosen != b.Chosen {
			return -1 + 2*btoi(b.Chosen)
		}
		return cmp.Compare(b.Calls, a.Calls)
	})
	return out
}

// meant leaves facts out that are likely to be accidents: where C-points at which all of them hold would
// show the structure in few of the states that it had, being functions that run before or after all operations, those that
// fail at more than half of all places. Where that does not help, all stay. facts have been swept over all moments.
func (t *terrain) meant(facts []*candidate) []*candidate {
	const every = 4 * enoughStates // of fewer states in all, few are no sign
	if t.shownAt(facts) >= enoughStates || t.shown(func(int) bool { return true }) < every {
		return facts
	}
	often := func(c *candidate) bool { return 2*len(c.fails) > len(t.places) }
	left := slices.DeleteFunc(slices.Clone(facts), often)
	if t.shownAt(left) < enoughStates {
		return facts
	}
	for _, c := range facts {
		c.dead = c.dead || often(c)
	}
	return left
}

// shownAt is in how many states the C-points show the structure at which all facts hold.
func (t *terrain) shownAt(facts []*candidate) int {
	picked := t.picked(t.choose(facts), false)
	return t.shown(func(p int) bool { return picked[p] })
}

// shown is in how many states, none of them empty, places show the structure.
func (t *terrain) shown(at func(place int) bool) int {
	states := map[int]bool{}
	for _, m := range t.moments {
		if at(m.place) && t.aliveAt(m) > 0 {
			states[m.state] = true
		}
	}
	return len(states)
}

// onlyOutermost gives up functions all of whose calls lie in those of others that are
// chosen.
func (t *terrain) onlyOutermost(funcs map[string]*function) {
	free := map[string]bool{} // called from outside of all others
	covered := make([]bool, len(t.run.Calls))
	for i, c := range t.run.Calls {
		if c.Parent >= 0 {
			up := funcs[t.run.Calls[c.Parent].Func]
			covered[i] = covered[c.Parent] || up != nil && up.Chosen && up.Entry && up.Exit
		}
		if t.mutating[i] && !covered[i] {
			free[c.Func] = true
		}
	}
	for name, f := range funcs {
		f.Chosen = f.Chosen && free[name]
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// picked returns which places the chosen C-points are; end tells of the normal end.
func (t *terrain) picked(points []CPoint, end bool) map[int]bool {
	out := map[int]bool{}
	for id, p := range t.places {
		if p.fn == "" {
			if end {
				out[id] = true
			}
			continue
		}
		for _, c := range points {
			if c.Chosen && c.Func == p.fn && (p.exit && c.Exit || !p.exit && c.Entry) {
				out[id] = true
			}
		}
	}
	return out
}
