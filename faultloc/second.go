package faultloc

import (
	"cmp"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// entered adds the suspects of the second class: when an operation flips an
// instance to inconsistent, for good, the last writers of what entered the
// instance's dependencies by the flip, as far as they wrote since the last
// healthy C-point ("n->color = BLACK; p->left = n;": the link flips, the colour
// is wrong).
func entered(in Input, tb *contributions) {
	for _, t := range slices.Clone(tb.order) {
		for i := range tb.byOp[t].flipped {
			if f := &tb.byOp[t].flipped[i]; f.lasting {
				tb.writers(in, t, f)
			}
		}
	}
	slices.SortFunc(tb.order, func(a, b mgpp.Timestamp) int { return cmp.Compare(b, a) })
}

// maxEntered bounds the cells that enter by one flip: a link may bring in a
// whole subtree.
const maxEntered = 4096

// writers adds the last writers, before t, of what entered by the flip at t.
func (tb *contributions) writers(in Input, t mgpp.Timestamp, f *flip) {
	var known eval.DepSet
	op := in.History.Op(t)
	if !f.slept {
		eval.Leaves(in.Model, f.before, in.Model.View(t-1), func(d eval.Dep) bool {
			known.Add(d)
			return true
		})
	}
	n := 0
	eval.Leaves(in.Model, f.after, in.Model.View(t), func(d eval.Dep) bool {
		if n++; n > maxEntered {
			return false
		}
		if known.Has(d) || d.Kind != eval.DepBytes || d.Addr < op.Addr+trace.Addr(op.Size) && op.Addr < d.Addr+trace.Addr(d.Size) {
			return true
		}
		w := in.History.LastWrite(d.Addr, d.Size, t-1)
		if w != 0 && w > in.Healthy && in.History.Op(w).Kind != mgpp.OpBirth {
			tb.addSecond(w, f.instance)
		}
		return true
	})
}

// addSecond notes that operation w wrote what later entered an instance, unless
// it contributed anyway.
func (tb *contributions) addSecond(w mgpp.Timestamp, i eval.Instance) {
	c := tb.byOp[w]
	if c == nil {
		c = &contribution{second: true}
		tb.byOp[w] = c
		tb.order = append(tb.order, w)
	}
	if c.second && !slices.Contains(c.instances, i) {
		c.instances = append(c.instances, i)
	}
}
