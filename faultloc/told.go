package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Limits of the search for numbers that one statement left wrong in several fields.
const (
	maxTold       = 32 // inconsistencies whose equations are asked
	maxToldRounds = 3  // an equation may tell the next number only when the one before is right
	maxToldTrials = 40
)

// told are the numbers of one statement of which equations say what they are.
type told struct {
	statement string
	cells     []Cell // the first of them first
	hypo      mgpp.View
	best      outcome
}

// toldTogether finds the statement that left several numbers wrong, where equations say what they are: one that computes wrongly does so
// in each node.
//
//  1. what equations of the inconsistencies say of fields that one statement was the last to write, since the last healthy
//     C-point, is set in all of them
//  2. if that does not mend all: one after the other, each that mends something more and breaks nothing, and the
//     equations are asked again, as one may say the next number only then
func (l *lab) toldTogether() (best *told) {
	m, ok := l.in.Model.(sayer)
	if !ok || l.in.Cells == nil || len(l.in.Found) < 2 {
		return nil
	}
	began := l.trials
	l.limit = began + maxToldTrials
	defer func() { l.limit, l.trials = maxTrials, began }()
	for _, s := range l.tellers(m) {
		if l.tellAll(s) {
			return s
		}
		s.hypo, s.best, s.cells = l.view, outcome{}, nil
		for n := 0; n < maxToldRounds && l.tell(s, m); n++ {
		}
		if len(s.cells) > 1 && (best == nil || s.best.n > best.best.n) {
			best = s
		}
	}
	return best
}

// tellers are the statements that wrote two such numbers at least.
func (l *lab) tellers(m sayer) (list []*told) {
	for _, inc := range l.in.Found[:min(len(l.in.Found), maxTold)] {
		m.Says(inc.Instance, l.view, func(addr trace.Addr, v uint64) {
			c, st, ok := l.toldCell(addr, v)
			if !ok {
				return
			}
			k := slices.IndexFunc(list, func(o *told) bool { return o.statement == st })
			if k < 0 {
				k = len(list)
				list = append(list, &told{statement: st, hypo: l.view})
			}
			if s := list[k]; !s.has(c) {
				s.cells, s.hypo = append(s.cells, c), with(s.hypo, c, v)
			}
		})
	}
	return slices.DeleteFunc(list, func(s *told) bool { return len(s.cells) < 2 })
}

func (s *told) has(c Cell) bool {
	return slices.ContainsFunc(s.cells, func(o Cell) bool { return o.Addr == c.Addr })
}

// saidCell is the number at an address, if it can be what an equation says that it is.
func (l *lab) saidCell(addr trace.Addr, v uint64) (c Cell, ok bool) {
	c, ok = l.in.Cells.Cell(addr, l.view)
	return c, ok && c.Addr == addr && !c.Pointer && len(c.Parts) == 0 && fits(v, c.Size)
}

// toldCell is the number at an address, and the statement that was the last to write it, since the last healthy C-point.
func (l *lab) toldCell(addr trace.Addr, v uint64) (c Cell, statement string, ok bool) {
	c, ok = l.saidCell(addr, v)
	if !ok {
		return c, "", false
	}
	t := l.in.History.LastWrite(addr, uint64(c.Size), l.in.At)
	if t <= l.in.Healthy || !l.in.attributed(t) || !l.in.wrote(t) {
		return c, "", false
	}
	return c, l.in.Statement(l.in.History.Op(t).PC), true
}

// tellAll: all that equations say of the statement's numbers mends all, and breaks nothing.
func (l *lab) tellAll(s *told) bool {
	if l.exhausted() {
		return false
	}
	o, ok := l.try(s.hypo, len(l.in.Found))
	s.best = o
	return ok && o.n == len(l.in.Found) && o.created == 0
}

// tell sets what equations say of a statement's numbers, as far as each cures something more and breaks nothing.
func (l *lab) tell(s *told, m sayer) (more bool) {
	type number struct {
		c Cell
		v uint64
	}
	for i, inc := range l.in.Found[:min(len(l.in.Found), maxTold)] {
		if s.best.cured != nil && s.best.cured[i] {
			continue
		}
		var list []number
		m.Says(inc.Instance, s.hypo, func(addr trace.Addr, v uint64) {
			if c, st, ok := l.toldCell(addr, v); ok && st == s.statement && !s.has(c) {
				list = append(list, number{c, v})
			}
		})
		for _, x := range list {
			if l.exhausted() {
				return more
			}
			hypo := with(s.hypo, x.c, x.v)
			if o, ok := l.try(hypo, s.best.n+1); ok && o.created == 0 && o.n > s.best.n {
				s.cells, s.hypo, s.best, more = append(s.cells, x.c), hypo, o, true
				break
			}
		}
	}
	return more
}

// accuseTold adds what all of a statement's numbers would mend to the evidence against it, where no single field would mend all.
func (l *lab) accuseTold(suspects []Suspect, x *told, repairs []Repair) []Suspect {
	if x == nil || slices.ContainsFunc(repairs, func(r Repair) bool { return len(r.Others) == 0 && r.evidence(l.in).explains() }) {
		return suspects
	}
	e := Evidence{Kind: RepairCell, More: true, Usual: l.in.looksFor(Outdated)}
	l.in.cures(&e, x.best.cured)
	var ops []mgpp.Timestamp
	for _, c := range x.cells {
		t := l.in.History.LastWrite(c.Addr, uint64(c.Size), l.in.At)
		ops = append(ops, t)
		e.Usual = e.Usual && l.in.usual(t)
	}
	known := len(suspects)
	s := statement(l.in, &suspects, ops[0])
	v, _ := read(x.hypo, x.cells[0].Addr, x.cells[0].Size)
	r := &Repair{Cell: x.cells[0], Value: v, Cured: x.best.n, cured: x.best.cured}
	if known < len(suspects) {
		s.Operations, s.Contributes = ops, r.mended(l.in)
	}
	s.Repair, s.mends, e.Mends = r, x.best.cured, r
	s.Evidence = append(s.Evidence, e)
	return suspects
}
