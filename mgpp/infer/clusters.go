package infer

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// Stretch is memory that was of one node as a whole at all times, of a node that was
// split or merged: what retrieval (algorithm 1) needs beside the blocks.
type Stretch struct {
	Start  trace.Addr
	Size   uint64
	Owners []Ownership // by time
}

// Ownership begins the time in which a stretch is of a node.
type Ownership struct {
	At     trace.Instant
	PC     trace.Addr // of the instruction that split or merged
	Node   NodeID     // 0: of none any more
	Merged bool       // the stretch became part of a cluster
}

// Stretches are those of all nodes that were split or merged, by address. Like a block, a
// node has its extent from its birth on.
func (g *Graph) Stretches() []Stretch {
	several := make([]bool, len(g.nodes))
	for i := range g.nodes {
		n := &g.nodes[i]
		for _, m := range n.Members {
			several[m.Node] = true
		}
		if n.Cluster() || n.Source != 0 {
			several[i], several[n.Source] = true, true
		}
	}
	several[0] = false
	var out []Stretch
	for _, a := range g.addresses() {
		next := Stretch{Start: a, Owners: g.ownerships(a)}
		for _, o := range g.places[a].owners {
			next.Size = max(next.Size, o.size, 1)
		}
		if k := len(out) - 1; k >= 0 {
			last := &out[k]
			if slices.Equal(last.Owners, next.Owners) {
				last.Size = uint64(a-last.Start) + next.Size
				continue
			}
			last.Size = min(last.Size, uint64(a-last.Start))
		}
		out = append(out, next)
	}
	return slices.DeleteFunc(out, func(s Stretch) bool {
		return !slices.ContainsFunc(s.Owners, func(o Ownership) bool { return several[o.Node] })
	})
}

func (g *Graph) ownerships(a trace.Addr) (out []Ownership) {
	before := Timestamp(0)
	for _, o := range g.places[a].owners {
		at := o.time
		if o.begins && o.node != 0 {
			at = max(g.nodes[o.node].Birth, before)
		}
		m := g.changes[at]
		out = append(out, Ownership{m.Instant, m.PC, o.node, !o.begins && g.nodes[o.node].Cluster()})
		before = o.time
	}
	return out
}

// Joint is a node at a time that is a cluster, or that was split later: several stretches.
type Joint struct {
	Node  NodeID
	Parts []JointPart // by address
}

// JointPart is a stretch of a joint.
type JointPart struct {
	Start  trace.Addr
	Size   uint64
	Merged *Ownership // it became part of the cluster then; nil: it was not merged
	Next   *Ownership // what became of it later; nil: nothing
}

// Joints are the nodes at a time that were several before, or are later.
func Joints(all []Stretch, at trace.Instant) []Joint {
	by := map[NodeID]int{}
	var out []Joint
	for _, s := range all {
		k, _ := slices.BinarySearchFunc(s.Owners, at, func(o Ownership, at trace.Instant) int {
			return cmp.Or(cmp.Compare(o.At, at), -1) // behind those of this instant
		})
		if k--; k < 0 || s.Owners[k].Node == 0 {
			continue
		}
		part := JointPart{Start: s.Start, Size: s.Size}
		if k+1 < len(s.Owners) {
			part.Next = &s.Owners[k+1]
		}
		id := s.Owners[k].Node
		for ; s.Owners[k].Merged; k-- { // into a cluster that was merged itself: the edge is that of the first time
			part.Merged = &s.Owners[k]
		}
		i, ok := by[id]
		if !ok {
			i = len(out)
			by[id] = i
			out = append(out, Joint{Node: id})
		}
		out[i].Parts = append(out[i].Parts, part)
	}
	return slices.DeleteFunc(out, func(j Joint) bool { return len(j.Parts) < 2 })
}
