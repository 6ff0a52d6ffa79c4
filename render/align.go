package render

// Align makes a sequence of drawings keep every node in its place: each gets
// all the nodes, edges and fields of all, those that are not its own hidden.
// Graphviz then lays out the same graph each time, so that the eye sees only
// the change.
func Align(frames []*Graph) {
	nodes, edges := union(frames)
	for _, f := range frames {
		f.Nodes = alignNodes(f.Nodes, nodes)
		f.Edges = alignEdges(f.Edges, edges)
	}
}

type edgeKey struct{ from, port, to string }

// union collects nodes, with the widest content of each, and edges, in order of
// first appearance.
func union(frames []*Graph) (nodes []Node, edges []Edge) {
	at := map[string]int{}
	have := map[edgeKey]bool{}
	for _, f := range frames {
		for _, n := range f.Nodes {
			i, ok := at[n.ID]
			if !ok {
				at[n.ID] = len(nodes)
				n.Fields = append([]Field(nil), n.Fields...)
				nodes = append(nodes, n)
				continue
			}
			nodes[i].Fields = widest(nodes[i].Fields, n.Fields)
		}
		for _, e := range f.Edges {
			k := edgeKey{e.From, e.Port, e.To}
			if !have[k] {
				have[k] = true
				edges = append(edges, e)
			}
		}
	}
	return nodes, edges
}

func widest(a, b []Field) []Field {
	for i := range b {
		if i == len(a) {
			a = append(a, b[i])
		} else if len(b[i].Value) > len(a[i].Value) {
			a[i].Value = b[i].Value
		}
	}
	return a
}

func alignNodes(own, all []Node) []Node {
	mine := map[string]*Node{}
	for i := range own {
		mine[own[i].ID] = &own[i]
	}
	out := make([]Node, 0, len(all))
	for _, n := range all {
		if m := mine[n.ID]; m != nil {
			out = append(out, *m)
			continue
		}
		n.Mark = Hidden
		out = append(out, n)
	}
	return out
}

func alignEdges(own, all []Edge) []Edge {
	mine := map[edgeKey]*Edge{}
	for i := range own {
		mine[edgeKey{own[i].From, own[i].Port, own[i].To}] = &own[i]
	}
	out := make([]Edge, 0, len(all))
	for _, e := range all {
		if m := mine[edgeKey{e.From, e.Port, e.To}]; m != nil {
			out = append(out, *m)
			continue
		}
		e.Mark, e.Label = Hidden, ""
		out = append(out, e)
	}
	return out
}
