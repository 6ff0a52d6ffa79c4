package callers

import (
	"slices"

	"mgtrace/trace"
)

// Around returns more of a stack that Between or Among has found up to a call of which several were possible: of the calls around, those
// that all ways from the function to there begin with, the innermost first. Between the two parts some are missing.
//
//  1. which functions lead to the one of which it is not known who called it
//  2. from the outermost on, the only call in each that leads there
func (g *Graph) Around(from, pc trace.Addr, stack []trace.Addr) (around []trace.Addr) {
	if len(stack) > 0 {
		pc = stack[len(stack)-1] - 1
	}
	to, _, ok := g.entry(pc)
	if !ok || to == from {
		return nil
	}
	leads := g.leadTo(to, from)
	for at := from; at != to && len(around) < maxDepth; {
		c, ok := g.leading(at, leads)
		if !ok {
			break
		}
		around = append(around, c.ret)
		at = c.to
	}
	slices.Reverse(around)
	return around
}

// FromMain returns the calls by which an instruction was come to from main, the innermost first: as Between and Around, of which those that are
// certain. None if what main does not call leads there too, as the constructors of static objects, what exit calls, or what a
// thread begins with.
func (g *Graph) FromMain(pc trace.Addr) []trace.Addr {
	from, ok := g.symbols.Entry("main")
	to, _, known := g.entry(pc)
	x := g.expose()
	if !ok || !known || !x.known {
		return nil
	}
	var others []trace.Addr
	for _, c := range x.calls {
		others = append(others, c.to)
	}
	leads := g.leadTo(to, others...)
	if leads.from == nil || slices.ContainsFunc(others, func(at trace.Addr) bool { return leads.from[at] }) {
		return nil
	}
	calls := g.Between(from, pc)
	return slices.Concat(calls, g.Around(from, pc, calls))
}

// ways are the functions from which one can be come to.
type ways struct {
	from    map[trace.Addr]bool
	pointed bool // calls through pointers may lead there
}

// leadTo finds those that can be reached from some and lead to another; none if it is not known what is reached.
func (g *Graph) leadTo(to trace.Addr, from ...trace.Addr) (w ways) {
	callers := map[trace.Addr][]trace.Addr{}
	seen := map[trace.Addr]bool{}
	reached := slices.Clone(from)
	for _, at := range from {
		seen[at] = true
	}
	add := func(calls []call, caller trace.Addr) {
		for _, c := range calls {
			if caller != 0 {
				callers[c.to] = append(callers[c.to], caller)
			}
			if !seen[c.to] {
				seen[c.to] = true
				reached = append(reached, c.to)
			}
		}
	}
	var indirect []trace.Addr
	for i := 0; i < len(reached); i++ {
		f := g.function(reached[i])
		switch {
		case f == nil:
			continue
		case f.open, len(reached) > maxReached:
			return ways{}
		case f.indirect:
			if len(indirect) == 0 {
				x := g.expose()
				if !x.known {
					return ways{}
				}
				add(x.calls, 0)
			}
			indirect = append(indirect, reached[i])
		}
		add(f.calls, reached[i])
	}
	w.from = map[trace.Addr]bool{to: true}
	work := []trace.Addr{to}
	for ; len(work) > 0; work = work[1:] {
		next := callers[work[0]]
		if !w.pointed && len(indirect) > 0 && slices.ContainsFunc(g.expose().calls, func(c call) bool { return c.to == work[0] }) {
			w.pointed = true
			next = slices.Concat(next, indirect)
		}
		for _, caller := range next {
			if !w.from[caller] {
				w.from[caller] = true
				work = append(work, caller)
			}
		}
	}
	return w
}

// leading is the only call in a function that leads on, if it is a call, and the only one.
func (g *Graph) leading(entry trace.Addr, w ways) (only call, ok bool) {
	f := g.function(entry)
	if f == nil || f.indirect && w.pointed {
		return only, false
	}
	for _, c := range f.calls {
		if !w.from[c.to] {
			continue
		}
		if ok {
			return call{}, false
		}
		only, ok = c, true
	}
	return only, ok && only.ret != 0 && !only.taken
}
