package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
)

// What is broken may have come of something else that is broken: a wrong height makes the
// heights above it wrong, which were computed from it. Of two inconsistencies of a constraint,
// of which one looks at a part of the nodes that the other looks at, the one that looks at
// less is at the core; the other may follow from it.

// maxCoreDeps bounds what the inconsistencies may depend on, in total, that are compared.
const maxCoreDeps = 1 << 12

// core tells of each of Found whether it is at the core; nil: all are, or it is too much to
// compare.
func core(in *Input) []bool {
	if in.Cells == nil || len(in.Found) < 2 || len(in.Found) > maxSeeds {
		return nil
	}
	view := in.Model.View(in.At)
	looks := make([]map[graph.ObjID]bool, len(in.Found))
	deps := 0
	for i, inc := range in.Found {
		r := in.Model.Eval(inc.Instance, view)
		if deps += in.Model.Weight(r.Deps, in.At, maxCoreDeps-deps); deps > maxCoreDeps || in.stopped() {
			return nil
		}
		looks[i] = map[graph.ObjID]bool{}
		eval.Leaves(in.Model, r.Deps, view, func(d eval.Dep) bool {
			o := d.Obj
			if d.Kind == eval.DepBytes {
				o = in.Cells.At(d.Addr, view)
			}
			if o != 0 {
				looks[i][o] = true
			}
			return true
		})
	}
	out := make([]bool, len(in.Found))
	some := false
	for i := range out {
		out[i] = true
		for j := range looks {
			if in.Found[i].Instance.Constraint == in.Found[j].Instance.Constraint && part(looks[j], looks[i]) {
				out[i], some = false, true
				break
			}
		}
	}
	if !some {
		return nil
	}
	return out
}

// follows: an inconsistency may follow from others.
func (in *Input) follows(i eval.Instance) bool {
	if in.core == nil {
		return false
	}
	k := slices.IndexFunc(in.Found, func(inc eval.Inconsistency) bool { return inc.Instance == i })
	return k >= 0 && !in.core[k]
}

// breaks counts the flips that hold to the C-point and do not follow from others.
func (c *contribution) breaks(in *Input) int {
	n := 0
	for i := range c.flipped {
		if f := &c.flipped[i]; f.lasting && !in.follows(f.instance) {
			n++
		}
	}
	return n
}

// part: a has less than b, and nothing else.
func part(a, b map[graph.ObjID]bool) bool {
	if len(a) >= len(b) {
		return false
	}
	for o := range a {
		if !b[o] {
			return false
		}
	}
	return true
}
