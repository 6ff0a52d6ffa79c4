package query

import (
	"fmt"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/render"
	"mgtrace/report"
)

// maxDrawn is how many fields of a node are drawn that lead nowhere and are as
// they were.
const maxDrawn = 14

// Picture draws a snapshot.
func (a *Answers) Picture(s Snapshot, title string) *render.Graph {
	d := newDrawing(a.Names, title)
	for _, n := range s.Nodes {
		d.shown[n.ID] = true
	}
	parts := d.parts(s.Clusters)
	left := s.Live - len(s.Nodes)
	for _, n := range s.Nodes {
		d.node(n, render.Plain, nil)
	}
	d.folded(left - d.clusters(s.Clusters, parts, ""))
	return d.g
}

// PictureOfDiff draws what changed: the nodes that were born and the fields that
// were written are marked Changed, nodes that died are drawn as they were, Old. Boxes say
// which clusters are new and which are gone.
func (a *Answers) PictureOfDiff(d Diff, title string) *render.Graph {
	x := newDrawing(a.Names, title)
	for _, list := range [][]NodeState{d.Born, d.Died} {
		for _, n := range list {
			x.shown[n.ID] = true
		}
	}
	for _, n := range d.Changed {
		x.shown[n.ID] = true
	}
	joined, parted := x.parts(d.Joined), x.parts(d.Parted)
	after := a.hist.At(d.To)
	for _, n := range d.Changed {
		var marked []string
		for _, f := range n.After.Fields {
			marked = append(marked, f.Path)
		}
		x.node(a.Names.state(after, n.After.Node), render.Plain, marked)
	}
	for _, n := range d.Born {
		x.node(n, render.Changed, nil)
	}
	for _, n := range d.Died {
		x.node(n, render.Old, nil)
	}
	x.clusters(d.Joined, joined, "new: ")
	x.clusters(d.Parted, parted, "gone: ")
	x.folded(d.Left())
	return x.g
}

type drawing struct {
	n      *Names
	g      *render.Graph
	shown  map[mgpp.NodeID]bool
	boxed  map[string]bool // nodes that are part of a cluster which is drawn
	beyond []render.Edge
}

func newDrawing(n *Names, title string) *drawing {
	return &drawing{n: n, g: &render.Graph{Title: title}, shown: map[mgpp.NodeID]bool{}, boxed: map[string]bool{}}
}

func drawnID(id mgpp.NodeID) string { return fmt.Sprintf("n%d", id) }

func (d *drawing) node(s NodeState, mark render.Mark, marked []string) {
	out := render.Node{ID: drawnID(s.ID), Title: s.Name, Tip: fmt.Sprintf("%s at %#x, %s", s.Name, uint64(s.Node.Start), byteCount(s.Node.Size)), Mark: mark}
	hidden := 0
	for i, f := range s.Fields {
		fm := render.Plain
		if slices.Contains(marked, f.Path) {
			fm = render.Changed
		}
		leads := f.Pointer && f.Target.State == mgpp.Points
		if i >= maxDrawn && fm == render.Plain && !leads {
			hidden++
			continue
		}
		row := render.Field{Name: f.Path, Value: f.Value, Mark: fm}
		if leads {
			row.Port = fmt.Sprintf("f%d", i)
			e := render.Edge{From: out.ID, Port: row.Port, To: drawnID(f.Target.Node), Mark: max(fm, mark)}
			if d.shown[f.Target.Node] {
				d.g.Edges = append(d.g.Edges, e)
			} else {
				d.beyond = append(d.beyond, e)
			}
		}
		out.Fields = append(out.Fields, row)
	}
	if hidden > 0 {
		out.Fields = append(out.Fields, render.Field{Name: "…", Value: count(hidden, "more field", "more fields")})
	}
	d.g.Nodes = append(d.g.Nodes, out)
}

// folded stands for the nodes that are not drawn.
func (d *drawing) folded(left int) {
	if left <= 0 && len(d.beyond) == 0 {
		return
	}
	text := "more nodes"
	if left > 0 {
		text = report.Thousands(uint64(left)) + " more nodes"
	}
	d.g.Nodes = append(d.g.Nodes, render.Node{ID: "folded", Title: text, Mark: render.Folded})
	for _, e := range d.beyond {
		e.To = "folded"
		if e.Mark == render.Plain {
			e.Mark = render.Folded
		}
		d.g.Edges = append(d.g.Edges, e)
	}
}
