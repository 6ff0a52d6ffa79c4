package graph

import "mgtrace/mgpp"

// Former returns the object that a block is or was, 0 if it never was one; the
// outermost, where it holds several.
func (g *Graph) Former(id mgpp.NodeID) ObjID {
	best := ObjID(0)
	for _, o := range g.of(id) {
		if best == 0 || g.objs.at(o).Object.Size > g.objs.at(best).Object.Size {
			best = o
		}
	}
	return best
}
