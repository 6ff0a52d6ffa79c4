package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// Of a block that was there before recording began, and of all in a core file, the size is known
// that glibc's malloc gave it, mostly up to 15 bytes more than the program asked for (malloc.c,
// request2size; what remains of a chunk and is none by itself comes on top): an array may seem to have an element more, whose bytes nobody means. Nobody is
// accused of what depends on either.

// rounding is the most that request2size adds, bytes.
const rounding = 15

// unrounded leaves inconsistencies out that may be none, were the sizes known that the program
// asked for.
func (a *Analysis) unrounded(found []eval.Inconsistency, at mgpp.Timestamp) []eval.Inconsistency {
	if a.prog.Before == nil && !a.moment {
		return found
	}
	v := a.Checker.View(at)
	return slices.DeleteFunc(slices.Clone(found), func(inc eval.Inconsistency) bool {
		asks := a.asksSize(inc.Instance.Constraint)
		drop := false
		eval.Leaves(a.Checker, a.Checker.Eval(inc.Instance, v).Deps, v, func(d eval.Dep) bool {
			switch d.Kind {
			case eval.DepLife:
				drop = asks && d.Obj != 0 && a.rounded(a.Graph.Object(d.Obj).Host)
			case eval.DepBytes:
				drop = a.spare(d, v)
			}
			return !drop
		})
		if drop {
			a.unsized[inc.Instance] = true
		}
		return drop
	})
}

// asksSize reports whether a constraint, or an attribute, which it may use, asks for the size of a
// node or the number of its elements.
func (a *Analysis) asksSize(constraint int) bool {
	if constraint < 0 || constraint >= len(a.spec.Constraints) {
		return false
	}
	asks := false
	ask := func(e check.Expr) {
		b, ok := e.(*check.Builtin)
		asks = asks || ok && (b.Kind == check.BuiltinSize || b.Kind == check.BuiltinCount)
	}
	a.spec.Constraints[constraint].Walk(ask)
	check.Walk(&check.Spec{Attributes: a.spec.Attributes}, ask)
	return asks
}

// rounded reports whether a block's size is malloc's, not the program's.
func (a *Analysis) rounded(id mgpp.NodeID) bool {
	if id == 0 {
		return false
	}
	n := a.Hist.Node(id)
	return n.Before && n.Global == 0 && len(n.Stack) == 0
}

// spare reports whether something but zeroes lies, in bytes that were read, where an array may have
// ended already. A structure's are all its own.
func (a *Analysis) spare(d eval.Dep, v mgpp.View) bool {
	id, ok := v.NodeAt(d.Addr)
	if !ok || !a.rounded(id) {
		return false
	}
	n, _ := v.Node(id)
	end := n.Start + trace.Addr(n.Size)
	for _, o := range a.Graph.At(v, d.Addr) {
		if t := a.Graph.Object(o).Type; t != nil && t.Array {
			end = min(end, n.Start+trace.Addr(least(n.Size, t)))
		}
	}
	lo, hi := max(d.Addr, end), d.Addr+trace.Addr(d.Size)
	if lo >= hi {
		return false
	}
	b := mgpp.NewBytes(hi - lo)
	return !v.Read(lo, &b) || slices.ContainsFunc(b.Data, func(x byte) bool { return x != 0 })
}

// least is the smallest size that a program asked for where it has an array of malloc's size, bytes.
func least(size uint64, array *check.NodeType) uint64 {
	one := uint64(8)
	if array.Elem != nil && array.Elem.Size > 0 {
		one = uint64(array.Elem.Size)
	}
	return (size - min(size, rounding) + one - 1) / one * one
}

// reportSizes says what was not judged.
func (a *Analysis) reportSizes(r *report.Report) {
	if n := len(a.unsized); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s not judged, because of a block that was there before the history begins malloc tells the size only roughly",
			report.Plural(n, "constraint instance was", "constraint instances were")))
	}
}
