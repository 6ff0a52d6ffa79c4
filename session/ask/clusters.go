package ask

import (
	"mgtrace/mgpp"
	"mgtrace/mgpp/infer"
	"mgtrace/query"
	"mgtrace/session/allocfree"
	"mgtrace/trace"
)

// clusters are the nodes at a time that were several at another time, of a trace whose
// blocks were found without knowing the allocator.
func (q *Queries) clusters(t mgpp.Timestamp) ([]query.Cluster, error) {
	h := q.Answers.History()
	now := h.Now()
	at := ^trace.Instant(0) // at the end, also what was done after the last change
	if t < now {
		at = h.Op(t).Instant
	}
	joints, err := allocfree.Joints(q.Recording, at)
	if err != nil {
		return nil, err
	}
	moment := func(o *infer.Ownership) query.Moment {
		if o == nil {
			return query.Moment{}
		}
		return query.Moment{Time: min(query.AtInstant(h, o.At), now), PC: o.PC}
	}
	var out []query.Cluster
	for _, j := range joints {
		var c query.Cluster
		for _, p := range j.Parts {
			c.Parts = append(c.Parts, query.Part{Start: p.Start, Size: p.Size, Merged: moment(p.Merged), Split: moment(p.Next)})
		}
		out = append(out, c)
	}
	return out, nil
}
