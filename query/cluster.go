package query

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/mgpp"
	"mgtrace/render"
	"mgtrace/report"
	"mgtrace/trace"
)

// Cluster is memory that is one node of the graph at a time and was several before, or is
// later: blocks that were merged, or have not been split yet. Histories have them whose
// blocks were found without knowing the allocator.
type Cluster struct {
	Parts []Part // by address
}

// Part is a part of a cluster that is a node of its own at another time.
type Part struct {
	Start  trace.Addr
	Size   uint64
	Merged Moment // it became a part by merging; Time 0: it is one from the beginning
	Split  Moment // it becomes a node of its own, or of another one; Time 0: never

	Block NodeState // that lies there, or, as it was then, that ended by merging; ID 0: none was accessed
	Ended bool
}

// Moment is when a statement did something.
type Moment struct {
	Time mgpp.Timestamp // the first change at which it shows
	PC   trace.Addr
}

// Join tells a snapshot of the clusters at its time: of those that have a node of it, or of
// all.
func (n *Names) Join(s *Snapshot, clusters []Cluster, all bool) {
	listed := map[mgpp.NodeID]bool{}
	for i := range s.Nodes {
		listed[s.Nodes[i].ID] = true
	}
	for _, c := range n.Clusters(clusters, s.Time) {
		if all || slices.ContainsFunc(c.Parts, func(p Part) bool { return listed[p.Block.ID] }) {
			s.Clusters = append(s.Clusters, c)
		}
	}
}

// JoinDiff tells a difference of the clusters at its two times.
func (n *Names) JoinDiff(d *Diff, before, after []Cluster) {
	before, after = n.Clusters(before, d.From), n.Clusters(after, d.To)
	d.Joined, d.Parted = without(after, before), without(before, after)
}

// without are the clusters that are not, with the same parts, among others.
func without(clusters, others []Cluster) []Cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c Cluster) bool {
		return slices.ContainsFunc(others, func(o Cluster) bool {
			return slices.EqualFunc(c.Parts, o.Parts, func(p, q Part) bool { return p.Start == q.Start && p.Size == q.Size })
		})
	})
}

// Clusters finds the blocks of clusters at a time, and leaves out what is one block then.
func (n *Names) Clusters(all []Cluster, t mgpp.Timestamp) (out []Cluster) {
	for _, c := range all {
		if c.Parts = n.occupied(c.Parts, t); len(c.Parts) > 1 {
			out = append(out, c)
		}
	}
	return out
}

// occupied finds the blocks of parts. Memory that has none is no part of its own if it lies
// in the block of the part in front of it, or was first met when that had been merged.
func (n *Names) occupied(parts []Part, t mgpp.Timestamp) (out []Part) {
	for _, p := range parts {
		n.occupy(&p, t)
		if k := len(out) - 1; k >= 0 && p.Block.ID == 0 {
			last := &out[k]
			b := &last.Block.Node
			if last.Merged.Time > 0 && p.Merged.Time == 0 || p.Start < b.Start+trace.Addr(b.Size) {
				last.Size = uint64(p.Start-last.Start) + p.Size
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// occupy finds the block of a part.
func (n *Names) occupy(p *Part, t mgpp.Timestamp) {
	within := func(v mgpp.View) bool {
		id, _ := v.NodeAt(p.Start)
		node, alive := v.Node(id)
		if !alive || node.Start < p.Start {
			return false
		}
		p.Block = n.state(v, node)
		return true
	}
	if at := p.Merged.Time; !within(n.hist.At(t)) && at > 0 {
		p.Ended = within(n.hist.At(at - 1))
	}
}

// merged reports whether it is a cluster of blocks that were merged.
func (c *Cluster) merged() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Merged.Time > 0 })
}

// span is its memory.
func (c *Cluster) span() (start trace.Addr, size uint64) {
	last := &c.Parts[len(c.Parts)-1]
	start = c.Parts[0].Start
	return start, uint64(last.Start-start) + last.Size
}

// Edge is the merge edge between a part and the one before it; Time 0: there is none.
func (c *Cluster) Edge(i int) Moment {
	if i == 0 {
		return Moment{}
	}
	a, b := c.Parts[i-1].Merged, c.Parts[i].Merged
	if a.Time > b.Time {
		return a
	}
	return b
}

// Title says what it is.
func (c *Cluster) Title() string {
	start, size := c.span()
	what := "one node until it is split"
	if c.merged() {
		what = "cluster"
	}
	return fmt.Sprintf("%s at %s, %s", what, hex(start), byteCount(size))
}

// ClusterAnswer describes a cluster.
type ClusterAnswer struct {
	Kind  string       `json:"kind"` // "merged", or "split later"
	Addr  string       `json:"address"`
	Size  uint64       `json:"size"`
	Parts []PartAnswer `json:"parts"`

	title string
}

// PartAnswer describes a part, with the merge edge to the one before it.
type PartAnswer struct {
	Name     string `json:"node,omitempty"`
	Addr     string `json:"address"`
	Size     uint64 `json:"size"`
	Merged   uint64 `json:"merged,omitempty"`
	MergedBy *Place `json:"merged_by,omitempty"`
	Split    uint64 `json:"split,omitempty"`
	SplitBy  *Place `json:"split_by,omitempty"`
}

func (a *Answers) cluster(c *Cluster) ClusterAnswer {
	start, size := c.span()
	out := ClusterAnswer{Kind: "split later", Addr: hex(start), Size: size, title: c.Title()}
	if c.merged() {
		out.Kind = "merged"
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		x := PartAnswer{Name: p.Block.Name, Addr: hex(p.Start), Size: p.Size}
		x.Merged, x.MergedBy = a.moment(c.Edge(i))
		x.Split, x.SplitBy = a.moment(p.Split)
		out.Parts = append(out.Parts, x)
	}
	return out
}

func (a *Answers) clusters(all []Cluster) (out []ClusterAnswer) {
	for i := range all {
		out = append(out, a.cluster(&all[i]))
	}
	return out
}

func (a *Answers) moment(m Moment) (t uint64, by *Place) {
	if m.Time == 0 {
		return 0, nil
	}
	p := a.Run.Place(m.PC)
	return uint64(m.Time), &p
}

// partsTold is how many parts of a cluster are told or drawn.
const partsTold = render.MaxParts

// cluster prints a cluster behind a sign.
func (p *printer) cluster(sign string, c *ClusterAnswer) {
	p.f("%s%s\n", sign, p.paint(bold, c.title))
	indent := strings.Repeat(" ", len(sign)+4)
	for i, x := range c.Parts {
		if i == partsTold {
			p.f("%s… and %s\n", indent, count(len(c.Parts)-i, "part more", "parts more"))
			return
		}
		name := x.Name
		if name == "" {
			name = "memory that is no block yet"
		}
		p.f("%s%s at %s, %s", indent, name, x.Addr, byteCount(x.Size))
		switch {
		case x.Merged > 0:
			p.f(", merged at change %s by %s", report.Thousands(x.Merged), x.MergedBy.where())
		case x.Split > 0 && i > 0:
			p.f(", split off at change %s by %s", report.Thousands(x.Split), x.SplitBy.where())
		}
		p.f("\n")
	}
}

// parts are those of clusters that have a block which is not drawn as a node of the snapshot.
func (d *drawing) parts(clusters []Cluster) (out []*Part) {
	for i := range clusters {
		all := clusters[i].Parts
		for k := range all[:min(len(all), partsTold)] {
			if p := &all[k]; p.Block.ID != 0 && !d.shown[p.Block.ID] {
				d.shown[p.Block.ID] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// clusters draws clusters around their parts, those that parts returned as nodes, and
// returns how many of these live.
func (d *drawing) clusters(all []Cluster, parts []*Part, what string) (live int) {
	for _, p := range parts {
		if p.Ended {
			d.node(p.Block, render.Old, nil)
		} else {
			d.node(p.Block, render.Plain, nil)
			live++
		}
	}
	for i := range all {
		d.cluster(&all[i], what)
	}
	return live
}

// cluster draws a box around the parts, and the merge edges that hold them. What another
// box has already stays there.
func (d *drawing) cluster(c *Cluster, what string) {
	box := render.Box{Title: what + c.Title()}
	before := ""
	for i := range c.Parts[:min(len(c.Parts), partsTold)] {
		p := &c.Parts[i]
		id := drawnID(p.Block.ID)
		if p.Block.ID == 0 {
			id = fmt.Sprintf("m%x", uint64(p.Start))
		}
		if d.boxed[id] {
			before = ""
			continue
		}
		d.boxed[id] = true
		if p.Block.ID == 0 {
			d.g.Nodes = append(d.g.Nodes, render.Node{ID: id, Title: fmt.Sprintf("%s, %s", hex(p.Start), byteCount(p.Size)), Mark: render.Folded})
		}
		if t := c.Edge(i).Time; t > 0 && before != "" {
			d.g.Edges = append(d.g.Edges, render.Edge{From: before, To: id, Label: fmt.Sprintf("(%d)", t), Mark: render.Merged})
		}
		box.Nodes = append(box.Nodes, id)
		before = id
	}
	if n := len(c.Parts) - partsTold; n > 0 {
		box.Title += fmt.Sprintf(", %s not drawn", count(n, "part", "parts"))
	}
	if len(box.Nodes) > 0 {
		d.g.Boxes = append(d.g.Boxes, box)
	}
}
