package callers

import (
	"slices"
	"sort"

	"mgtrace/trace"
	"mgtrace/x86"
)

// Where several calls of a function are possible, what the thread did before and after that may
// leave one. Between an instruction and the next that is known to have run lie others of their
// functions, calls, and returns to where those were made: all ways are followed, as those of an
// automaton with a stack, and those dropped from which what ran next could not be reached.

// Limits of what is followed. Of deeper stacks the innermost frames are known, and from these any call of the
// function may be returned to.
const (
	maxFrames  = 8
	maxBeside  = 24      // instructions that ran before, and behind
	maxConfigs = 1 << 8  // stacks with which one may have run
	maxVisited = 1 << 12 // places, with their stacks, on the way from one to the next
)

// config is a place and the return addresses with which it may be reached, the innermost first.
type config struct {
	at    trace.Addr
	stack [maxFrames]trace.Addr
	n     int
	deep  bool // there may be more
}

func (c config) call(to, ret trace.Addr) config {
	c.deep = c.deep || c.n == maxFrames
	copy(c.stack[1:], c.stack[:maxFrames-1])
	c.at, c.stack[0], c.n = to, ret, min(c.n+1, maxFrames)
	return c
}

func (c config) back() config {
	c.at = c.stack[0]
	copy(c.stack[:], c.stack[1:])
	c.stack[maxFrames-1] = 0
	c.n--
	return c
}

// walk follows runs below one function. What it has found of one step holds for each run that makes the same one: the runs that
// are asked about several instructions of a call have most in common.
type walk struct {
	g     *Graph
	sites map[trace.Addr][]site              // by the function called
	leads map[trace.Addr]map[trace.Addr]bool // by the entry of the function that is looked for: functions from which that can be reached
	steps map[stride][]config                // nil: too much would have had to be visited, or a function is not known
}

// stride is one step of a run.
type stride struct {
	from   config
	to     trace.Addr
	behind bool // from is an instruction that has run, and not where the call begins
}

// maxSteps bounds the steps that a walk remembers.
const maxSteps = 1 << 12

// Among tells which of the i-th of the instructions, one of several each, that a thread ran one after the other in one call of a function, by its
// entry, it was, and returns the return addresses of the calls that led there, the innermost first: up to the first that is not certain. Others
// may have run in between, and before them, unless start says where that was. 0: it is not known.
func (g *Graph) Among(from trace.Addr, start Start, ran [][]trace.Addr, i int) (at trace.Addr, calls []trace.Addr) {
	w := g.walk(from)
	if w == nil {
		return 0, nil
	}
	lo, hi := max(0, i-maxBeside), min(len(ran), i+maxBeside+1)
	var first []config
	for _, one := range ran[lo] {
		first = append(first, config{at: one, deep: true})
	}
	begins := false
	if c, ok := g.startOf(from, start); ok && lo == 0 {
		first, lo, begins = []config{c}, -1, len(start.Stack) == 0
	}
	layers := [][]config{first}
	before := [][][]int{nil} // of each config of a layer those of the layer before from which it was reached
	for k := lo + 1; k < hi; k++ {
		next, from, ok := w.step(layers[len(layers)-1], ran[k], k > 0 || !begins)
		if !ok {
			return 0, nil
		}
		layers, before = append(layers, next), append(before, from)
	}
	last := len(layers) - 1
	kept := slices.Repeat([]bool{true}, len(layers[last]))
	for ; last > i-lo; last-- {
		was := make([]bool, len(layers[last-1]))
		for c, from := range before[last] {
			for _, f := range from {
				was[f] = was[f] || kept[c]
			}
		}
		kept = was
	}
	for c, k := range layers[last] {
		switch {
		case !kept[c]:
		case at != 0 && at != k.at:
			return 0, nil
		default:
			at = k.at
		}
	}
	return at, g.only(w.sites, from, at, common(layers[last], kept))
}

// Start is where a run was before the first of its instructions that are known.
type Start struct {
	Begins bool         // the call began with it
	Stack  []trace.Addr // the return addresses of the calls in which it was, the innermost first; none: they are not known
}

// startOf is the place of a start, with the calls below a function that led there; it is not ok if they are not known, or code without source is
// among them. What the innermost of them called, as the allocator, is not followed.
func (g *Graph) startOf(from trace.Addr, start Start) (c config, ok bool) {
	if len(start.Stack) == 0 {
		return config{at: from}, start.Begins
	}
	for i, ret := range g.Known(start.Stack) {
		if !g.known(ret) {
			break
		}
		if i == 0 {
			c.at = ret - 1
		} else if c.n < maxFrames {
			c.stack[c.n] = ret
			c.n++
		} else {
			c.deep = true
		}
		if entry, _, _ := g.entry(ret - 1); entry == from {
			return c, true
		}
	}
	return c, false
}

// Known is a stack of return addresses from the innermost call by a function of which the source is known on.
func (g *Graph) Known(stack []trace.Addr) []trace.Addr {
	i := slices.IndexFunc(stack, g.known)
	if i < 0 {
		return nil
	}
	return stack[i:]
}

func (g *Graph) known(ret trace.Addr) bool {
	entry, _, ok := g.entry(ret - 1)
	return ok && !g.sourceless(entry)
}

// walk returns what is known of runs below a function; nil: it is not known where that may be called from, or lead to.
func (g *Graph) walk(from trace.Addr) *walk {
	if w, known := g.walks[from]; known {
		return w
	}
	g.walks[from] = nil
	sites, ok := g.sites(from)
	if !ok {
		return nil
	}
	for _, list := range sites {
		if slices.ContainsFunc(list, func(s site) bool { return s.taken }) {
			return nil // it may be called from anywhere
		}
	}
	w := &walk{g, sites, map[trace.Addr]map[trace.Addr]bool{}, map[stride][]config{}}
	g.walks[from] = w
	return w
}

// common are the innermost frames that all stacks which are kept have.
func common(list []config, kept []bool) (out []trace.Addr) {
	for depth := 0; depth < maxFrames; depth++ {
		ret := trace.Addr(0)
		for i, c := range list {
			switch {
			case !kept[i]:
			case c.n <= depth || ret != 0 && c.stack[depth] != ret:
				return out
			default:
				ret = c.stack[depth]
			}
		}
		if ret == 0 {
			return out
		}
		out = append(out, ret)
	}
	return out
}

// step goes on from the instructions of some configs, or from where they begin, to the next that ran, one of several.
func (w *walk) step(list []config, to []trace.Addr, behind bool) (out []config, from [][]int, ok bool) {
	index := map[config]int{}
	for i, c := range list {
		for _, one := range to {
			found := w.stride(stride{c, one, behind})
			if found == nil {
				return nil, nil, false
			}
			for _, next := range found {
				k, known := index[next]
				if !known {
					k = len(out)
					index[next] = k
					out, from = append(out, next), append(from, nil)
				}
				from[k] = append(from[k], i)
			}
		}
	}
	return out, from, len(out) > 0 && len(out) <= maxConfigs
}

// stride returns the configs with which one step ends, each once, in the order in which they are found. Nil: it is not known.
func (w *walk) stride(s stride) []config {
	if out, known := w.steps[s]; known {
		return out
	}
	if len(w.steps) == maxSteps {
		clear(w.steps)
	}
	out := w.find(s)
	w.steps[s] = out
	return out
}

func (w *walk) find(s stride) []config {
	entry, _, ok := w.g.entry(s.to)
	f := w.g.function(entry)
	if !ok || f == nil {
		return nil
	}
	target, leads := f.inst(s.to), w.leading(entry)
	visited := map[config]bool{}
	var work []config
	add := func(c config) {
		if !visited[c] {
			visited[c] = true
			work = append(work, c)
		}
	}
	if c := s.from; s.behind {
		for _, c.at = range w.g.after(c.at) {
			add(c)
		}
	} else {
		add(c)
	}
	out, seen := []config{}, map[config]bool{}
	for len(work) > 0 {
		c := work[len(work)-1]
		work = work[:len(work)-1]
		if len(visited) > maxVisited || !w.through(c, entry, target, leads, add, func(found config) {
			if !seen[found] {
				seen[found] = true
				out = append(out, found)
			}
		}) {
			return nil
		}
	}
	return out
}

// through follows what can run from a place on within its function, and where that calls and
// returns to.
func (w *walk) through(c config, entry trace.Addr, target int, leads map[trace.Addr]bool, add, found func(config)) bool {
	at, _, ok := w.g.entry(c.at)
	f := w.g.function(at)
	if !ok || f == nil {
		return false
	}
	reach := f.reach(f.inst(c.at))
	next := c
	if at == entry && reach.has(target) {
		next.at = f.code[target].at
		found(next)
	}
	for _, call := range reach.calls {
		switch {
		case !leads[call.to]:
		case call.ret != 0:
			next.at = call.at
			add(next.call(call.to, call.ret))
		default: // it jumps there
			next.at = call.to
			add(next)
		}
	}
	switch {
	case !reach.returns:
	case c.n > 0:
		add(c.back())
	case c.deep:
		for _, s := range w.sites[at] {
			if next.at = s.ret; s.ret != 0 {
				add(next)
			}
		}
	}
	return true
}

// leading finds the functions from which one can be reached.
func (w *walk) leading(entry trace.Addr) map[trace.Addr]bool {
	if leads, known := w.leads[entry]; known {
		return leads
	}
	leads := map[trace.Addr]bool{entry: true}
	for work := []trace.Addr{entry}; len(work) > 0; work = work[1:] {
		for _, s := range w.sites[work[0]] {
			if !leads[s.caller] {
				leads[s.caller] = true
				work = append(work, s.caller)
			}
		}
	}
	w.leads[entry] = leads
	return leads
}

// inst is an instruction of a function.
type inst struct {
	at   trace.Addr
	kind x86.Kind
	next trace.Addr // behind it
	to   trace.Addr // of a jump
}

// inst returns the index of the instruction that an address lies in, -1 if none is there.
func (f *function) inst(pc trace.Addr) int {
	i := sort.Search(len(f.code), func(i int) bool { return f.code[i].at > pc }) - 1
	if i < 0 || pc >= f.code[i].next {
		return -1
	}
	return i
}

// after returns where an instruction goes on within its function.
func (g *Graph) after(pc trace.Addr) (out []trace.Addr) {
	at, _, _ := g.entry(pc)
	f := g.function(at)
	if f == nil {
		return nil
	}
	if i := f.inst(pc); i >= 0 {
		for _, s := range f.successors(i) {
			out = append(out, f.code[s].at)
		}
	}
	return out
}

// successors are the instructions that may run next, a call's when that has returned.
func (f *function) successors(i int) (out []int) {
	in := &f.code[i]
	add := func(pc trace.Addr) {
		if s := f.inst(pc); s >= 0 && f.code[s].at == pc {
			out = append(out, s)
		}
	}
	switch in.kind {
	case x86.KindRet, x86.KindStop:
	case x86.KindJmp:
		add(in.to)
	case x86.KindJcc:
		add(in.to)
		add(in.next)
	default:
		add(in.next)
	}
	return out
}

// reached is what may run from an instruction on within its function.
type reached struct {
	insts   []bool // by index
	calls   []call
	returns bool
}

func (r *reached) has(i int) bool { return i >= 0 && i < len(r.insts) && r.insts[i] }

// reach returns what may run from an instruction on, that one too.
func (f *function) reach(i int) *reached {
	if i < 0 {
		return &reached{}
	}
	if r, known := f.reached[i]; known {
		return r
	}
	r := &reached{insts: make([]bool, len(f.code))}
	r.insts[i] = true
	list := []int{i}
	for k := 0; k < len(list); k++ {
		r.returns = r.returns || f.code[list[k]].kind == x86.KindRet
		for _, s := range f.successors(list[k]) {
			if !r.insts[s] {
				r.insts[s] = true
				list = append(list, s)
			}
		}
	}
	for _, c := range f.calls {
		if r.has(f.inst(c.at)) {
			r.calls = append(r.calls, c)
		}
	}
	if f.reached == nil {
		f.reached = map[int]*reached{}
	}
	f.reached[i] = r
	return r
}
