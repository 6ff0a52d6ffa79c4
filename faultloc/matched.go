package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// A count changes with what it counts: as one item enters and another one leaves, it goes up and down again. Where it
// is wrong in the end, the change of the one side that none of the other answers is where to look, not the last change
// of the count.

// maxMatched bounds the operations since the last healthy C-point whose changes are matched.
const maxMatched = 64

// maxUnheeded is the same where the count was not stored at all.
const maxUnheeded = 512

// jump is by how much an operation changed a number. Of what is counted, link is where that became part of the structure, or ceased to be.
type jump struct {
	t    mgpp.Timestamp
	by   int64
	link mgpp.Timestamp
}

// matched accuses the change that a count does not answer, where each change of the count answers one, and marks who
// changed the count last as one that went on from a wrong number.
func matched(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	for i := range repairs {
		r := &repairs[i]
		last := r.lastChange(in)
		if _, counts := in.step(last); !r.ofNumber() || !r.evidence(in).explains() || !counts || last <= in.Healthy || in.At-in.Healthy > maxMatched {
			continue
		}
		left, ok := r.unanswered(in, in.Healthy)
		if !ok || len(left) == 0 {
			continue
		}
		if w := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At); w > left[len(left)-1].t && !in.changed(w) {
			continue // it was brought up to date since, as a height is, and stored as it was: that statement was wrong
		}
		onward(in, &suspects, last)
		if len(left) > 1 {
			continue
		}
		t := left[0].link
		if !in.attributed(t) || in.Statement(in.History.Op(t).PC) == in.Statement(in.History.Op(last).PC) {
			continue
		}
		s := r.accused(in, &suspects, t)
		k := slices.IndexFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Outdated })
		if k < 0 {
			e := Evidence{Kind: Outdated, Mends: r, At: t, Beside: r.until(in, t), Flips: 1}
			in.cures(&e, r.cured)
			s.Evidence, k = append(s.Evidence, e), len(s.Evidence)
		}
		s.Evidence[k].Unanswered = true
	}
	return suspects
}

// unheeded is the last change of what a count counts, where none was answered, as the count was not stored at all since it was
// last right, and the equation asked for it only after the last: all of one statement. 0: it is otherwise.
func (r *Repair) unheeded(in Input, last mgpp.Timestamp) mgpp.Timestamp {
	if last > in.Healthy || !r.ofNumber() || in.At-in.Healthy > maxUnheeded {
		return 0
	}
	says, ok := r.says(in)
	if !ok {
		return 0
	}
	from := in.Healthy
	for _, ok := says(from); !ok && from < in.At && !in.stopped(); _, ok = says(from) {
		from++ // the node that asks is not there yet
	}
	left, ok := r.unanswered(in, from)
	if !ok || len(left) == 0 || slices.ContainsFunc(r.mended(in), func(i eval.Instance) bool {
		return in.Model.Verdict(i, in.Model.View(left[len(left)-1].t)) != eval.NotApplicable
	}) {
		return 0
	}
	for _, j := range left {
		if !in.attributed(j.link) || j.by*left[0].by < 0 || in.statement(j.link) != in.statement(left[0].link) {
			return 0
		}
	}
	return left[len(left)-1].link
}

// unanswered are the changes, since a time at which the repair's number was right, of what an equation says that it is, that
// no change of the number answers; not ok, if the number changed by what answers none of them.
func (r *Repair) unanswered(in Input, from mgpp.Timestamp) (left []jump, ok bool) {
	says, ok := r.says(in)
	if !ok {
		return nil, false
	}
	was, ok := says(from)
	number, ok2 := read(in.Model.View(from), r.Cell.Addr, r.Cell.Size)
	if !ok || !ok2 || signed(number, r.Cell.Size) != was {
		return nil, false
	}
	var own []jump
	for t := from + 1; t <= in.At; t++ {
		is, ok := says(t)
		n, ok2 := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
		if !ok || !ok2 || in.stopped() {
			return nil, false
		}
		if d := is - was; d != 0 {
			left = append(left, jump{t, d, in.linking(t)})
		}
		if d := signed(n-number, r.Cell.Size); d != 0 {
			own = append(own, jump{t, d, t})
		}
		was, number = is, n
	}
	for _, o := range own {
		k := -1 // the nearest: a count is changed beside what it counts, as that is linked or taken out
		for i, j := range left {
			if j.by == o.by && (k < 0 || apart(j.link, o.t) < apart(left[k].link, o.t)) {
				k = i
			}
		}
		if k < 0 {
			return nil, false
		}
		left = slices.Delete(left, k, k+1)
	}
	return settledJumps(left), true
}

// apart is how many operations lie between two.
func apart(a, b mgpp.Timestamp) mgpp.Timestamp { return max(a, b) - min(a, b) }

// settledJumps leaves out what was taken back by the next one, as one that moves a node does.
func settledJumps(list []jump) (out []jump) {
	for _, j := range list {
		if n := len(out); n > 0 && out[n-1].by == -j.by {
			out = out[:n-1]
		} else {
			out = append(out, j)
		}
	}
	return out
}

// sayer tells what equations of an instance say that cells hold, on a view.
type sayer interface {
	Says(i eval.Instance, v mgpp.View, tell func(addr trace.Addr, bits uint64))
}

// said is what an equation of an instance says that the cell at an address holds, on a view.
func said(m sayer, i eval.Instance, v mgpp.View, at trace.Addr) (bits uint64, found bool) {
	m.Says(i, v, func(addr trace.Addr, is uint64) {
		if addr == at {
			bits, found = is, true
		}
	})
	return bits, found
}

// says asks an equation that the repair cures what the repair's number is at a time.
func (r *Repair) says(in Input) (func(mgpp.Timestamp) (int64, bool), bool) {
	m, ok := in.Model.(sayer)
	if !ok {
		return nil, false
	}
	ask := func(i eval.Instance, t mgpp.Timestamp) (int64, bool) {
		bits, found := said(m, i, in.Model.View(t), r.Cell.Addr)
		return signed(bits, r.Cell.Size), found
	}
	for _, i := range r.mended(in) {
		if v, found := ask(i, in.At); found && v == signed(r.Value, r.Cell.Size) {
			return func(t mgpp.Timestamp) (int64, bool) { return ask(i, t) }, true
		}
	}
	return nil, false
}
