package mine

import (
	"slices"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// spans are periods of time that do not overlap in one thread, by their ends.
type spans struct{ enter, leave []mgpp.Timestamp }

// open returns how many of them contain a time, their ends not counted.
func (s *spans) open(at mgpp.Timestamp) int {
	if s == nil {
		return 0
	}
	begun := sort.Search(len(s.enter), func(i int) bool { return s.enter[i] >= at })
	return begun - until(s.leave, at)
}

// concurrency tells when threads are inside of operations on the structure.
type concurrency struct {
	all spans
	of  map[trace.ThreadID]*spans
}

// inside reports whether a thread other than this one is, and has changed the structure
// there: it need not be whole then, and C-points are not checked.
func (c *concurrency) inside(thread trace.ThreadID, at mgpp.Timestamp) bool {
	return c != nil && c.all.open(at) > c.of[thread].open(at)
}

// concurrent finds the operations: the outermost calls of functions that change the
// structure themselves, and that do not lead a whole thread. Nil: one thread alone
// makes them.
func (t *terrain) concurrent() *concurrency {
	if len(t.by) < 2 {
		return nil
	}
	funcs := t.functions()
	c := &concurrency{of: map[trace.ThreadID]*spans{}}
	within := make([]bool, len(t.run.Calls)) // such a call, or inside of one
	for i, call := range t.run.Calls {
		if call.Parent >= 0 && within[call.Parent] {
			within[i] = true
			continue
		}
		f := funcs[call.Func]
		if !t.mutating[i] || !t.own[call.Func] || f.leads() || call.Parent < 0 && f.Calls < enoughStates {
			continue
		}
		within[i] = true
		s := c.of[call.Thread]
		if s == nil {
			s = &spans{}
			c.of[call.Thread] = s
		}
		own := t.by[call.Thread]
		before := own[until(own, call.Enter)] - 1 // its first change; it waits for a lock until then, say
		for _, s := range []*spans{s, &c.all} {
			s.enter, s.leave = append(s.enter, before), append(s.leave, call.Leave)
		}
	}
	if len(c.of) < 2 {
		return nil
	}
	slices.Sort(c.all.enter) // of a thread they are in order
	slices.Sort(c.all.leave)
	return c
}
