package eval

import (
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// Verdict implements Model.
func (c *Checker) Verdict(i Instance, v mgpp.View) Verdict {
	if i.Constraint < 0 || i.Constraint >= len(c.infos) || c.infos[i.Constraint].acyclic {
		return c.Eval(i, v).Verdict
	}
	defer c.halted()
	c.begin()
	k := &c.infos[i.Constraint]
	e := c.passing(v, k)
	defer c.spend(e)
	ok, whole := e.bindInstance(k, i)
	if !ok || !e.within(k, whole) {
		return Absent
	}
	return e.verdict(k, whole)
}

// verdict judges the binding that the frame holds, and its guard.
func (e *env) verdict(k *info, whole bool) Verdict {
	if k.guard.idx != 0 || e.guarded(k) { // judge leaves a guard without indices to its caller
		return e.judge(k, whole)
	}
	return NotApplicable
}

// passing returns an evaluator for a verdict or two on a constraint. Which attributes a hypothetical view concerns is not found out for
// one that reads none. Where none has worked on a view of the history's own, nothing is taken over
// from another time, since to find out what holds still costs more, and those that have stay where they are.
func (c *Checker) passing(v mgpp.View, k *info) *env {
	c.g.Advance()
	t := v.Time()
	known := func(e *env) bool { return e != nil && e.t == t && e.now == c.g.Now() }
	if graph.Changed(v) != nil && !k.attrs && (c.guess == nil || !same(c.guess.v, v)) {
		return newEnv(c, v)
	}
	if graph.Changed(v) != nil || c.state != nil && known(c.state.env) {
		return c.env(v)
	}
	for _, e := range c.recent {
		if known(e) {
			return e
		}
	}
	if !known(c.passed) {
		c.passed = newEnv(c, v)
	}
	return c.passed
}
