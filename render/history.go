package render

import (
	"fmt"
	"slices"

	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// HistoryOptions say which part of the MG++ to draw.
type HistoryOptions struct {
	Title string
	From  mgpp.Timestamp // operations in [From, To]; 0: all
	To    mgpp.Timestamp
	Max   int // nodes at most; 0: 60
	// Statement names the statement of an operation: "15" or "list.c:15".
	Statement func(mgpp.Op) string
}

// History draws the MG++ itself: every node that ever was, labelled with the
// timestamp and the statement of its birth, and every edge that ever was,
// labelled likewise, those that were overwritten dashed (thesis figure 3.1).
func History(g *graph.Graph, h graph.History, o HistoryOptions) *Graph {
	out := &Graph{Title: o.Title}
	limit := o.Max
	if limit <= 0 {
		limit = defaultMax
	}
	to := o.To
	if to == 0 {
		to = h.Now()
	}
	drawn := map[graph.ObjID]bool{}
	total := 0
	for id := graph.ObjID(1); int(id) <= g.Objects(); id++ {
		obj := g.Object(id)
		if obj.Birth > to || obj.Type == nil {
			continue
		}
		if total++; total <= limit {
			drawn[id] = true
		}
	}
	for id := graph.ObjID(1); int(id) <= g.Objects(); id++ {
		if drawn[id] {
			out.Nodes = append(out.Nodes, historyNode(g, h, id, to, o))
			// A NULL for each node: one for all would tangle the edges.
			if historyEdges(g, h, id, to, o, drawn, out) {
				out.Nodes = append(out.Nodes, Node{ID: nullID(id), Title: "NULL", Mark: Folded})
			}
		}
	}
	if total > limit {
		out.Nodes = append(out.Nodes, Node{ID: "folded", Title: fmt.Sprintf("%d more nodes", total-limit), Mark: Folded})
	}
	return out
}

func nullID(o graph.ObjID) string { return "null-" + nodeID(o) }

func stamp(t mgpp.Timestamp, h graph.History, o HistoryOptions) string {
	if t == 0 {
		return "(0)"
	}
	return fmt.Sprintf("(%d):%s", t, o.Statement(h.Op(t)))
}

func historyNode(g *graph.Graph, h graph.History, id graph.ObjID, to mgpp.Timestamp, o HistoryOptions) Node {
	obj := g.Object(id)
	n := Node{ID: nodeID(id), Title: g.Name(id) + "  " + stamp(obj.Birth, h, o)}
	at := to
	if obj.Death != 0 && obj.Death <= to {
		n.Mark = Old
		n.Title += " † " + stamp(obj.Death, h, o)
		at = obj.Death - 1
	}
	for i, f := range describe.Fields(g, h.At(at), id) {
		n.Fields = append(n.Fields, Field{Name: f.Path, Value: f.Text, Port: fmt.Sprintf("f%d", i)})
	}
	return n
}

// historyEdges draws each version of each pointer of a node, and tells whether
// one of them is NULL.
func historyEdges(g *graph.Graph, h graph.History, id graph.ObjID, to mgpp.Timestamp, o HistoryOptions, drawn map[graph.ObjID]bool, out *Graph) (null bool) {
	obj := g.Object(id)
	end := to
	if obj.Death != 0 && obj.Death <= to {
		end = obj.Death - 1
	}
	for i, f := range describe.Fields(g, h.At(end), id) {
		if !f.Pointer {
			continue
		}
		for _, t := range written(h, f, max(obj.Birth, o.From), end) {
			was, ok := describe.FieldAt(g, h.At(t), id, f.Addr)
			if !ok || was.State == mgpp.Unwritten {
				continue
			}
			e := Edge{From: nodeID(id), Port: fmt.Sprintf("f%d", i), Label: stamp(t, h, o)}
			switch {
			case was.State == mgpp.Null:
				e.To, null = nullID(id), true
			case drawn[was.Target]:
				e.To = nodeID(was.Target)
			default:
				continue
			}
			if h.LastWrite(f.Addr, uint64(f.Size), end) != t {
				e.Mark = Old
			}
			out.Edges = append(out.Edges, e)
		}
	}
	return null
}

// written lists the operations that wrote a field in (from, to], oldest first.
func written(h graph.History, f describe.Field, from, to mgpp.Timestamp) []mgpp.Timestamp {
	var out []mgpp.Timestamp
	for t := h.LastWrite(f.Addr, uint64(f.Size), to); t > from && len(out) < maxVersions; {
		out = append(out, t)
		t = h.LastWrite(f.Addr, uint64(f.Size), t-1)
	}
	slices.Reverse(out)
	return out
}

// maxVersions of one field are drawn, the newest.
const maxVersions = 32
