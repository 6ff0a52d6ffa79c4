package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// aggregate evaluates COUNT and SUM.
func (e *env) aggregate(x *check.Aggregate) value {
	if x.Type == nil {
		return e.sum(x)
	}
	closed := e.c.closed[x]
	if v, ok := e.sums[x]; closed && ok && (e.rec == nil || !e.rec.walks(x)) {
		return v
	}
	total := number(0)
	if !x.Sum && x.Guard == nil {
		total = number(int64(len(e.population(x.Type))))
	} else {
		saved := e.vars[x.Slot]
		for _, o := range e.countable(x, closed) {
			if total = plus(total, e.worth(x, o), x); !total.defined() {
				break
			}
		}
		e.vars[x.Slot] = saved
	}
	if closed {
		e.setSum(x, total)
	}
	return total
}

// worth is what a node counts in an aggregate: of a COUNT 1 or 0.
func (e *env) worth(x *check.Aggregate, o graph.ObjID) value {
	e.vars[x.Slot] = o
	switch {
	case x.Sum:
		return e.eval(x.Elem)
	case x.Guard == nil || e.eval(x.Guard).tri() == yes:
		return number(1)
	}
	return number(0)
}

// plus adds what is defined.
func plus(v, w value, at check.Expr) value {
	switch {
	case !v.defined():
		return v
	case !w.defined():
		return w
	}
	return arithmetic("+", v, w, false, at)
}

// countable returns the nodes that an aggregate may count: where the condition of a COUNT ties them to what is bound, those, as few may be
// of a list of many, and what others there are says nothing then. What stands alone is kept up for all.
func (e *env) countable(x *check.Aggregate, closed bool) []graph.ObjID {
	if closed || x.Sum {
		return e.population(x.Type)
	}
	e.vars[x.Slot] = 0
	out, ok := e.candidates(x.Guard, x.Slot, x.Type, nil)
	if !ok {
		return e.population(x.Type)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(o graph.ObjID) bool {
		e.recordBound(o, x.Type)
		return !e.bindable(o, x.Type)
	})
}

// maxTerms bounds a sum and the indices of a loop: a corrupt count must not
// take for ever.
const maxTerms = 1 << 22

func (e *env) sum(x *check.Aggregate) value {
	lo, hi := e.eval(x.Lo), e.eval(x.Hi)
	if !lo.defined() {
		return lo
	}
	if !hi.defined() {
		return hi
	}
	if hi.int() > lo.int() && uint64(hi.int()-lo.int()) >= maxTerms {
		return undef(overflow, x)
	}
	total := number(0)
	saved := e.idx[x.Slot]
	for i := lo.int(); i <= hi.int() && total.defined(); i++ {
		e.idx[x.Slot] = i
		total = plus(total, e.eval(x.Elem), x)
	}
	e.idx[x.Slot] = saved
	return total
}
