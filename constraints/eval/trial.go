package eval

import (
	"math"
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// trial compares a hypothetical view with the history's at its time.
type trial struct {
	lead           int
	cured, created []Instance
	left           int // what is broken in the history's view and may be cured yet, with what is
}

// Cures implements Model.
//
// Most hypothetical views cure nothing. So what is broken is evaluated first, and what is
// not is left alone where nothing of it is cured, or as soon as too much else is broken.
func (c *Checker) Cures(v mgpp.View, lead int) (cured, created []Instance, ok bool) {
	defer c.halted()
	c.begin()
	t := trial{lead: lead, left: math.MaxInt}
	if base, after, d := c.suppose(v, graph.Changed(v)); d == nil {
		t.compare(base.instances(), c.scratch(v).instances())
	} else {
		t.run(base, after, d)
		c.spend(after)
	}
	return t.cured, t.created, t.worth()
}

// worth: it may still be worth it.
func (t *trial) worth() bool { return !t.hopeless() && Worth(t.cured, t.created, t.lead) }

// Worth: Cures is ok with what is cured and created.
func Worth(cured, created []Instance, lead int) bool {
	return len(cured) > 0 && len(cured)-len(created) >= lead
}

// hopeless: so much stays broken, or is broken now, that it is not worth it any more.
func (t *trial) hopeless() bool { return t.left-len(t.created) < t.lead }

// expect counts what is broken and may be cured: what a delta does not concern stays so.
func (t *trial) expect(base *state, d *delta) {
	t.left = base.count()
	for b, l := range base.broken {
		if t.hopeless() {
			return
		}
		if b.constraint < len(d.c.infos) && !d.has(b) { // those behind are about dangling pointers
			t.left -= len(l)
		}
	}
}

// run evaluates what a delta concerns.
func (t *trial) run(base *state, after *env, d *delta) {
	base.addAnew(d)
	if t.lead > 0 {
		t.expect(base, d)
	}
	for _, b := range d.list {
		if t.hopeless() {
			return
		}
		if old := base.broken[b]; old != nil && !d.all[b.constraint] {
			t.differ(old, after.checkBinding(&d.c.infos[b.constraint], &b))
		}
	}
	for _, b := range danglingBindings(d) {
		t.differ(base.broken[b], after.checkDangling(b))
	}
	for k, all := range d.all {
		if t.hopeless() {
			return
		}
		if all && !d.c.infos[k].acyclic {
			t.differ(base.of(k), d.c.allOf(after, k, nil))
		}
	}
	over := state{env: after, cycles: base.cyclesOver(d, after)}
	t.differ(base.cyclic(nil), over.cyclic(nil))
	for _, b := range d.list {
		if !t.worth() {
			return
		}
		if base.broken[b] == nil && !d.all[b.constraint] {
			t.differ(nil, after.checkBinding(&d.c.infos[b.constraint], &b))
		}
	}
}

// differ notes what is in one of two lists only.
func (t *trial) differ(before, after []Inconsistency) {
	t.compare(Instances(before, nil), Instances(after, nil))
}

func (t *trial) compare(before, after []Instance) {
	cured, created := Differ(before, after)
	t.cured, t.created = append(t.cured, cured...), append(t.created, created...)
	t.left -= len(before) - len(cured)
}

// Differ returns what is in one of two lists of instances only.
func Differ(before, after []Instance) (cured, created []Instance) {
	if len(before) == 0 || len(after) == 0 {
		return before, after
	}
	if ordered(before) && ordered(after) { // as those of one binding are, of which there may be thousands
		return differInOrder(before, after)
	}
	was, is := map[Instance]bool{}, map[Instance]bool{}
	for _, i := range before {
		was[i] = true
	}
	for _, i := range after {
		is[i] = true
		if !was[i] {
			created = append(created, i)
		}
	}
	for _, i := range before {
		if !is[i] {
			cured = append(cured, i)
		}
	}
	return cured, created
}

func ordered(list []Instance) bool { return slices.IsSortedFunc(list, Instance.Compare) }

// differInOrder is Differ of lists in order.
func differInOrder(before, after []Instance) (cured, created []Instance) {
	for len(before) > 0 && len(after) > 0 {
		switch c := before[0].Compare(after[0]); {
		case c < 0:
			cured, before = append(cured, before[0]), before[1:]
		case c > 0:
			created, after = append(created, after[0]), after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
	return append(cured, before...), append(created, after...)
}

// Instances appends those of inconsistencies.
func Instances(list []Inconsistency, out []Instance) []Instance {
	for i := range list {
		out = append(out, list[i].Instance)
	}
	return out
}

// instances returns all that is broken, in no order.
func (s *state) instances() (out []Instance) {
	for _, l := range s.broken {
		out = Instances(l, out)
	}
	return Instances(s.cyclic(nil), out)
}

// of returns what is broken of one constraint.
func (s *state) of(constraint int) (out []Inconsistency) {
	for b, l := range s.broken {
		if b.constraint == constraint {
			out = append(out, l...)
		}
	}
	return out
}
