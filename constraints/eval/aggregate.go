package eval

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// aggregate evaluates COUNT and SUM.
func (e *env) aggregate(x *check.Aggregate) value {
	if x.Sum {
		return e.sum(x)
	}
	closed := e.c.closed[x]
	if v, ok := e.sums[x]; closed && ok && (e.rec == nil || !e.rec.walks(x)) {
		return v
	}
	n := int64(0)
	saved := graph.ObjID(0)
	if x.Guard != nil {
		saved = e.vars[x.Slot]
	}
	for _, o := range e.population(x.Type) {
		if x.Guard != nil {
			e.vars[x.Slot] = o
			if e.eval(x.Guard).tri() != yes {
				continue
			}
		}
		n++
	}
	if x.Guard != nil {
		e.vars[x.Slot] = saved
	}
	if closed {
		e.setSum(x, int(n))
	}
	return number(n)
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
		if t := e.eval(x.Elem); t.defined() {
			total = arithmetic("+", total, t, false, x)
		} else {
			total = t
		}
	}
	e.idx[x.Slot] = saved
	return total
}
