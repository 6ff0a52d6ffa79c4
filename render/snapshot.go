package render

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Options say which part of a memory graph to draw, and what to bring out.
type Options struct {
	Title  string
	Notes  []string
	Around []graph.ObjID // draw these and what is near them; empty: everything
	Max    int           // nodes at most; 0: 60. The rest is folded into counts
	Broken []graph.ObjID // marked Broken
	// Changed are addresses of fields that are marked Changed.
	Changed []trace.Addr
	// Wrong are addresses of fields that are marked Broken.
	Wrong []trace.Addr
	// Joined is what is one node then and several at another time.
	Joined []Joined
}

// defaultMax is how many nodes a person can still take in.
const defaultMax = 60

// maxFields is how many fields of a node are drawn; those that are marked, or
// that lead somewhere, always are.
const maxFields = 14

// Snapshot draws the memory graph of a view.
func Snapshot(g *graph.Graph, v mgpp.View, o Options) *Graph {
	s := newSnapshot(g, v, o)
	s.choose()
	return s.draw()
}

// Evolution draws a memory graph at several times, in the order of views, with
// every node in the same place in each drawing: a node that is near enough to
// be drawn in one of them is drawn in all in which it lives.
func Evolution(g *graph.Graph, views []mgpp.View, options []Options) []*Graph {
	all := make([]*snapshot, len(views))
	for i, v := range views {
		all[i] = newSnapshot(g, v, options[i])
		all[i].choose()
	}
	out := make([]*Graph, len(views))
	for i, s := range all {
		for _, other := range all {
			for _, o := range other.chosen {
				s.take(o, len(all)*s.limit())
			}
		}
		s.left = max(0, s.live()-len(s.chosen))
		out[i] = s.draw()
		boxesTold(out[i])
	}
	Align(out)
	return out
}

// Pair draws a memory graph before and after a change, aligned.
func Pair(g *graph.Graph, before, after mgpp.View, ob, oa Options) (b, a *Graph) {
	out := Evolution(g, []mgpp.View{before, after}, []Options{ob, oa})
	return out[0], out[1]
}

// Near returns the objects that Snapshot would draw, and how many there are:
// all, if there are no more than limit.
func Near(g *graph.Graph, v mgpp.View, around []graph.ObjID, limit int) (near []graph.ObjID, all int) {
	s := newSnapshot(g, v, Options{Around: around, Max: limit})
	if all = s.live(); all <= limit {
		s.o.Around = append(slices.Clone(around), s.all()...)
	}
	s.choose()
	return s.chosen, all
}

func newSnapshot(g *graph.Graph, v mgpp.View, o Options) *snapshot {
	return &snapshot{g: g, v: v, o: o, out: &Graph{Title: o.Title, Notes: slices.Clone(o.Notes), ordered: true}, in: map[graph.ObjID]bool{}}
}

func (s *snapshot) draw() *Graph {
	for _, id := range s.chosen {
		s.node(id)
	}
	s.joined()
	s.folded()
	return s.out
}

type snapshot struct {
	g      *graph.Graph
	v      mgpp.View
	o      Options
	out    *Graph
	chosen []graph.ObjID
	in     map[graph.ObjID]bool
	left   int // objects that are not drawn
	beyond []Edge
}

// A neighbourhood goes as far as maxDistance edges, or farther until it has
// fewNodes: sixty nodes of a list are a strip that nobody reads.
const (
	maxDistance = 4
	fewNodes    = 8
)

// choose picks the nodes to draw: breadth first from Around, along edges in
// both directions, so that what is nearest to the fault is there.
func (s *snapshot) choose() {
	limit := s.limit()
	start := s.o.Around
	if len(start) == 0 {
		start = s.all()
	}
	for _, o := range start {
		s.take(o, limit)
	}
	ring := len(s.chosen) // where the nodes at the next distance begin
	for i, distance := 0, 1; i < len(s.chosen) && len(s.chosen) < limit; i++ {
		if i == ring {
			ring, distance = len(s.chosen), distance+1
		}
		if distance > maxDistance && len(s.chosen) >= fewNodes && limit <= defaultMax {
			break
		}
		s.neighbours(s.chosen[i], func(o graph.ObjID) { s.take(o, limit) })
	}
	s.left = max(0, s.live()-len(s.chosen))
}

func (s *snapshot) limit() int {
	if s.o.Max > 0 {
		return s.o.Max
	}
	return defaultMax
}

func (s *snapshot) take(o graph.ObjID, limit int) {
	if o != 0 && !s.in[o] && len(s.chosen) < limit && s.g.Alive(o, s.v.Time()) {
		s.in[o] = true
		s.chosen = append(s.chosen, o)
	}
}

func (s *snapshot) neighbours(o graph.ObjID, f func(graph.ObjID)) {
	for _, fd := range describe.Fields(s.g, s.v, o) {
		if fd.Target != 0 {
			f(fd.Target)
		}
	}
	for _, e := range s.g.In(s.v, o) {
		f(e.From)
	}
}

// all lists the live objects of all types and the globals, in order of age.
func (s *snapshot) all() []graph.ObjID {
	var out []graph.ObjID
	for i := range s.g.Spec().Globals {
		out = append(out, s.g.Global(i))
	}
	for _, t := range s.g.Spec().Types {
		out = s.g.Live(t, s.v.Time(), out)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *snapshot) live() int {
	n := 0
	for _, t := range s.g.Spec().Types {
		n += len(s.g.Live(t, s.v.Time(), nil))
	}
	return n
}

func nodeID(o graph.ObjID) string { return fmt.Sprintf("n%d", o) }

// node draws one object with its fields and the edges that leave it.
func (s *snapshot) node(o graph.ObjID) {
	obj := s.g.Object(o)
	n := Node{ID: nodeID(o), Title: s.g.Name(o), Tip: fmt.Sprintf("%s at %#x, %d bytes", s.g.Name(o), uint64(obj.Addr), s.g.Size(o, s.v.Time()))}
	if slices.Contains(s.o.Broken, o) {
		n.Mark = Broken
	}
	hidden := 0
	for i, f := range describe.Fields(s.g, s.v, o) {
		mark := s.mark(f)
		if i >= maxFields && mark == Plain && f.Target == 0 {
			hidden++
			continue
		}
		n.Fields = append(n.Fields, s.field(o, i, f, mark))
	}
	if hidden > 0 {
		n.Fields = append(n.Fields, Field{Name: "…", Value: fmt.Sprintf("%d more fields", hidden)})
	}
	s.out.Nodes = append(s.out.Nodes, n)
}

func (s *snapshot) mark(f describe.Field) Mark {
	covers := func(a trace.Addr) bool { return a >= f.Addr && a < f.Addr+trace.Addr(max(f.Size, 1)) }
	switch {
	case slices.ContainsFunc(s.o.Changed, covers):
		return Changed
	case slices.ContainsFunc(s.o.Wrong, covers):
		return Broken
	}
	return Plain
}

func (s *snapshot) field(o graph.ObjID, i int, f describe.Field, mark Mark) Field {
	out := Field{Name: f.Path, Value: f.Text, Mark: mark}
	bad := f.Pointer && (f.State == mgpp.Dangling || f.State == mgpp.Wild) && f.Target == 0 && !s.g.IsNil(s.v.Target(f.Addr, f.Coded).Value)
	if bad && mark == Plain && declared(s.g, o, f.Addr) {
		out.Mark = Broken
	}
	if f.Target == 0 {
		return out
	}
	out.Port = fmt.Sprintf("f%d", i)
	e := Edge{From: nodeID(o), Port: out.Port, To: nodeID(f.Target), Mark: mark}
	if s.in[f.Target] {
		s.out.Edges = append(s.out.Edges, e)
	} else {
		s.beyond = append(s.beyond, e)
	}
	return out
}

// declared: the pointer is one of its type's edges, and leads to a declared type;
// others may well lead out of the structure.
func declared(g *graph.Graph, o graph.ObjID, addr trace.Addr) bool {
	c := counted(g, o, addr)
	return c != nil && c.Elem != nil && len(c.Elem.Members) > 0 && slices.ContainsFunc(g.Spec().Types, func(t *check.NodeType) bool {
		return t.Layout != nil && t.Layout.Name == c.Elem.Name
	})
}

// counted returns the edge cell at an address, nil if it is none that counts by
// default: with "edges (left, right)" a parent pointer does not.
func counted(g *graph.Graph, o graph.ObjID, addr trace.Addr) *check.EdgeCell {
	obj := g.Object(o)
	if obj.Type == nil {
		return nil
	}
	off := int64(addr - obj.Addr)
	for i := range obj.Type.Edges[:min(obj.Type.Default, len(obj.Type.Edges))] {
		c := &obj.Type.Edges[i]
		if off >= c.Offset && (off == c.Offset || c.Count != 1 && c.Stride > 0 && (off-c.Offset)%c.Stride == 0) {
			return c
		}
	}
	return nil
}

// folded draws the rest: one node with a count, and the edges that lead there.
func (s *snapshot) folded() {
	if s.left == 0 && len(s.beyond) == 0 {
		return
	}
	text := "more nodes"
	if s.left > 0 {
		text = fmt.Sprintf("%d more nodes", s.left)
	}
	s.out.Nodes = append(s.out.Nodes, Node{ID: "folded", Title: text, Mark: Folded})
	for _, e := range s.beyond {
		e.To = "folded"
		if e.Mark == Plain {
			e.Mark = Folded
		}
		s.out.Edges = append(s.out.Edges, e)
	}
}
