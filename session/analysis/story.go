package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/render"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// How much of what led to a C-point is told (docs/design/reporting.md).
const (
	maxSteps  = 120     // changes that are listed
	maxDrawn  = 24      // objects that are drawn, at either end
	maxOfOne  = 10_000  // changes of one object that are looked at, the newest
	maxTold   = 8       // suspects whose changes are steps in any case
	maxRead   = 1 << 20 // dependencies that are looked at for the verdicts
	maxFilmed = 20      // C-points that are drawn
)

// story is what led to a C-point.
type story struct {
	a        *Analysis
	p        *point
	from, to mgpp.Timestamp
	main     []graph.ObjID // objects of the findings and suspects
	drawn    []graph.ObjID // these, and what is near them
	ofObject int           // objects that there are
	rank     map[mgpp.Timestamp]int
	times    []mgpp.Timestamp // of the changes that are listed
	left     map[mgpp.Timestamp]int
	asked    []eval.Instance // a finding each
	broken   [][]int         // by step; nil: not known
}

// tell lists the steps that led to a C-point, and draws them if that is wanted.
func (a *Analysis) tell(ctx context.Context, n int, c *report.CPoint, p *point) error {
	s := &story{a: a, p: p, from: p.healthy, to: p.time, rank: map[mgpp.Timestamp]int{}, left: map[mgpp.Timestamp]int{}}
	if p.fault != nil {
		s.from = max(a.Hist.Node(p.fault.Node).Birth, 1) - 1
	}
	s.scope()
	s.choose()
	s.broken = make([][]int, len(s.times)+2)
	for i := range s.broken {
		s.broken[i] = []int{}
	}
	if p.fault == nil {
		s.verdicts()
	} else {
		s.broken[len(s.times)+1] = []int{0}
	}
	s.steps(c)
	if !a.o.Film || len(s.drawn) == 0 {
		return nil
	}
	return s.film(ctx, fmt.Sprintf("p%d-", n), c)
}

// scope decides which objects are drawn.
func (s *story) scope() {
	s.main = objects(s.p.found)
	add := func(o graph.ObjID) {
		if o != 0 && !slices.Contains(s.main, o) && len(s.main) < maxDrawn {
			s.main = append(s.main, o)
		}
	}
	if f := s.p.fault; f != nil {
		add(f.Obj)
		for _, o := range s.objectsOf(s.a.Hist.Op(f.Time)) {
			add(o)
		}
	}
	for i := range s.p.suspects[:min(len(s.p.suspects), maxTold)] {
		sp := &s.p.suspects[i]
		if sp.Kind == faultloc.Wrote && sp.Operation != 0 {
			s.rank[sp.Operation] = i + 1
			for _, o := range s.objectsOf(s.a.Hist.Op(sp.Operation)) {
				add(o)
			}
		}
		if r := sp.Repair; r != nil {
			add(r.Cell.Obj)
			add(r.Target)
		}
	}
	if len(s.main) == 0 {
		return // memory of no declared type
	}
	for _, t := range []mgpp.Timestamp{s.to, s.from} {
		near, all := render.Near(s.a.Graph, s.a.Hist.At(t), s.main, maxDrawn)
		s.ofObject = max(s.ofObject, all)
		for _, o := range near {
			if !slices.Contains(s.drawn, o) && (len(s.drawn) < maxDrawn || slices.Contains(s.main, o)) {
				s.drawn = append(s.drawn, o)
			}
		}
	}
	for _, o := range s.main { // what died meanwhile
		if !slices.Contains(s.drawn, o) {
			s.drawn = append(s.drawn, o)
		}
	}
	slices.Sort(s.drawn)
	s.ofObject = max(s.ofObject, len(s.drawn))
}

// objectsOf lists the typed objects that an operation changed.
func (s *story) objectsOf(op mgpp.Op) []graph.ObjID {
	var out []graph.ObjID
	for _, t := range []mgpp.Timestamp{op.Time, max(op.Time, 1) - 1} {
		for _, o := range s.a.Graph.At(s.a.Hist.At(t), op.Addr) {
			if s.a.Graph.Object(o).Type != nil && !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return out
}

// choose finds the changes of drawn objects, going back from write to write, and
// keeps those that matter most.
func (s *story) choose() {
	const (
		ofSuspect = iota
		ofMain
		ofRest
	)
	class := map[mgpp.Timestamp]int{}
	note := func(t mgpp.Timestamp, k int) {
		if t > s.from && t <= s.to {
			if have, ok := class[t]; !ok || k < have {
				class[t] = k
			}
		}
	}
	for t := range s.rank {
		note(t, ofSuspect)
	}
	for i := range s.p.suspects[:min(len(s.p.suspects), maxTold)] {
		for _, t := range s.p.suspects[i].Operations[:min(len(s.p.suspects[i].Operations), maxTold)] {
			note(t, ofSuspect)
		}
	}
	for _, o := range s.drawn {
		k := ofRest
		if slices.Contains(s.main, o) {
			k = ofMain
		}
		obj := s.a.Graph.Object(o)
		note(obj.Birth, k)
		end := s.to
		if obj.Death != 0 && obj.Death <= s.to {
			note(obj.Death, k)
			end = obj.Death - 1
		}
		t := s.a.Hist.LastWrite(obj.Addr, obj.Size, end)
		for n := 0; t > max(s.from, obj.Birth) && n < maxOfOne; n++ {
			if _, known := class[t]; known || !s.a.Hist.SameValue(t) {
				note(t, k)
			}
			t = s.a.Hist.LastWrite(obj.Addr, obj.Size, t-1)
		}
	}
	if f := s.p.fault; f != nil {
		n := s.a.Hist.Node(f.Node)
		note(n.Birth, ofSuspect)
		note(n.Death, ofSuspect)
		delete(class, f.Time) // the last step
	}
	all := slices.Sorted(maps.Keys(class))
	kept := slices.Clone(all)
	slices.SortStableFunc(kept, func(x, y mgpp.Timestamp) int {
		return cmp.Or(class[x]-class[y], cmp.Compare(y, x))
	})
	kept = kept[:min(len(kept), maxSteps)]
	slices.Sort(kept)
	left := 0
	for _, t := range all {
		if _, ok := slices.BinarySearch(kept, t); !ok {
			left++
			continue
		}
		s.left[t], left = left, 0
		s.times = append(s.times, t)
	}
	s.left[0] = left // before the last step
}

// verdicts finds which findings are broken after each step, the newest first:
// between two changes of what a verdict depends on it stays.
func (s *story) verdicts() {
	for _, group := range groupByCause(s.p.found) {
		s.asked = append(s.asked, group[0].Instance)
	}
	last := len(s.times) + 1
	read := 0
	for f, inst := range s.asked {
		s.broken[last] = append(s.broken[last], f)
		step := last - 1
		for step >= 0 && read < maxRead {
			t := s.time(step)
			r := s.a.model().Eval(inst, s.a.Checker.View(t))
			since := eval.LastChange(s.a.Checker, r.Deps, t)
			read += len(r.Deps)
			for ; step >= 0 && s.time(step) >= since; step-- {
				if r.Verdict == eval.Broken {
					s.broken[step] = append(s.broken[step], f)
				}
			}
		}
		for ; step >= 0; step-- {
			s.broken[step] = nil
		}
	}
}

// time is that of a step: the first is the healthy C-point, the last the other one.
func (s *story) time(step int) mgpp.Timestamp {
	switch {
	case step == 0:
		return s.from
	case step <= len(s.times):
		return s.times[step-1]
	}
	return s.to
}

// steps puts them into words.
func (s *story) steps(c *report.CPoint) {
	first := report.Step{Timestamp: uint64(s.from), Place: s.a.start(s.p)}
	if s.p.fault != nil {
		first.Place = "before the block was allocated"
	}
	c.Steps = append(c.Steps, first)
	for _, t := range s.times {
		op := s.a.Hist.Op(t)
		st := s.a.step(op.PC)
		st.Timestamp, st.Thread, st.LeftOut, st.Suspect = uint64(t), uint32(op.Thread), s.left[t], s.rank[t]
		st.Change, st.When = s.a.change(t), s.a.when(t)
		c.Steps = append(c.Steps, st)
	}
	last := report.Step{File: c.File, Path: c.Path, Line: c.Line, Function: c.Function, Place: c.Title()}
	if f := s.p.fault; f != nil {
		last = s.a.step(f.PC)
		last.Change, last.When, last.Suspect, last.Thread = f.Reason, s.a.when(f.Time), 1, uint32(f.Thread)
	}
	last.Timestamp, last.LeftOut = uint64(s.to), s.left[0]
	c.Steps = append(c.Steps, last)
	for i := range s.broken {
		c.Steps[i].Broken = s.broken[i]
	}
}

// step names the statement of one.
func (a *Analysis) step(pc trace.Addr) report.Step {
	f, _, source := a.Symbols.Where(pc)
	return report.Step{
		File: symbol.Short(f.File), Path: f.File, Line: f.Line, Column: f.Column,
		Function: f.Function, Source: source, Address: a.Symbols.Address(pc),
	}
}

// start names the C-point from which on things may have gone wrong.
func (a *Analysis) start(p *point) string {
	switch {
	case p.sound.Kind != "":
		return "all is well " + place(&p.sound)
	case a.begins != nil:
		return "the history begins"
	case a.prog.Engine == "core":
		return "nothing is known"
	case a.prog.Before != nil:
		return "recording begins"
	}
	return "the program begins"
}

// place says where a C-point is, in words.
func place(c *eval.CPoint) string {
	if c.Kind == "line" {
		return fmt.Sprintf("at %s:%d", symbol.Short(c.File), c.Line)
	}
	at := report.CPoint{Kind: c.Kind, Function: c.Function, File: symbol.Short(c.File), Line: c.Line, Call: c.Call}
	return at.Where()
}

// film draws the steps.
func (s *story) film(ctx context.Context, prefix string, c *report.CPoint) error {
	shots := make([]render.Shot, len(c.Steps))
	for i := range shots {
		shots[i] = s.shot(i)
	}
	f, err := render.NewFilm(ctx, s.a.Graph, shots, render.FilmOptions{Objects: s.drawn, Main: s.main})
	if err != nil {
		return err
	}
	out := &report.Film{
		Drawing: f.SVG(render.All, prefix, "The structure at the step that is chosen"),
		First:   f.SVG(0, "", "The structure at the first step"),
		Last:    f.SVG(len(shots)-1, "", "The structure at the last step"),
		Room:    render.MaxValue, Drawn: len(s.drawn), Objects: s.ofObject,
	}
	for _, fr := range f.Frames {
		out.Frames = append(out.Frames, report.Frame{Nodes: fr.Nodes, Edges: fr.Edges, Values: cellTexts(fr.Values), Marks: cellTexts(fr.Marks)})
	}
	c.Film = out
	return nil
}

func cellTexts(in []render.CellText) []report.CellText {
	out := make([]report.CellText, len(in))
	for i, v := range in {
		out[i] = report.CellText(v)
	}
	return out
}

// shot is what the frame of a step shows.
func (s *story) shot(i int) render.Shot {
	t := s.time(i)
	sh := render.Shot{View: s.a.Hist.At(t), Anew: i == 0 || i > len(s.times) || s.left[t] > 0}
	change := i > 0 && i <= len(s.times) || i > len(s.times) && s.p.fault != nil
	if change && t > 0 {
		op := s.a.Hist.Op(t)
		sh.Before = s.a.Hist.At(t - 1)
		switch op.Kind {
		case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
			sh.Lo, sh.Hi = op.Addr, op.Addr+trace.Addr(op.Size)
		default:
			sh.Anew = true // a life that begins or ends changes what pointers lead to
		}
	}
	if s.p.fault != nil {
		if i > len(s.times) {
			sh.Broken = s.main
		}
		return sh
	}
	for _, f := range s.broken[i] {
		for _, o := range append(s.asked[f].Nodes[:], s.asked[f].SCC) {
			if o != 0 {
				sh.Broken = append(sh.Broken, o)
			}
		}
	}
	if len(s.broken[i]) > 0 {
		s.mend(&sh, t)
	}
	return sh
}

// mend marks the cell that is wrong, and the edge that would mend it.
func (s *story) mend(sh *render.Shot, t mgpp.Timestamp) {
	if len(s.p.suspects) == 0 || s.p.suspects[0].Repair == nil {
		return
	}
	r := s.p.suspects[0].Repair
	if s.a.Hist.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), s.to) > t {
		return
	}
	sh.Wrong = append(sh.Wrong, r.Cell.Addr)
	if r.Cell.Pointer {
		sh.Repair = append(sh.Repair, render.Repair{Cell: r.Cell.Addr, From: r.Cell.Obj, To: r.Target})
	}
}
