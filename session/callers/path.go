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

// walk follows a run below one function.
type walk struct {
	g     *Graph
	sites map[trace.Addr][]site // by the function called
	to    trace.Addr            // the entry of the function that is looked for
	leads map[trace.Addr]bool   // functions from which that can be reached
}

// Among returns the return addresses of the calls that led from a function, by its entry, to
// the i-th of the instructions that a thread ran one after the other in one call of it, the
// innermost first: up to the first that is not certain. Others may have run in between, and before
// them, unless the call began with them.
func (g *Graph) Among(from trace.Addr, ran []trace.Addr, i int, begins bool) []trace.Addr {
	sites, ok := g.sites(from)
	if !ok {
		return nil
	}
	for _, list := range sites {
		if slices.ContainsFunc(list, func(s site) bool { return s.taken }) {
			return nil // it may be called from anywhere
		}
	}
	w := &walk{g: g, sites: sites}
	lo, hi := max(0, i-maxBeside), min(len(ran), i+maxBeside+1)
	first := config{at: ran[lo], deep: true}
	if lo == 0 && begins {
		first, lo = config{at: from}, -1
	}
	layers := [][]config{{first}}
	before := [][][]int{nil} // of each config of a layer those of the layer before from which it was reached
	for k := lo + 1; k < hi; k++ {
		next, from, ok := w.step(layers[len(layers)-1], ran[k], k > 0)
		if !ok {
			return nil
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
	return g.only(sites, from, ran[i], common(layers[last], kept))
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

// step goes on from the instructions of some configs, or from where they begin, to the next that ran.
func (w *walk) step(list []config, to trace.Addr, behind bool) (out []config, from [][]int, ok bool) {
	entry, _, ok := w.g.entry(to)
	f := w.g.function(entry)
	if !ok || f == nil {
		return nil, nil, false
	}
	target := f.inst(to)
	w.aim(entry)
	index := map[config]int{}
	for i, c := range list {
		visited := map[config]bool{}
		var work []config
		add := func(c config) {
			if !visited[c] {
				visited[c] = true
				work = append(work, c)
			}
		}
		if behind {
			for _, s := range w.g.after(c.at) {
				c.at = s
				add(c)
			}
		} else {
			add(c)
		}
		for len(work) > 0 {
			c := work[len(work)-1]
			work = work[:len(work)-1]
			if len(visited) > maxVisited || !w.through(c, entry, target, add, func(found config) {
				k, known := index[found]
				if !known {
					k = len(out)
					index[found] = k
					out, from = append(out, found), append(from, nil)
				}
				if !slices.Contains(from[k], i) {
					from[k] = append(from[k], i)
				}
			}) {
				return nil, nil, false
			}
		}
	}
	return out, from, len(out) > 0 && len(out) <= maxConfigs
}

// through follows what can run from a place on within its function, and where that calls and
// returns to.
func (w *walk) through(c config, entry trace.Addr, target int, add, found func(config)) bool {
	at, _, ok := w.g.entry(c.at)
	f := w.g.function(at)
	if !ok || f == nil {
		return false
	}
	for _, k := range f.reach(f.inst(c.at)) {
		in := &f.code[k]
		next := c
		next.at = in.at
		if at == entry && k == target {
			found(next)
		}
		for _, call := range f.calls {
			switch {
			case call.at != in.at || !w.leads[call.to]:
			case call.ret != 0:
				add(next.call(call.to, call.ret))
			default: // it jumps there
				next.at = call.to
				add(next)
			}
		}
		switch {
		case in.kind != x86.KindRet:
		case c.n > 0:
			add(c.back())
		case c.deep:
			for _, s := range w.sites[at] {
				if next.at = s.ret; s.ret != 0 {
					add(next)
				}
			}
		}
	}
	return true
}

// aim finds the functions from which one can be reached.
func (w *walk) aim(entry trace.Addr) {
	if w.to == entry && w.leads != nil {
		return
	}
	w.to, w.leads = entry, map[trace.Addr]bool{entry: true}
	for work := []trace.Addr{entry}; len(work) > 0; work = work[1:] {
		for _, s := range w.sites[work[0]] {
			if !w.leads[s.caller] {
				w.leads[s.caller] = true
				work = append(work, s.caller)
			}
		}
	}
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

// reach returns the instructions that may run from one on within its function, that one too.
func (f *function) reach(i int) []int {
	if i < 0 {
		return nil
	}
	if list, known := f.reached[i]; known {
		return list
	}
	seen := make([]bool, len(f.code))
	seen[i] = true
	list := []int{i}
	for k := 0; k < len(list); k++ {
		for _, s := range f.successors(list[k]) {
			if !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
	}
	if f.reached == nil {
		f.reached = map[int][]int{}
	}
	f.reached[i] = list
	return list
}
