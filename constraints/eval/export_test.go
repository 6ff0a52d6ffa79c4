package eval

import "mgtrace/mgpp"

// Scratch evaluates everything on a view, hypothetical or not.
func Scratch(c *Checker, v mgpp.View) []Inconsistency {
	c.g.Advance()
	return c.scratch(v).list()
}

// Unsure has a checker evaluate all instances as those that are not surely healthy.
func Unsure(c *Checker) {
	for i := range c.infos {
		c.infos[i].surely = nil
	}
	for i := range c.rules {
		clear(c.rules[i])
	}
}

// Sure asks of all bindings at a time whether they are surely healthy. It returns how many are, and what
// of them is broken nevertheless.
func Sure(c *Checker, t mgpp.Timestamp) (n int, wrong string) {
	c.g.Advance()
	e := newEnv(c, c.hist.At(t))
	for i := range c.infos {
		k := &c.infos[i]
		if !e.sure(k) {
			continue
		}
		for _, o := range e.population(k.Vars[0].Type) {
			e.clearFrame()
			e.vars[0] = o
			all := e.healthyFrom(k)
			clear(e.vars[1:])
			e.bind(k, k.Guard, k.Universal, func() {
				e.loops(k, 0, maxTerms, func(whole bool) {
					healthy := e.healthy(k)
					if healthy {
						n++
					}
					if (healthy || all) && e.guarded(k) && e.judge(k, whole) == Broken {
						wrong = k.Label + " of " + e.g.Name(o)
					}
				})
			})
		}
	}
	return n, wrong
}

// ReadsAnew is what the rules of an attribute read, found out by an evaluator that knows nothing.
func ReadsAnew(c *Checker, d Dep, v mgpp.View) []Dep {
	return newEnv(c, v).reads(attrOfDep(d), nil)
}
