package page

import "mgtrace/report"

// data is what the script gets to know. Names are short: there may be many.
type data struct {
	Points  []point  `json:"points"`
	Sources []source `json:"sources"`
}

// point is a C-point.
type point struct {
	Steps    []step    `json:"steps"`
	Frames   []frame   `json:"frames,omitempty"`
	Suspects []suspect `json:"suspects"`
	Findings []string  `json:"findings"` // the names of the constraints
	Room     int       `json:"room,omitempty"`
}

type step struct {
	Title   string `json:"title"`  // where and when
	Change  string `json:"change"` // what
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	Suspect int    `json:"suspect,omitempty"`
	Left    int    `json:"left,omitempty"`
	Broken  []int  `json:"broken"`
}

type frame struct {
	Nodes  string   `json:"n"`
	Edges  string   `json:"e"`
	Values [][2]any `json:"v,omitempty"` // cell, text
	Marks  [][2]any `json:"m,omitempty"` // cell, state
}

// suspect is one with the step of its change, -1 if it has none.
type suspect struct {
	Rank int    `json:"rank"`
	Step int    `json:"step"`
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
}

type source struct {
	Path  string `json:"path"`
	Parts []part `json:"parts"`
}

type part struct {
	First int      `json:"first"`
	Lines []string `json:"lines"`
}

func newData(r *report.Report) data {
	d := data{Points: []point{}, Sources: []source{}}
	for i := range r.CPoints {
		d.Points = append(d.Points, newPoint(&r.CPoints[i]))
	}
	for _, s := range r.Sources {
		out := source{Path: s.Path}
		for _, p := range s.Parts {
			out.Parts = append(out.Parts, part(p))
		}
		d.Sources = append(d.Sources, out)
	}
	return d
}

func newPoint(c *report.CPoint) point {
	p := point{Steps: []step{}, Suspects: []suspect{}, Findings: []string{}}
	for i := range c.Inconsistencies {
		p.Findings = append(p.Findings, c.Inconsistencies[i].Constraint)
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		p.Steps = append(p.Steps, step{
			Title: s.Title(), Change: s.Change, Path: s.Path, Line: s.Line,
			Suspect: s.Suspect, Left: s.LeftOut, Broken: s.Broken,
		})
	}
	for i := range c.Suspects {
		s := &c.Suspects[i]
		p.Suspects = append(p.Suspects, suspect{Rank: s.Rank, Step: stepOf(c, s.Rank), Path: s.Path, Line: s.Line})
	}
	if f := c.Film; f != nil {
		p.Room = f.Room
		for i := range f.Frames {
			p.Frames = append(p.Frames, newFrame(&f.Frames[i]))
		}
	}
	return p
}

func stepOf(c *report.CPoint, rank int) int {
	for i := range c.Steps {
		if c.Steps[i].Suspect == rank {
			return i
		}
	}
	return -1
}

func newFrame(f *report.Frame) frame {
	out := frame{Nodes: f.Nodes, Edges: f.Edges}
	for _, v := range f.Values {
		out.Values = append(out.Values, [2]any{v.Cell, v.Text})
	}
	for _, m := range f.Marks {
		out.Marks = append(out.Marks, [2]any{m.Cell, m.Text})
	}
	return out
}
