package render

import (
	"fmt"
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/trace"
)

// Joined is memory that is one node at the time of a drawing, and several at another time.
type Joined struct {
	Title string
	Parts []JoinedPart // by address
}

// JoinedPart is a part of it.
type JoinedPart struct {
	Addr   trace.Addr
	Object graph.ObjID // that lies there, or did when the part was merged; 0: none of a declared type
	Title  string
	Merged string // the label of the merge edge to the part before; "": there is none
}

// MaxParts is how many parts are drawn.
const MaxParts = 16

// joined draws boxes around the parts of what has a part that is drawn. Parts that are not
// drawn as objects are drawn by their titles, those that live no more dashed.
func (s *snapshot) joined() {
	for _, j := range s.o.Joined {
		parts := j.Parts[:min(len(j.Parts), MaxParts)]
		if !slices.ContainsFunc(parts, func(p JoinedPart) bool { return s.in[p.Object] }) {
			continue
		}
		box := Box{Title: j.Title}
		if n := len(j.Parts) - MaxParts; n > 0 {
			box.Title += fmt.Sprintf(", %d more parts", n)
		}
		for i, p := range parts {
			id := nodeID(p.Object)
			if !s.in[p.Object] {
				n := Node{ID: fmt.Sprintf("m%x", uint64(p.Addr)), Title: p.Title, Tip: fmt.Sprintf("%#x", uint64(p.Addr)), Mark: Folded}
				if p.Object != 0 && !s.g.Alive(p.Object, s.v.Time()) {
					n.Mark = Old
				}
				s.out.Nodes = append(s.out.Nodes, n)
				id = n.ID
			}
			if p.Merged != "" {
				s.out.Edges = append(s.out.Edges, Edge{From: box.Nodes[i-1], To: id, Label: p.Merged, Mark: Merged})
			}
			box.Nodes = append(box.Nodes, id)
		}
		s.out.Boxes = append(s.out.Boxes, box)
	}
}

// boxesTold says in notes what boxes say, and leaves these out: Graphviz lays out what is in
// a box apart, so that nodes would move where one comes or goes.
func boxesTold(g *Graph) {
	for _, b := range g.Boxes {
		g.Notes = append(g.Notes, b.Title)
	}
	g.Boxes = nil
}
