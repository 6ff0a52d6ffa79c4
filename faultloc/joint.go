package faultloc

import (
	"cmp"
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What brings a node up to date stores several numbers: its size and its height, how many lie below and their sum. Where that is
// missing no single field mends what is broken, but those of the node together do, and equations say what each of them is.

const (
	maxJoint    = 4 // nodes whose numbers are tried together
	maxFollowed = 8 // numbers that were computed from those
)

// joint is the repair of several numbers of one node, or of a number with those that were computed from it, where no single field would
// mend all, and these do: all at the core, of the others each may have been computed from them. Of the node's numbers the one that was
// stored last stands for all.
func (l *lab) joint(have []Repair) (Repair, bool) {
	m, ok := l.in.Model.(sayer)
	if !ok || slices.ContainsFunc(have, func(r Repair) bool { return r.evidence(l.in).explains() }) {
		return Repair{}, false
	}
	var nodes []graph.ObjID
	said := map[graph.ObjID][]Number{}
	for i, inc := range l.in.Found[:min(len(l.in.Found), maxTold)] {
		if l.in.core != nil && !l.in.core[i] {
			continue
		}
		m.Says(inc.Instance, l.view, func(addr trace.Addr, v uint64) {
			c, ok := l.saidCell(addr, v)
			if !ok {
				return
			}
			if len(said[c.Obj]) == 0 {
				nodes = append(nodes, c.Obj)
			}
			if !slices.ContainsFunc(said[c.Obj], func(n Number) bool { return n.Cell.Addr == addr }) {
				said[c.Obj] = append(said[c.Obj], Number{c, v})
			}
		})
	}
	tried := 0
	for _, o := range nodes {
		list := said[o]
		if tried == maxJoint || l.exhausted() || slices.ContainsFunc(list, func(n Number) bool { return l.given(n.Cell) }) {
			continue
		}
		tried++
		last := func(n Number) mgpp.Timestamp {
			return l.in.History.LastWrite(n.Cell.Addr, uint64(n.Cell.Size), l.in.At)
		}
		slices.SortStableFunc(list, func(a, b Number) int { return cmp.Compare(last(b), last(a)) })
		r := Repair{Cell: list[0].Cell, Value: list[0].Value, Others: list[1:]}
		if !l.follow(&r, m) {
			continue
		}
		out, ok := l.try(r.on(l.view), 1)
		if !ok {
			continue
		}
		r.Cured, r.Created, r.cured = out.n, out.created, out.cured
		r.Hides = l.hides(r.on(l.view), r.cured)
		if r.evidence(l.in).explains() && l.applies(r) {
			return r, true
		}
	}
	return Repair{}, false
}

// follow adds the numbers to a repair that were computed from its own, which were wrong: where it breaks equations, these say what other
// numbers are, that were stored since the last healthy C-point; of each the one that was stored last. It reports whether what the
// repair sets is more than one number, and breaks nothing.
func (l *lab) follow(r *Repair, m sayer) bool {
	for n := 0; n <= maxFollowed && !l.exhausted(); n++ {
		hypo := r.on(l.view)
		l.trials++
		cured, created, _ := l.in.Model.Cures(hypo, anyLead)
		if len(cured) == 0 || len(created) > maxFollowed {
			return false
		}
		if len(created) == 0 {
			return len(r.Others) > 0
		}
		for _, i := range created {
			var best Number
			newest := l.in.Healthy
			m.Says(i, hypo, func(addr trace.Addr, v uint64) {
				c, ok := l.saidCell(addr, v)
				t := l.in.History.LastWrite(addr, uint64(c.Size), l.in.At)
				if ok && t > newest && !r.sets(addr) && !l.given(c) {
					best, newest = Number{c, v}, t
				}
			})
			if newest == l.in.Healthy {
				return false
			}
			r.Others = append(slices.Clip(r.Others), best)
		}
	}
	return false
}

// sets: a repair sets the number at an address.
func (r *Repair) sets(addr trace.Addr) bool {
	return r.Cell.Addr == addr || slices.ContainsFunc(r.Others, func(n Number) bool { return n.Cell.Addr == addr })
}

// on is a view with the values that a repair would set.
func (r *Repair) on(v mgpp.View) mgpp.View {
	v = with(v, r.Cell, r.Value)
	for _, n := range r.Others {
		v = with(v, n.Cell, n.Value)
	}
	return v
}
