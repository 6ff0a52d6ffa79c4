package eval

import (
	"reflect"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// env returns an evaluator of a view, the one that has worked on it already if
// there is one. Fault location goes back through a history in small steps and
// asks about the two views of each; attributes that a step does not concern are
// taken over from an evaluator of another time.
func (c *Checker) env(v mgpp.View) *env {
	c.g.Advance()
	if changed := graph.Changed(v); changed != nil {
		return c.hypothetical(v, changed)
	}
	t := v.Time()
	last := len(c.recent) - 1
	for i, e := range c.recent {
		if e != nil && e.t == t && e.now == c.g.Now() {
			copy(c.recent[1:i+1], c.recent[:i])
			c.recent[0] = e
			return e
		}
		if e == nil {
			last = i
			break
		}
	}
	e := c.moved(c.recent[last], v)
	copy(c.recent[1:last+1], c.recent[:last])
	c.recent[0] = e
	return e
}

// moved returns an evaluator of v that knows what e knows and still holds.
func (c *Checker) moved(e *env, v mgpp.View) *env {
	fresh := newEnv(c, v)
	if len(c.spec.Attributes) == 0 {
		return fresh
	}
	here := c.state != nil && c.state.env.t == fresh.t && c.state.env.now == fresh.now
	var ch graph.Changes
	if e == nil || here && apart(e.t, fresh.t) > farFromHere || !c.between(e, fresh, &ch) {
		if here {
			c.state.env.attrs.copyTo(&fresh.attrs) // it knows those of all nodes
		}
		return fresh
	}
	d := c.newDelta(&ch)
	d.args = true // what attributes read is kept too, not their values alone
	d.between(e, fresh)
	stale := d.staleBoth(e, fresh)
	fresh.attrs = e.attrs
	fresh.beneath, fresh.below, fresh.depBuf = e.beneath, e.below, e.depBuf
	e.attrs, e.beneath, e.below, e.depBuf = attributes{}, nil, nil, nil
	for k := range stale {
		fresh.attrs.forget(k)
		delete(fresh.beneath, k)
		delete(fresh.below, k)
	}
	return fresh
}

// farFromHere is how many operations away an evaluator is that to bring here costs more than to copy what the state knows that is here.
const farFromHere = 256

// between finds what changed between the views of two evaluators. It is false where
// evaluating anew is cheaper than looking through these operations for what a knows.
func (c *Checker) between(a, b *env, ch *graph.Changes) bool {
	from, to := min(a.t, b.t), max(a.t, b.t)
	known := 0
	for i := range a.attrs.memo {
		known += a.attrs.memo[i].known
	}
	if known == 0 || to-from > mgpp.Timestamp(64+4*known) {
		return false
	}
	ch.Reset()
	c.g.Between(from, to, ch)
	return !ch.All
}

// hypothetical returns an evaluator of a hypothetical view. Attributes that it
// does not concern are those of the history's view at the same time.
func (c *Checker) hypothetical(v mgpp.View, changed []graph.Span) *env {
	if c.guess != nil && c.guess.now == c.g.Now() && same(c.guess.v, v) {
		return c.guess
	}
	e := newEnv(c, v)
	c.guess = e
	if len(c.spec.Attributes) == 0 {
		return e
	}
	var ch graph.Changes
	ch.Reset()
	c.g.Against(v, changed, &ch)
	if ch.All {
		return e
	}
	before := c.at(v.Time()).env
	d := c.newDelta(&ch)
	d.between(before, e)
	e.attrs.hidden = d.staleBoth(before, e)
	e.attrs.under = &before.attrs
	return e
}

// same reports whether two views are one and the same.
func same(a, b mgpp.View) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Kind() == reflect.Pointer && y.Kind() == reflect.Pointer && x.Pointer() == y.Pointer() && x.Type() == y.Type()
}
