package eval

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Tally is how one constraint fares on one view: how many of its instances, their
// guard being true, hold and are broken. Of "no cycles" the instances are nodes.
type Tally struct {
	Held, Broken int
}

// Tallies counts the instances of every constraint on a view, from scratch. want
// says whether the operands of the n-th instance (from 0) of a constraint are asked
// for; they are then given to sample, with the nodes that are bound. Of many instances of one maxTallied are enough. Instances that are broken since they would have to be
// read through an address that is excused (Result.Through) do not count; nil: none is.
func (c *Checker) Tallies(v mgpp.View, excused func(through trace.Addr) bool, want func(constraint, n int) bool, sample func(i Instance, args []Arg)) (out []Tally) {
	defer c.halted()
	c.begin()
	c.g.Advance()
	e := newEnv(c, v)
	out = make([]Tally, len(c.infos))
	e.spread = true
	for i := range c.infos {
		k, t := &c.infos[i], &out[i]
		e.enough = false
		if k.acyclic {
			*t = e.tallyCycles(k)
			continue
		}
		e.clearFrame()
		e.bind(k, k.Guard, k.Universal, func() {
			if k.guard.idx == 0 && !e.guarded(k) {
				return
			}
			e.loops(k, 0, maxTerms, func(whole bool) {
				switch e.judge(k, whole) {
				case Holds:
					t.Held++
				case Broken:
					if excused != nil {
						if through, _, _, _ := e.through(k, whole); through != 0 && excused(through) {
							return
						}
					}
					t.Broken++
				default:
					return
				}
				n := t.Held + t.Broken - 1
				if whole && want(i, n) {
					sample(e.instance(k), e.args(k))
				}
				e.enough = n >= maxTallied
			})
		})
	}
	c.spend(e)
	return out
}

// maxTallied is how many instances of a constraint are counted at one time, but for those of the node that has the last: of tens of thousands of nodes all
// would take minutes.
const maxTallied = 1 << 11

// tallyCycles counts the nodes that lead somewhere: those on cycles, and the others.
func (e *env) tallyCycles(k *info) Tally {
	var t Tally
	for _, typ := range k.types {
		for _, o := range e.population(typ) {
			if len(e.successors(o, k.fields, nil)) > 0 {
				t.Held++
			}
		}
	}
	var s cycles
	s.rebuild(e, k)
	for _, comp := range s.found {
		t.Broken += len(comp)
	}
	t.Held = max(0, t.Held-t.Broken)
	return t
}

// CountBroken is how many instances Check would list at t, for callers that do not ask
// which.
func (c *Checker) CountBroken(t mgpp.Timestamp) (n int) {
	defer c.halted()
	c.begin()
	return c.at(t).count()
}

// count is how much is broken.
func (s *state) count() (n int) {
	for _, l := range s.broken {
		n += len(l)
	}
	for i := range s.cycles {
		n += len(s.cycles[i].found)
	}
	s.env.attrs.eachLoop(func(*loop) { n++ })
	return n
}

// BrokenAt reports at t which constraints have a broken instance, by their index,
// as Check would tell it: for callers that do not ask for the instances. The slice
// is the caller's.
func (c *Checker) BrokenAt(t mgpp.Timestamp) (out []bool) {
	defer c.halted()
	c.begin()
	s := c.at(t)
	out = make([]bool, len(c.infos))
	for b, l := range s.broken {
		if b.constraint >= 0 && b.constraint < len(out) && len(l) > 0 {
			out[b.constraint] = true
		}
	}
	for i := range s.cycles {
		if len(s.cycles[i].found) > 0 {
			out[i] = true
		}
	}
	return out
}

// maxExcused bounds the broken instances of a binding that BrokenBut looks at: of more it takes the rest as broken.
const maxExcused = 64

// BrokenBut is BrokenAt without the instances that are broken since they would have to be read through an address that is
// excused (Result.Through).
func (c *Checker) BrokenBut(t mgpp.Timestamp, excused func(through trace.Addr) bool) (out []bool) {
	out = c.BrokenAt(t)
	s := c.state
	really := make([]bool, len(out))
	for i := range s.cycles {
		really[i] = len(s.cycles[i].found) > 0
	}
	for b, l := range s.broken {
		if b.constraint < 0 || b.constraint >= len(out) || really[b.constraint] {
			continue
		}
		for i := range l {
			if i == maxExcused || !s.env.excuses(&l[i], excused) {
				really[b.constraint] = true
				break
			}
		}
	}
	return really
}

// excuses reports whether an inconsistency is one because of an address that is excused.
func (e *env) excuses(inc *Inconsistency, excused func(trace.Addr) bool) bool {
	k := &e.c.infos[inc.Instance.Constraint]
	_, whole := e.bindInstance(k, inc.Instance)
	through, _, _, _ := e.through(k, whole)
	return through != 0 && excused(through)
}
