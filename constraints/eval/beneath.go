package eval

import (
	"math"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
)

// An attribute may depend on all of a structure, and each of its instances on all of one
// attribute. So the dependency is the attribute, not what lies beneath it: a summary is
// kept of that, by attribute, and goes with the evaluator from time to time as the
// attributes' values do.

// beneath sums up what lies beneath an attribute.
type beneath struct {
	last   mgpp.Timestamp // when it was changed last
	weight int            // dependencies, those of shared attributes more than once
}

// maxWeight keeps weights from overflowing: attributes may share what is beneath them
// so often that it doubles with every step.
const maxWeight = 1 << 40

func (b *beneath) add(c beneath) {
	b.last, b.weight = max(b.last, c.last), min(b.weight+c.weight, maxWeight)
}

// reads returns what the rules of an attribute read, in place of what is in buf.
func (e *env) reads(k attrKey, buf []Dep) []Dep {
	c, outer := e.c, e.rec
	if c.readRoom == nil || len(c.readRoom.slots) > manyDeps {
		c.readRoom = &depSet{}
	}
	c.readRoom.empty()
	e.rec = &recorder{deps: buf[:0], room: c.readRoom}
	e.rec.dep(Dep{Kind: DepLife, Obj: k.obj})
	e.rules(k)
	deps := e.rec.deps
	e.rec = outer
	return deps
}

// apparent: attributes read the same until something changes that they read. What says which pointers count, how far arrays are
// filled, and what roots reach, is looked at where pointers lead to from elsewhere, and only what comes of it tells of changes.
func apparent(spec *check.Spec) bool {
	for _, t := range spec.Types {
		for i := range t.Edges {
			if c := &t.Edges[i]; c.Fills != nil || c.Conditional() || c.Own != (check.Span{}) {
				return false
			}
		}
	}
	return len(spec.Roots) == 0 && len(spec.Nils) == 0
}

// beneathAttr sums up an attribute of the history's view: it goes down to what is not
// summed up yet. Attributes that ask for each other (Tarjan's strongly connected
// components) have one sum. It is not ok if more than most lies beneath, and was found out
// before all was summed up.
func (e *env) beneathAttr(k attrKey, most int) (_ beneath, ok bool) {
	type call struct {
		key        attrKey
		index, low int
		next       []attrKey // what it asks for, as far as it was not looked at
	}
	if e.beneath == nil {
		e.beneath = map[attrKey]beneath{}
	}
	var calls []call
	var stack []attrKey          // of incomplete components
	own := map[attrKey]beneath{} // by attribute of the stack: without incomplete ones
	index := map[attrKey]int{}
	found := 0 // what was entered comes to
	var deps []Dep
	enter := func(k attrKey) {
		c := call{key: k, index: len(index) + 1, low: len(index) + 1}
		var sum beneath
		deps = e.reads(k, deps)
		for _, d := range deps {
			if d.Kind == DepAttr {
				c.next = append(c.next, attrKey{int32(d.Type), d.Obj})
			} else {
				sum.add(beneath{e.c.LastChange(d, e.t), 1})
			}
		}
		found += sum.weight
		index[k], own[k] = c.index, sum
		stack, calls = append(stack, k), append(calls, c)
	}
	if _, known := e.beneath[k]; !known {
		enter(k)
	}
	for len(calls) > 0 {
		if found > most {
			return beneath{weight: found}, false
		}
		c := &calls[len(calls)-1]
		if n := len(c.next); n > 0 {
			to := c.next[n-1]
			if sum, known := e.beneath[to]; known {
				c.next = c.next[:n-1]
				all := own[c.key]
				all.add(sum)
				own[c.key] = all
			} else if at := index[to]; at > 0 {
				c.next = c.next[:n-1]
				c.low = min(c.low, at)
			} else {
				enter(to) // and then it is known, or part of this component
			}
			continue
		}
		if c.low == c.index {
			var sum beneath
			at := len(stack) - 1
			for ; stack[at] != c.key; at-- {
				sum.add(own[stack[at]])
			}
			sum.add(own[c.key])
			for _, k := range stack[at:] {
				e.beneath[k] = sum
				delete(own, k)
			}
			stack = stack[:at]
		} else {
			up := &calls[len(calls)-2]
			up.low = min(up.low, c.low)
		}
		calls = calls[:len(calls)-1]
	}
	return e.beneath[k], true
}

// attrOfDep is the attribute that a dependency is.
func attrOfDep(d Dep) attrKey { return attrKey{int32(d.Type), d.Obj} }

// Beneath implements Model.
func (c *Checker) Beneath(d Dep, v mgpp.View) (deps []Dep) {
	if d.Kind != DepAttr {
		return nil
	}
	defer c.halted()
	c.begin()
	return c.env(v).readsOf(attrOfDep(d))
}

// readsOf is reads, kept where the view is the history's own: who looks through all that lies beneath one attribute after the other
// comes to the same time and again. What is kept goes from time to time as the attributes' values do.
func (e *env) readsOf(k attrKey) []Dep {
	if e.changed != nil || !e.c.apparent {
		return e.reads(k, nil)
	}
	deps, known := e.below[k]
	if !known {
		e.depBuf = e.reads(k, e.depBuf)
		deps = slices.Clone(e.depBuf)
		if e.below == nil {
			e.below = map[attrKey][]Dep{}
		}
		e.below[k] = deps
	}
	return deps
}

// Weight implements Model.
func (c *Checker) Weight(deps []Dep, t mgpp.Timestamp, most int) int {
	defer c.halted()
	c.begin()
	var sum beneath
	for _, d := range deps {
		if d.Kind == DepAttr {
			b, _ := c.env(c.hist.At(t)).beneathAttr(attrOfDep(d), most-sum.weight)
			sum.add(b)
		} else {
			sum.weight++
		}
		if sum.weight > most {
			break
		}
	}
	return sum.weight
}

// attrChange is LastChange for what lies beneath an attribute.
func (c *Checker) attrChange(d Dep, t mgpp.Timestamp) (last mgpp.Timestamp) {
	defer c.halted()
	c.begin()
	b, _ := c.env(c.hist.At(t)).beneathAttr(attrOfDep(d), math.MaxInt)
	return b.last
}

// Leaves calls f for what lies beneath dependencies on a view and is no attribute, for
// each once, until f returns false.
func Leaves(m Model, deps []Dep, v mgpp.View, f func(Dep) bool) {
	var seen DepSet
	var attrs []Dep
	for {
		for _, d := range deps {
			switch {
			case !seen.Add(d):
			case d.Kind == DepAttr:
				attrs = append(attrs, d)
			case !f(d):
				return
			}
		}
		if len(attrs) == 0 {
			return
		}
		last := len(attrs) - 1
		deps = m.Beneath(attrs[last], v)
		attrs = attrs[:last]
	}
}
