package faultloc

import (
	"container/heap"
	"math"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// contributions are what algorithm 3 outputs, by operation.
type contributions struct {
	byOp      map[mgpp.Timestamp]*contribution
	order     []mgpp.Timestamp // newest first
	remaining []eval.Instance
	examined  int
	seeds     int // inconsistencies that P began with
	work      int
	bounded   bool
}

// maxWork bounds the traceback: what its evaluations depended on, in total. Where
// hundreds of instances over a whole structure are broken, the newest operations
// that contributed tell as much as all of them.
const maxWork = 1 << 16

// manyTouched is how many instances one operation must touch for all that is broken to
// be asked for at once.
const manyTouched = 64

// maxSeeds bounds the inconsistencies that are traced back. One fault may break a
// constraint in every node of a structure, and all of them tell the same.
const (
	maxSeeds      = 32
	maxSifted     = 256     // of which they are taken
	maxSiftedDeps = 1 << 16 // what those may depend on, in total: all of it is in memory
	maxSeedDeps   = 1 << 12 // what the inconsistencies traced back may depend on, in total
)

// contribution is what one operation did to pending inconsistencies.
type contribution struct {
	instances []eval.Instance
	flipped   []flip
	second    bool
}

// lasting counts the flips that hold to the C-point.
func (c *contribution) lasting() int {
	n := 0
	for i := range c.flipped {
		if c.flipped[i].lasting {
			n++
		}
	}
	return n
}

// flip is an instance that the operation turned inconsistent, with what it
// depended on before and after.
type flip struct {
	instance      eval.Instance
	before, after []eval.Dep
	lasting       bool // broken from then on to the C-point
	slept         bool // before, it was not asked for what it depends on
}

// pending is a member of P: an inconsistency of the graph at the point that
// the search has reached.
type pending struct {
	instance eval.Instance
	result   eval.Result
	next     mgpp.Timestamp // newest operation before that point that touched a dependency
	lasting  bool           // broken from that point on to the C-point
	weight   int            // of the dependencies of one that the search begins with
}

// traceback is algorithm 3 in the form that jumps.
//
//	P := inconsistencies at the C-point
//	repeat
//	  1. O := the newest operation, before the point reached, that touched a
//	     dependency of a member of P
//	  2. for each e in P that O touched: if an argument of e differs before
//	     and after O, O contributed to e
//	  3. if it contributed to any: P gains the inconsistencies before O some
//	     argument of which O changed
//	  4. e leaves P if it is no inconsistency before O
//	until P is empty or no operation is left
//
// Between two jumps nothing that a member of P depends on changes, so its
// result stays what it was: that is why jumping loses nothing.
func traceback(in Input) *contributions {
	tb := &contributions{byOp: map[mgpp.Timestamp]*contribution{}}
	q := &queue{}
	seen := map[eval.Instance]bool{}
	view := in.Model.View(in.At)
	from := seeds(in, view)
	tb.seeds = len(from)
	for _, p := range from {
		seen[p.instance] = true
		q.add(in.Model, p, in.At)
	}
	for q.Len() > 0 {
		t := q.items[0].next
		if t == 0 {
			break
		}
		if in.MaxOperations > 0 && tb.examined == in.MaxOperations || tb.work > maxWork {
			tb.bounded = true
			break
		}
		tb.examined++
		tb.step(&in, q, seen, t)
		if in.stopped() {
			return tb // what has been looked at is not the whole: nothing remains by that
		}
	}
	if tb.bounded {
		return tb // history has not begun yet
	}
	for _, p := range q.items {
		tb.remaining = append(tb.remaining, p.instance)
	}
	slices.SortFunc(tb.remaining, eval.Instance.Compare)
	return tb
}

// seeds are the inconsistencies with which P begins: all, or if there are many, or if
// they depend on much, some of each constraint, those first that depend on little,
// since they tell precisely what is wrong.
func seeds(in Input, view mgpp.View) []pending {
	var out []pending
	known := map[eval.Instance]bool{}
	rank := map[int]int{} // by constraint: how many were taken
	step := max(1, len(in.Found)/maxSifted)
	deps := 0
	for i := 0; i < len(in.Found) && (deps < maxSiftedDeps || len(out) == 0); i += step {
		inst := in.Found[i].Instance
		if known[inst] {
			continue
		}
		known[inst] = true
		r := in.Model.Eval(inst, view)
		if in.stopped() {
			return nil
		}
		p := pending{instance: inst, result: r, lasting: true, weight: in.Model.Weight(r.Deps, in.At, math.MaxInt)}
		deps += p.weight
		out = append(out, p)
	}
	if len(out) <= maxSeeds && deps <= maxSeedDeps {
		return out
	}
	slices.SortStableFunc(out, func(a, b pending) int { return a.weight - b.weight })
	order := make([]int, len(out)) // the n-th of its constraint
	for i := range out {
		c := out[i].instance.Constraint
		order[i] = rank[c]
		rank[c]++
	}
	var taken []pending
	deps = 0
	for n := range out {
		for i := range out {
			cost := out[i].weight
			if order[i] == n && len(taken) < maxSeeds && (len(taken) == 0 || deps+cost <= maxSeedDeps) {
				taken = append(taken, out[i])
				deps += cost
			}
		}
	}
	return taken
}

// step rolls back one operation.
func (tb *contributions) step(in *Input, q *queue, seen map[eval.Instance]bool, t mgpp.Timestamp) {
	m := in.Model
	before := m.View(t - 1)
	var touched []pending
	for q.Len() > 0 && q.items[0].next == t {
		touched = append(touched, heap.Pop(q).(pending))
	}
	contributed := false
	for _, p := range touched {
		was := m.Eval(p.instance, before)
		if in.stopped() {
			return
		}
		tb.work += 1 + len(was.Deps) + len(was.Args)
		if !sameArgs(was, p.result) {
			contributed = true
			tb.add(t, p, was)
		}
		if was.Verdict == eval.Broken {
			q.add(m, pending{instance: p.instance, result: was, lasting: p.lasting}, t-1)
		} else {
			delete(seen, p.instance)
		}
	}
	if contributed {
		tb.related(in, q, seen, t, before)
	}
}

// related adds the inconsistencies before t that t's operation is related to.
func (tb *contributions) related(in *Input, q *queue, seen map[eval.Instance]bool, t mgpp.Timestamp, before mgpp.View) {
	m := in.Model
	after := m.View(t)
	touched := m.Touched(t)
	var broken map[eval.Instance]bool
	if len(touched) > manyTouched { // one check of all is cheaper than so many by themselves
		broken = map[eval.Instance]bool{}
		tb.work += 16 * len(touched)
		for _, inst := range m.Broken(before) {
			broken[inst] = true
		}
	}
	for _, i := range touched {
		if seen[i] || broken != nil && !broken[i] {
			continue
		}
		if tb.work > maxWork {
			tb.bounded = true
			return
		}
		was := m.Eval(i, before)
		if in.stopped() {
			return
		}
		tb.work += 1 + len(was.Deps) + len(was.Args)
		if was.Verdict != eval.Broken || sameArgs(was, m.Eval(i, after)) {
			continue
		}
		seen[i] = true
		q.add(m, pending{instance: i, result: was}, t-1)
	}
}

func (tb *contributions) add(t mgpp.Timestamp, p pending, was eval.Result) {
	c := tb.byOp[t]
	if c == nil {
		c = &contribution{}
		tb.byOp[t] = c
		tb.order = append(tb.order, t)
	}
	c.instances = append(c.instances, p.instance)
	if was.Verdict != eval.Broken {
		c.flipped = append(c.flipped, flip{p.instance, was.Deps, p.result.Deps, p.lasting, was.Verdict != eval.Holds})
	}
}

// sameArgs: the operands of the constraint have the same values.
func sameArgs(a, b eval.Result) bool {
	return (a.Verdict == eval.Absent) == (b.Verdict == eval.Absent) && slices.Equal(a.Args, b.Args)
}

// queue is P, newest next operation first.
type queue struct{ items []pending }

// add puts p, whose result holds at t, into the queue.
func (q *queue) add(m eval.Model, p pending, t mgpp.Timestamp) {
	p.next = max(p.next, eval.LastChange(m, p.result.Deps, t))
	heap.Push(q, p)
}

func (q *queue) Len() int { return len(q.items) }
func (q *queue) Less(i, j int) bool {
	if q.items[i].next != q.items[j].next {
		return q.items[i].next > q.items[j].next
	}
	return q.items[i].instance.Compare(q.items[j].instance) < 0
}
func (q *queue) Swap(i, j int) { q.items[i], q.items[j] = q.items[j], q.items[i] }
func (q *queue) Push(x any)    { q.items = append(q.items, x.(pending)) }
func (q *queue) Pop() any {
	last := q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return last
}
