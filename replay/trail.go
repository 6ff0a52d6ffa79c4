package replay

import "slices"

// Experiments with a call are the same up to a point: what comes before that is executed once.

// Limits of what is kept of a call.
const (
	maxMarks  = 16
	minTrail  = 64 // instructions between two of them, at least
	maxOfMark = 64 // pages of one
)

// Trail executes a call, of so many instructions, and keeps some of the states in between, from which runs of it may begin that
// differ only behind that: Call.Same.
func (m *Machine) Trail(call Call, steps int) {
	m.marks = nil
	call.Brief = true
	c := m.begin(&call)
	for next := max(minTrail, steps/maxMarks); c.run.Err == nil && !c.over() && !c.arrived() && len(c.pages) <= maxOfMark; {
		c.go1()
		if c.run.Steps >= next && c.run.Err == nil && !c.over() {
			m.marks = append(m.marks, c.mark())
			next = c.run.Steps + max(minTrail, steps/maxMarks)
		}
	}
}

// mark is the state as it is now, which stays while the run goes on.
func (c *cpu) mark() *cpu {
	d := c.copied()
	d.pages, d.under = make(map[uint64]*page, len(c.pages)), nil
	for _, all := range [2]map[uint64]*page{c.under, c.pages} {
		for n, p := range all {
			q := *p
			d.pages[n] = &q
		}
	}
	return d
}

// onward is a run that goes on from a mark by itself, and leaves its pages as they are.
func (c *cpu) onward() *cpu {
	d := c.copied()
	d.pages, d.under = map[uint64]*page{}, c.pages
	return d
}

// copied is a run with all that this one has but memory.
func (c *cpu) copied() *cpu {
	d := *c
	d.near = [nearPages]nearPage{}
	d.frames, d.calls = slices.Clone(c.frames), nil
	d.inside = slices.Clone(c.inside)
	d.kept, d.sites = map[uint64]*Origin{}, map[uint64]*Site{}
	d.bytesLeft, d.originsLeft = nil, nil
	d.run.Effects = slices.Clip(c.run.Effects)
	return &d
}

// resume is a run of a call from the last state that is kept of what it has in common with the one of the trail; nil: there is
// none.
func (m *Machine) resume(call *Call) *cpu {
	for _, k := range slices.Backward(m.marks) {
		if call.Brief && k.run.Steps <= call.Same {
			c := k.onward()
			c.call = call
			return c
		}
	}
	return nil
}
