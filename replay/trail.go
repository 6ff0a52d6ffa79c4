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
	for next := max(minTrail, steps/maxMarks); c.run.Err == nil && c.pc != outside && len(c.pages) <= maxOfMark; {
		c.go1()
		if c.run.Steps >= next && c.run.Err == nil && c.pc != outside {
			m.marks = append(m.marks, c.clone())
			next = c.run.Steps + max(minTrail, steps/maxMarks)
		}
	}
}

// clone is a run that goes on from here by itself.
func (c *cpu) clone() *cpu {
	d := *c
	d.pages = make(map[uint64]*page, len(c.pages))
	pages := make([]page, 0, len(c.pages))
	for n, p := range c.pages {
		pages = append(pages, *p)
		d.pages[n] = &pages[len(pages)-1]
	}
	d.recent, d.written = page0{}, page0{}
	d.frames, d.calls = slices.Clone(c.frames), nil
	d.kept, d.sites = map[uint64]*Origin{}, map[uint64]*Site{}
	d.run.Effects = slices.Clip(c.run.Effects)
	return &d
}

// resume is a run of a call from the last state that is kept of what it has in common with the one of the trail; nil: there is
// none.
func (m *Machine) resume(call *Call) *cpu {
	for _, k := range slices.Backward(m.marks) {
		if call.Brief && k.run.Steps <= call.Same {
			c := k.clone()
			c.call = call
			return c
		}
	}
	return nil
}
