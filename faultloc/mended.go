package faultloc

import (
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// Who begins a change breaks what the end of it mends again: what is put in place of a heap's first is out of order until it has been moved down. That a statement broke
// something says less where it has broken the same before, in calls that ended well: who should have mended it did not.

// mendedBefore: some earlier executions of an operation's instruction broke constraints that this one broke for good.
func (in *Input) mendedBefore(t mgpp.Timestamp, c *contribution) bool {
	broken := map[int]bool{}
	for i := range c.flipped {
		if f := &c.flipped[i]; f.lasting {
			broken[f.instance.Constraint] = true
		}
	}
	n, broke := 0, 0
	in.earlier(t, in.Healthy, func(t mgpp.Timestamp) bool {
		if n++; in.turned(t, broken) {
			broke++
		}
		return n < maxLike && broke < minLike
	})
	return broke == minLike
}

// turned: an operation turned an instance of some constraints from holding to broken.
func (in *Input) turned(t mgpp.Timestamp, constraints map[int]bool) bool {
	now, before := in.Model.View(t), in.Model.View(t-1)
	for _, i := range in.Model.Touched(t) {
		if constraints[i.Constraint] && in.Model.Verdict(i, now) == eval.Broken && in.Model.Verdict(i, before) == eval.Holds {
			return true
		}
	}
	return false
}
