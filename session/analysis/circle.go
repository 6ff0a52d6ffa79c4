package analysis

import (
	"fmt"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// A program that goes from pointer to pointer until one is NULL never ends if they lead in a circle. Where it was ended because it hung, its
// registers and stack tell where it was on the way, its code by which links it went, and the history who closed the circle.

// inHand is what a thread held that may be pointers when it was ended, in its innermost call of the program's own.
type inHand struct {
	thread trace.ThreadID
	at     trace.Addr
	words  []uint64
}

// maxCircle bounds the nodes of a walk.
const maxCircle = 1 << 16

// circle is a finding, if a thread walked in a circle that was none before its last link was stored.
func (a *Analysis) circle() (c report.CPoint, ok bool) {
	if a.Exit == nil || a.Exit.Held == "" || a.o.NoLocate || len(a.points) > 0 {
		return c, false
	}
	for _, h := range a.grasped {
		if nodes, off, t := a.closedAround(h.words, a.Symbols.Walks(h.at)); t != 0 && a.longSince(t, h.thread) {
			return a.circled(&h, nodes, off, t), true
		}
	}
	return c, false
}

// closedAround is a circle of links some bytes into each node to which one of some words leads, and the operation that closed it: of a ring,
// which is meant to be one, there is none, since it was one before that. 0: there is no such circle.
func (a *Analysis) closedAround(words []uint64, links []int64) (nodes []uint64, off int64, t mgpp.Timestamp) {
	now := a.Hist.Now()
	for _, off := range links {
		for _, p := range words {
			nodes, ends := a.walk(p, off, now)
			if ends {
				continue
			}
			t, from := a.closed(nodes, off, now)
			if t == 0 {
				continue
			}
			if _, ends := a.walk(from, off, t-1); ends {
				return nodes, off, t
			}
		}
	}
	return nil, 0, 0
}

// longSince: a statement of the program did an operation, and a thread has had time since to come to the end of what it was about.
func (a *Analysis) longSince(t mgpp.Timestamp, thread trace.ThreadID) bool {
	if a.Own == nil {
		return false
	}
	op := a.Hist.Op(t)
	since, ok := a.Own.Since[thread]
	return ok && op.PC != 0 && op.Wall >= 0 && op.Wall <= since
}

// walk goes from pointer to pointer by the links some bytes behind where each leads. It ends at what is no link, as NULL, or not known; else
// nodes are where those lead to that lie in a circle.
func (a *Analysis) walk(p uint64, off int64, at mgpp.Timestamp) (nodes []uint64, ends bool) {
	v := a.Hist.At(at)
	seen := map[uint64]int{}
	for len(nodes) < maxCircle {
		if i, again := seen[p]; again {
			return nodes[i:], false
		}
		next, known := mgpp.Number(v, trace.Addr(p+uint64(off)), 8)
		if _, block := v.NodeAt(trace.Addr(p)); !block || !known || next == 0 {
			return nil, true
		}
		seen[p] = len(nodes)
		nodes = append(nodes, p)
		p = next
	}
	return nil, true
}

// closed is the operation that stored the newest of the links of a circle, and the node that it led from.
func (a *Analysis) closed(nodes []uint64, off int64, at mgpp.Timestamp) (t mgpp.Timestamp, from uint64) {
	for _, p := range nodes {
		if w := a.Hist.LastWrite(trace.Addr(p+uint64(off)), 8, at); w > t {
			t, from = w, p
		}
	}
	return t, from
}

// circled reports such a circle.
func (a *Analysis) circled(h *inHand, nodes []uint64, off int64, t mgpp.Timestamp) report.CPoint {
	at := a.Statement(h.at, nil)
	reason := fmt.Sprintf("the loop goes from pointer to pointer until one is NULL, and goes round in a circle of %s (by links %s into each)", report.Plural(len(nodes), "block", "blocks"), report.Plural(int(off), "byte", "bytes"))
	s := a.accomplice(t, "it stored the link that closed the circle: before that, the way from there came to an end")
	s.Rank, s.Contributes, s.Why = 1, []string{report.Circle}, report.Sentence(s.Evidence[0])
	return report.CPoint{
		Kind: "line", File: at.File, Path: at.Path, Line: at.Line, Function: at.Function, Timestamp: uint64(a.Hist.Now()), Fault: report.Circle,
		Inconsistencies: []report.Inconsistency{{Constraint: report.Circle, Reason: reason, Total: 1}},
		Suspects:        []report.Suspect{s},
	}
}

// keepInHand notes what a thread held where it was ended.
func (a *Analysis) keepInHand(ev *trace.Event, at trace.Addr) {
	if len(ev.Args) > 0 {
		a.grasped = append(a.grasped, inHand{ev.Thread, at, slices.Clone(ev.Args)})
	}
}
