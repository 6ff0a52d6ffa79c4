package faultloc

import (
	"cmp"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// maxWeighed bounds the counterfactuals: each is a check of the whole graph.
const maxWeighed = 24

// statements groups the contributing operations by statement, the statement
// with the newest operation first.
func statements(in Input, tb *contributions) []Suspect {
	var out []Suspect
	for _, t := range tb.order {
		c := tb.byOp[t]
		s := statement(in, &out, t)
		s.Second = s.Second && c.second || len(s.Operations) == 0 && c.second
		s.Operations = append(s.Operations, t)
		for _, i := range c.instances {
			if !slices.Contains(s.Contributes, i) {
				s.Contributes = append(s.Contributes, i)
			}
		}
		s.gather(t, c)
	}
	return out
}

// statement returns the suspect for the statement of operation t, added to the
// list if it is not there.
func statement(in Input, list *[]Suspect, t mgpp.Timestamp) *Suspect {
	pc := in.History.Op(t).PC
	key := in.Statement(pc)
	for i := range *list {
		if s := &(*list)[i]; s.Kind == Wrote && in.Statement(s.PC) == key {
			return s
		}
	}
	*list = append(*list, Suspect{Kind: Wrote, PC: pc, Operation: t})
	return &(*list)[len(*list)-1]
}

// gather keeps the operation with the most flips as the one to show.
func (s *Suspect) gather(t mgpp.Timestamp, c *contribution) {
	kind := Touch
	switch {
	case c.second:
		kind = Entered
	case len(c.flipped) > 0:
		kind = Flip
	}
	for i := range s.Evidence {
		e := &s.Evidence[i]
		if e.Kind == kind {
			if len(c.flipped) > e.Flips {
				s.Operation = t
			}
			e.Flips = max(e.Flips, len(c.flipped))
			return
		}
	}
	s.Evidence = append(s.Evidence, Evidence{Kind: kind, Flips: len(c.flipped)})
	if kind == Flip && !slices.ContainsFunc(s.Evidence[:len(s.Evidence)-1], func(e Evidence) bool { return e.Kind == Flip }) {
		s.Operation = t
	}
}

// weigh adds the counterfactual: the graph at the C-point without this one
// operation's bytes.
func weigh(in Input, suspects []Suspect) {
	view := in.Model.View(in.At)
	weighed := 0
	for i := range suspects {
		s := &suspects[i]
		if s.Kind == Omitted || weighed == maxWeighed {
			continue
		}
		for _, t := range shown(s) {
			weighed++
			e := counterfactual(in, view, t)
			if e.Cured == 0 {
				continue
			}
			if better(e, s) {
				s.Operation = t
				s.setCounterfactual(e)
			}
		}
	}
}

// shown: the operations of a suspect worth a counterfactual.
func shown(s *Suspect) []mgpp.Timestamp {
	ops := []mgpp.Timestamp{s.Operation}
	for _, t := range s.Operations {
		if t != s.Operation && len(ops) < 4 {
			ops = append(ops, t)
		}
	}
	return ops
}

func counterfactual(in Input, view mgpp.View, t mgpp.Timestamp) Evidence {
	hypo := in.History.Without(view, t)
	if hypo == nil {
		return Evidence{}
	}
	e := Evidence{Kind: Counterfactual, Of: len(in.Found)}
	for _, inc := range in.Found {
		if !cures(in.Model, []eval.Inconsistency{inc}, hypo) {
			continue
		}
		e.Cured++
	}
	if e.Cured > 0 {
		e.Created = newOnes(in, hypo)
	}
	return e
}

func better(e Evidence, s *Suspect) bool {
	for _, o := range s.Evidence {
		if o.Kind == Counterfactual {
			return e.Cured-e.Created > o.Cured-o.Created
		}
	}
	return true
}

func (s *Suspect) setCounterfactual(e Evidence) {
	s.Evidence = slices.DeleteFunc(s.Evidence, func(o Evidence) bool { return o.Kind == Counterfactual })
	s.Evidence = append([]Evidence{e}, s.Evidence...)
}

// score orders suspects; the fields in the order of their worth.
type score struct {
	counterfactual int // 2: cures all and creates none; 1: cures more than it creates
	repair         int // 1: wrote, or should have written, the one cell that mends all
	missing        int
	flips          int
	first          int // first class before second
	newest         mgpp.Timestamp
}

func (s *Suspect) weight() score {
	var w score
	for _, e := range s.Evidence {
		switch e.Kind {
		case Counterfactual:
			if e.Cured == e.Of && e.Created == 0 {
				w.counterfactual = 2
			} else if e.Cured > e.Created {
				w.counterfactual = 1
			}
		case RepairCell:
			w.repair = 1
		case Missing:
			if 10*e.Often >= 8*e.Of {
				w.missing = 1
			}
		case Flip:
			w.flips = e.Flips
		}
	}
	if !s.Second {
		w.first = 1
	}
	w.newest = s.Operation
	return w
}

// rank sorts by suspicion.
func rank(suspects []Suspect) {
	for i := range suspects {
		suspects[i].score = suspects[i].weight()
	}
	slices.SortStableFunc(suspects, func(a, b Suspect) int {
		x, y := a.score, b.score
		return cmp.Or(
			cmp.Compare(y.total(), x.total()),
			cmp.Compare(y.flips, x.flips),
			cmp.Compare(y.first, x.first),
			cmp.Compare(y.newest, x.newest),
		)
	})
}

// total adds up the pieces that are worth more than having flipped something.
func (s score) total() int { return 3*s.counterfactual + 4*s.repair*(1+s.missing) + min(1, s.flips) }
