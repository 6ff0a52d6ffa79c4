package eval

import "mgtrace/constraints/graph"

// An evaluation may take as long as the garbage is large that a broken program
// leaves. Work counts its steps, the same on any machine; Heed lets it be stopped
// from outside. Evaluation is recursive in many ways, so that a stop unwinds it
// by a panic that never leaves the package: every exported method that evaluates
// has "defer c.halted()".

// pollEvery is how many steps are done between two looks at whether to stop.
const pollEvery = 1 << 12

// halt is what a stopped evaluation panics with.
type halt struct{}

// Heed makes the checker ask, now and then, whether to stop. Once it has stopped
// it evaluates nothing any more, until Resume: what it returns then, and Stopped
// tells it, is no answer.
func (c *Checker) Heed(stop func() bool) { c.stop = stop }

// Stopped reports whether an evaluation was stopped. What was returned by the
// call that was under way, and by any since, is no answer.
func (c *Checker) Stopped() bool { return c.ended }

// Resume makes a checker that was stopped evaluate again, from scratch: what was known of the
// state that was being evaluated is half of one time and half of another.
func (c *Checker) Resume() {
	c.ended = false
	c.recent, c.guess, c.passed, c.spare, c.step, c.filling = [len(c.recent)]*env{}, nil, nil, nil, nil, nil
	c.state, c.aside = nil, nil
	c.changes, c.visits, c.depRoom = graph.Changes{}, visits{}, nil
	c.reach = newReach(c)
}

// Work returns how many steps all evaluations have taken so far: expressions
// evaluated, nodes visited, dependencies noted.
func (c *Checker) Work() uint64 { return c.work }

// tick counts a step.
func (c *Checker) tick() {
	c.work++
	if c.work%pollEvery == 0 && c.stop != nil && c.stop() {
		panic(halt{})
	}
}

// begin refuses to evaluate once the checker was stopped.
func (c *Checker) begin() {
	if c.ended || c.stop != nil && c.stop() {
		panic(halt{})
	}
}

// halted ends the unwinding of a stopped evaluation.
func (c *Checker) halted() {
	if !c.ended && c.stop == nil {
		return // nobody stops this one: panics are our own errors
	}
	switch p := recover(); p.(type) {
	case nil:
	case halt:
		c.ended = true
	default:
		panic(p)
	}
}
