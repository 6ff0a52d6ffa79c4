package render

import (
	"cmp"
	"slices"
	"unicode"
)

// Align makes a sequence of drawings keep every node in its place: each gets
// all the nodes, edges and fields of all, those that are not its own hidden,
// and every box the size that it needs in any of them. Graphviz then lays out
// the same graph each time, so that the eye sees only the change.
func Align(frames []*Graph) {
	var all Graph
	nodes, edges := map[string]int{}, map[edgeKey]bool{}
	for _, f := range frames {
		for _, n := range f.Nodes {
			i, ok := nodes[n.ID]
			if !ok {
				i = len(all.Nodes)
				nodes[n.ID] = i
				all.Nodes = append(all.Nodes, Node{ID: n.ID, Title: n.Title})
			}
			all.Nodes[i].include(&n)
		}
		for _, e := range f.Edges {
			if k := keyOf(&e); !edges[k] {
				edges[k] = true
				all.Edges = append(all.Edges, Edge{From: e.From, Port: e.Port, To: e.To, Mark: Hidden})
			}
		}
		all.include(f)
	}
	slices.SortStableFunc(all.Edges, func(a, b Edge) int {
		from := &all.Nodes[nodes[a.From]]
		return cmp.Or(nodes[a.From]-nodes[b.From], from.row(a.Port)-from.row(b.Port))
	})
	for _, f := range frames {
		f.widths = all.widths
		for len(f.Notes) < len(all.Notes) {
			f.Notes = append(f.Notes, "")
		}
		f.Nodes = alignNodes(f.Nodes, all.Nodes)
		f.Edges = alignEdges(f.Edges, all.Edges)
	}
}

// row is the place of the field whose port it is.
func (n *Node) row(port string) int {
	return slices.IndexFunc(n.Fields, func(f Field) bool { return f.Port == port })
}

type edgeKey struct{ from, port, to string }

func keyOf(e *Edge) edgeKey { return edgeKey{e.From, e.Port, e.To} }

// include makes g's head large enough for f's.
func (g *Graph) include(f *Graph) {
	g.widths.title = max(g.widths.title, width(f.Title, titleSize))
	for i, n := range f.Notes {
		g.widths.title = max(g.widths.title, width(n, titleSize))
		if i == len(g.Notes) {
			g.Notes = append(g.Notes, "")
		}
	}
}

// include makes n, which stands for one node in all frames, large enough for
// what it is in one of them. Fields are told by name; one that is not in every
// frame stays behind the field that precedes it where it is.
func (n *Node) include(frame *Node) {
	n.widths.title = max(n.widths.title, width(frame.Title, nodeSize))
	at := 0
	for _, f := range frame.Fields {
		n.widths.name = max(n.widths.name, width(f.Name, nodeSize))
		n.widths.value = max(n.widths.value, width(f.Value, nodeSize))
		i := slices.IndexFunc(n.Fields, func(have Field) bool { return have.Name == f.Name })
		if i < 0 {
			i = min(at, len(n.Fields))
			n.Fields = slices.Insert(n.Fields, i, Field{Name: f.Name})
		}
		if f.Port != "" {
			n.Fields[i].Port = f.Port
		}
		at = i + 1
	}
}

// alignNodes returns all nodes as they are in a frame whose own are given.
func alignNodes(own, all []Node) []Node {
	mine := map[string]*Node{}
	for i := range own {
		mine[own[i].ID] = &own[i]
	}
	out := make([]Node, 0, len(all))
	for _, n := range all {
		fields := slices.Clone(n.Fields)
		m := mine[n.ID]
		for i := range fields {
			fields[i].Name = ""
		}
		if m == nil {
			m = &Node{ID: n.ID, Title: n.Title, Mark: Hidden}
		}
		for _, f := range m.Fields {
			i := slices.IndexFunc(n.Fields, func(have Field) bool { return have.Name == f.Name })
			f.Port = fields[i].Port
			fields[i] = f
		}
		out = append(out, Node{ID: n.ID, Title: m.Title, Tip: m.Tip, Mark: m.Mark, Fields: fields, widths: n.widths})
	}
	return out
}

// alignEdges returns all edges as they are in a frame whose own are given.
func alignEdges(own, all []Edge) []Edge {
	mine := map[edgeKey]*Edge{}
	for i := range own {
		mine[keyOf(&own[i])] = &own[i]
	}
	out := make([]Edge, 0, len(all))
	for _, e := range all {
		if m := mine[keyOf(&e)]; m != nil {
			e = *m
		}
		out = append(out, e)
	}
	return out
}

// widths are the least widths of the parts of a box, in points; 0: what they need.
type widths struct{ title, name, value int }

// width is at least how wide Graphviz takes a text of a size to be. The widths
// of letters are those of Helvetica (Adobe font metrics, in em), rounded up.
func width(s string, size float64) int {
	if s = shorten(clean(s)); s == "" {
		return 0
	}
	em := 0.6
	for _, r := range s {
		switch {
		case r > unicode.MaxASCII:
			em += 1.8
		case r == '@' || r == 'W' || r == '%' || r == 'M' || r == 'm':
			em += 1.02
		case unicode.IsUpper(r) || r == 'w':
			em += 0.78
		default:
			em += 0.6
		}
	}
	return int(em*size) + 1
}
