package eval

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Sparing is the verdict on an instance, did X.DANGLING not count the pointers that lead to what is spared, and did (X.f).EXISTS hold of
// them: whether anything else is broken. spared is asked of addresses where no node is, and of the live block in which such a one
// lies (0: in none). Attributes count all pointers.
func (c *Checker) Sparing(i Instance, v mgpp.View, spared func(addr trace.Addr, block mgpp.NodeID) bool) Verdict {
	defer c.halted()
	c.begin()
	e := c.env(v)
	clear(e.sums) // they may count pointers
	e.spared = spared
	defer func() { e.spared = nil; clear(e.sums) }()
	return c.evalIn(e, i).Verdict
}

// spares reports whether a pointer that leads to no node counts as one that does.
func (e *env) spares(p value) bool {
	switch {
	case e.spared == nil || e.used > 1 || e.ended(p) != 0: // of attributes the values are kept
		return false
	case p.tgt == mgpp.Points:
		return e.spared(trace.Addr(p.bits), p.node)
	}
	return p.tgt == mgpp.Wild && e.spared(trace.Addr(p.bits), 0)
}
