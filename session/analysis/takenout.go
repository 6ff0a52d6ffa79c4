package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
)

// maxSinceOut bounds the changes between the one that took a node out and its free.
const maxSinceOut = 1024

// takenOut is a suspect beside a free that left a pointer to what it freed: the statement
// that took the node out before. Where that was done, the pointer should have changed too.
func (a *Analysis) takenOut(s *faultloc.Suspect, at mgpp.Timestamp) (out report.Suspect, ok bool) {
	left := a.leftBehind(s, at)
	op := a.Hist.Op(s.Operation)
	if left == "" || op.Kind != mgpp.OpDeath {
		return out, false
	}
	n := a.Hist.Node(op.Node)
	t := a.unlinked(&n, a.Graph.Left(a.Hist.At(at), a.Graph.Former(op.Node)))
	if t == 0 || a.Hist.Op(t).PC == 0 || a.linkedIn(a.calls.at(t), op.Node, at) {
		return out, false
	}
	out = a.accomplice(t, fmt.Sprintf("it took %s out before that was freed, and a pointer to it was left", a.Graph.Name(a.Graph.Former(op.Node))))
	out.Why = report.Sentence(out.Evidence[0])
	out.Also = []string{left}
	out.Evidence = append(out.Evidence, left)
	return out, true
}

// linkedIn: a pointer that was left to a freed node was stored in a call, which then gave the node
// another place and did not take it out.
func (a *Analysis) linkedIn(call string, id mgpp.NodeID, at mgpp.Timestamp) bool {
	v := a.Hist.At(at)
	return call != "" && slices.ContainsFunc(a.Graph.Left(v, a.Graph.Former(id)), func(r graph.Ref) bool {
		return a.calls.at(v.Target(r.Addr, r.Cell.Coded).Since) == call
	})
}

// unlinked is the change that took a pointer to a freed node away, if none was stored after it: the last from an object that one of those
// is still in which are left, or else the last. So the list is named that forgot its end, and not who let go of the node after that.
func (a *Analysis) unlinked(n *mgpp.Node, left []graph.Ref) (last mgpp.Timestamp) {
	for t := n.Death - 1; t > n.Birth && n.Death-t <= maxSinceOut; t-- {
		op := a.Hist.Op(t)
		if op.Kind != mgpp.OpStore || op.Size != 8 || inBlock(n, op.Addr) {
			continue
		}
		switch {
		case a.leads(op.Addr, n, t):
			return last
		case !a.leads(op.Addr, n, t-1):
		case slices.ContainsFunc(a.Graph.At(a.Hist.At(t), op.Addr), func(o graph.ObjID) bool {
			return slices.ContainsFunc(left, func(r graph.Ref) bool { return r.From == o })
		}):
			return t
		case last == 0:
			last = t
		}
	}
	return last
}
