package ask

import (
	"fmt"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/infer"
	"mgtrace/query"
	"mgtrace/render"
	"mgtrace/session/allocfree"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/trace"
)

// clusters are the nodes at a time that were several at another time, of a trace whose
// blocks were found without knowing the allocator.
func (q *Queries) clusters(t mgpp.Timestamp) ([]query.Cluster, error) {
	all, err := allocfree.Stretches(q.Recording)
	return clusters(all, q.Answers.History(), t), err
}

func clusters(all []infer.Stretch, h query.History, t mgpp.Timestamp) (out []query.Cluster) {
	now := h.Now()
	at := ^trace.Instant(0) // at the end, also what was done after the last change
	if t < now {
		at = h.Op(t).Instant
	}
	moment := func(o *infer.Ownership) query.Moment {
		if o == nil {
			return query.Moment{}
		}
		return query.Moment{Time: min(query.AtInstant(h, o.At), now), PC: o.PC}
	}
	for _, j := range infer.Joints(all, at) {
		var c query.Cluster
		for _, p := range j.Parts {
			c.Parts = append(c.Parts, query.Part{Start: p.Start, Size: p.Size, Merged: moment(p.Merged), Split: moment(p.Next)})
		}
		out = append(out, c)
	}
	return out
}

// Joined are the clusters of an analysed trace at some times, to be drawn with its nodes.
func Joined(rec *recording.Recording, spec string, a *analysis.Analysis, times []mgpp.Timestamp) ([][]render.Joined, error) {
	out := make([][]render.Joined, len(times))
	all, err := allocfree.Stretches(rec)
	if err != nil || len(all) == 0 {
		return out, err
	}
	typing, err := newQueryTyping(rec, spec)
	if err != nil {
		return nil, err
	}
	_, names := typing.names(a.Hist)
	for i, t := range times {
		for _, c := range names.Clusters(clusters(all, a.Hist, t), t) {
			out[i] = append(out[i], joined(a.Graph, &c))
		}
	}
	return out, nil
}

// joined is a cluster as package render draws it: a part is the object of its block.
func joined(g *graph.Graph, c *query.Cluster) render.Joined {
	j := render.Joined{Title: c.Title()}
	for i := range c.Parts {
		p := &c.Parts[i]
		x := render.JoinedPart{Addr: p.Start, Title: p.Block.Name}
		if p.Block.ID != 0 {
			x.Object = g.FormerAt(p.Block.ID, uint64(p.Block.Node.Start))
		}
		if x.Object != 0 {
			x.Title = g.Name(x.Object)
		}
		if x.Title == "" {
			x.Title = fmt.Sprintf("%d bytes", p.Size)
		}
		if t := c.Edge(i).Time; t > 0 {
			x.Merged = fmt.Sprintf("(%d)", t)
		}
		j.Parts = append(j.Parts, x)
	}
	return j
}
