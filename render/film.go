package render

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// A Film shows objects of a memory graph at several times, in one layout:
// nothing moves, and the frames tell only what of it is shown.
type Film struct {
	Width, Height float64 // points
	Frames        []Frame
	boxes         []box
	arrows        []arrow
	cells         int
}

// Frame is what a film shows at one time.
type Frame struct {
	// Nodes and Edges hold a letter for each node and edge of the film, see the
	// State constants.
	Nodes string
	Edges string
	// Values are those cells whose text differs from the frame before; in the
	// first frame, all that have one.
	Values []CellText
	// Marks are the cells that are brought out: StateChanged or StateBroken.
	Marks []CellText
}

// CellText is a cell of the film with its text or mark.
type CellText struct {
	Cell int
	Text string
}

// States of nodes, edges and cells in a frame.
const (
	StateHidden  = "."
	StatePlain   = "p"
	StateNew     = "n" // born, or made, by the frame's operation
	StateBroken  = "b"
	StateGhost   = "g" // freed, or no longer there
	StateRepair  = "r" // an edge that should be there
	StateChanged = "c" // a cell
)

// Shot asks for a frame.
type Shot struct {
	View   mgpp.View
	Before mgpp.View // the graph before the frame's operation; nil: it shows none
	// Lo and Hi are the bytes that the operation wrote.
	Lo, Hi trace.Addr
	// Anew: more than the operation's bytes may differ from the shot before.
	Anew   bool
	Broken []graph.ObjID
	Wrong  []trace.Addr // cells that hold a wrong value
	Repair []Repair
}

// Repair is an edge that would mend something.
type Repair struct {
	Cell trace.Addr
	From graph.ObjID
	To   graph.ObjID // 0: NULL
}

// FilmOptions say what a film shows.
type FilmOptions struct {
	Objects []graph.ObjID
	Main    []graph.ObjID // those that show all their rows
}

// maxRows of a box are shown, and maxElements of an array in it, those that change
// or are marked beside; a box that is merely near shows maxAside.
const (
	maxRows     = 12
	maxElements = 4
	maxAside    = 5
)

// box is an object in all frames.
type box struct {
	obj   graph.ObjID
	title string
	tip   string
	rows  []row
	main  bool

	x, y, w, h float64 // top left corner
}

// row is a field of a box in all frames.
type row struct {
	path string
	cell int
	more int // stands for so many fields that are left out, and has no path
	size int // of its longest value, letters
}

// arrow is an edge in all frames.
type arrow struct {
	from, row, to int // boxes; row in from, -1: of the box
	frames        int // how many it is in
	repair        bool
	aside         bool // no edge of the structure that is specified: a parent pointer
	path          []point
	tip           point
}

type point struct{ x, y float64 }

// NewFilm draws the shots.
func NewFilm(ctx context.Context, g *graph.Graph, shots []Shot, o FilmOptions) (*Film, error) {
	c := &camera{g: g, shots: shots, index: map[graph.ObjID]int{}, arrows: map[arrowKey]int{}, film: &Film{}}
	for _, id := range o.Objects {
		if _, ok := c.index[id]; ok || id == 0 {
			continue
		}
		obj := g.Object(id)
		c.index[id] = len(c.film.boxes)
		c.film.boxes = append(c.film.boxes, box{
			obj: id, title: g.Name(id), main: slices.Contains(o.Main, id),
			tip: fmt.Sprintf("%s at %#x, %d bytes", g.Name(id), uint64(obj.Addr), g.Size(id, shots[len(shots)-1].View.Time())),
		})
	}
	c.expose()
	c.chooseRows()
	c.develop()
	if err := c.film.layout(ctx); err != nil {
		return nil, err
	}
	return c.film, nil
}

// camera takes the shots of a film.
type camera struct {
	g      *graph.Graph
	shots  []Shot
	film   *Film
	index  map[graph.ObjID]int
	seen   [][]exposure // by shot and box; shared where nothing changed
	arrows map[arrowKey]int
}

type arrowKey struct {
	from   int
	path   string
	to     int
	repair bool
}

// exposure is an object in one shot: its fields, or none if it does not live.
type exposure struct {
	alive  bool
	fields []describe.Field
}

// expose reads what the objects hold in each shot.
func (c *camera) expose() {
	for i := range c.shots {
		s := &c.shots[i]
		seen := make([]exposure, len(c.film.boxes))
		for b := range seen {
			if i > 0 && !s.Anew && !c.mayDiffer(s, b, c.seen[i-1][b].alive) {
				seen[b] = c.seen[i-1][b]
				continue
			}
			id := c.film.boxes[b].obj
			if c.g.Alive(id, s.View.Time()) {
				seen[b] = exposure{true, describe.Fields(c.g, s.View, id)}
			}
		}
		c.seen = append(c.seen, seen)
	}
}

// mayDiffer: the operation of a shot may have changed the box.
func (c *camera) mayDiffer(s *Shot, b int, was bool) bool {
	obj := c.g.Object(c.film.boxes[b].obj)
	is := c.g.Alive(obj.ID, s.View.Time())
	return is != was || is && s.Lo < obj.Addr+trace.Addr(c.g.Size(obj.ID, s.View.Time())) && s.Hi > obj.Addr
}

// covers reports whether a field holds one of the addresses.
func covers(f *describe.Field, addrs []trace.Addr) bool {
	return slices.ContainsFunc(addrs, func(a trace.Addr) bool { return a >= f.Addr && a < f.Addr+trace.Addr(max(f.Size, 1)) })
}

// written: the shot's operation wrote into the field.
func (s *Shot) written(f *describe.Field) bool {
	return s.Before != nil && s.Lo < f.Addr+trace.Addr(f.Size) && s.Hi > f.Addr
}

// chooseRows decides which fields of each box are shown.
func (c *camera) chooseRows() {
	for b := range c.film.boxes {
		bx := &c.film.boxes[b]
		must := map[string]bool{} // rows that change, are marked, or lead to a drawn box
		var order []string
		texts := map[string]string{}
		for i := range c.shots {
			at := 0
			for k := range c.seen[i][b].fields {
				f := &c.seen[i][b].fields[k]
				text, known := texts[f.Path]
				if !known {
					order = slices.Insert(order, min(at, len(order)), f.Path)
					texts[f.Path] = f.Text
				}
				at++
				if known && text != f.Text || covers(f, c.shots[i].Wrong) || c.shots[i].written(f) {
					must[f.Path] = true
				}
				if _, drawn := c.index[f.Target]; drawn {
					must[f.Path] = true
				}
			}
		}
		c.rows(bx, order, must)
	}
}

func (c *camera) rows(bx *box, order []string, must map[string]bool) {
	limit := maxRows
	if !bx.main {
		limit = maxAside
	}
	room := limit - len(must)
	left := 0
	elements := map[string]int{}
	for _, path := range order {
		if !must[path] {
			array, _, _ := strings.Cut(path, "[")
			elements[array]++
			if room <= 0 || elements[array] > maxElements {
				left++
				continue
			}
			room--
		}
		bx.rows = append(bx.rows, row{path: path, cell: c.cell()})
	}
	if left > 0 {
		bx.rows = append(bx.rows, row{cell: c.cell(), more: left})
	}
}

func (c *camera) cell() int {
	c.film.cells++
	return c.film.cells - 1
}

// develop makes the frames.
func (c *camera) develop() {
	text := make([]string, c.film.cells)
	states := make([][]byte, len(c.shots)) // of edges; the film's edges grow meanwhile
	for i := range c.shots {
		f := Frame{Nodes: c.nodes(i)}
		for b := range c.film.boxes {
			states[i] = c.box(i, b, &f, text, states[i])
		}
		states[i] = c.repairs(i, states[i])
		c.film.Frames = append(c.film.Frames, f)
	}
	for i := range states {
		states[i] = grow(states[i], len(c.film.arrows))
		c.film.Frames[i].Edges = string(states[i])
		for e, s := range states[i] {
			if s != StateHidden[0] {
				c.film.arrows[e].frames++
			}
		}
	}
}

func grow(s []byte, n int) []byte {
	for len(s) < n {
		s = append(s, StateHidden[0])
	}
	return s
}

// nodes tells how the boxes look in a frame.
func (c *camera) nodes(i int) string {
	s := &c.shots[i]
	out := make([]byte, len(c.film.boxes))
	for b := range out {
		id := c.film.boxes[b].obj
		obj := c.g.Object(id)
		now := s.View.Time()
		switch {
		case !c.seen[i][b].alive && (obj.Death != 0 && obj.Death == now || obj.Birth <= now && c.missed(i, obj)):
			out[b] = StateGhost[0]
		case !c.seen[i][b].alive:
			out[b] = StateHidden[0]
		case slices.Contains(s.Broken, id):
			out[b] = StateBroken[0]
		case s.Before != nil && obj.Birth == now && now != 0:
			out[b] = StateNew[0]
		default:
			out[b] = StatePlain[0]
		}
	}
	return string(out)
}

// missed: an object is dead, and a pointer that is drawn still leads to it.
func (c *camera) missed(i int, dead *graph.Object) bool {
	for b := range c.seen[i] {
		for k := range c.seen[i][b].fields {
			if f := &c.seen[i][b].fields[k]; f.State == mgpp.Dangling && f.Pointer && c.formerTarget(i, f) == dead.ID {
				return true
			}
		}
	}
	return false
}

// formerTarget is the object that a dangling pointer led to.
func (c *camera) formerTarget(i int, f *describe.Field) graph.ObjID {
	t := c.shots[i].View.Target(f.Addr, f.Coded)
	if t.State != mgpp.Dangling {
		return 0
	}
	return c.g.FormerAt(t.Node, t.Value)
}

// box puts what a box holds in a frame into it.
func (c *camera) box(i, b int, f *Frame, text []string, states []byte) []byte {
	bx, s := &c.film.boxes[b], &c.shots[i]
	for r := range bx.rows {
		rw := &bx.rows[r]
		k := slices.IndexFunc(c.seen[i][b].fields, func(f describe.Field) bool { return f.Path == rw.path })
		if k < 0 {
			continue
		}
		fd := &c.seen[i][b].fields[k]
		value := fd.Text
		if _, drawn := c.index[fd.Target]; fd.Target != 0 && !drawn {
			value += " ↗"
		}
		rw.size = max(rw.size, len([]rune(value)))
		if i == 0 || text[rw.cell] != value {
			text[rw.cell] = value
			f.Values = append(f.Values, CellText{rw.cell, value})
		}
		changed := s.written(fd)
		state := StatePlain
		switch {
		case changed:
			f.Marks = append(f.Marks, CellText{rw.cell, StateChanged})
			state = StateNew
		case covers(fd, s.Wrong):
			f.Marks = append(f.Marks, CellText{rw.cell, StateBroken})
			state = StateBroken
		}
		to := fd.Target
		if to == 0 && fd.Pointer && fd.State == mgpp.Dangling {
			to, state = c.formerTarget(i, fd), StateBroken
		}
		n := len(c.film.arrows)
		states = c.arrow(states, b, r, to, state)
		if changed {
			states = c.removed(i, b, r, fd, to, states)
		}
		for ; n < len(c.film.arrows); n++ {
			c.film.arrows[n].aside = c.g.Object(bx.obj).Type != nil && counted(c.g, bx.obj, fd.Addr) == nil
		}
	}
	return states
}

// removed draws the edge that the frame's operation overwrote.
func (c *camera) removed(i, b, r int, f *describe.Field, now graph.ObjID, states []byte) []byte {
	was, ok := describe.FieldAt(c.g, c.shots[i].Before, c.film.boxes[b].obj, f.Addr)
	if !ok || was.Target == now || !c.g.Alive(c.film.boxes[b].obj, c.shots[i].Before.Time()) {
		return states
	}
	return c.arrow(states, b, r, was.Target, StateGhost)
}

func (c *camera) repairs(i int, states []byte) []byte {
	for _, rp := range c.shots[i].Repair {
		b, ok := c.index[rp.From]
		if !ok {
			continue
		}
		k := slices.IndexFunc(c.seen[i][b].fields, func(f describe.Field) bool { return covers(&f, []trace.Addr{rp.Cell}) })
		if k < 0 {
			continue
		}
		path := c.seen[i][b].fields[k].Path
		if r := slices.IndexFunc(c.film.boxes[b].rows, func(r row) bool { return r.path == path }); r >= 0 {
			states = c.arrow(states, b, r, rp.To, StateRepair)
		}
	}
	return states
}

// arrow shows an edge in a frame, if what it leads to is drawn.
func (c *camera) arrow(states []byte, from, r int, to graph.ObjID, state string) []byte {
	t, ok := c.index[to]
	if !ok {
		return states
	}
	k := arrowKey{from, c.film.boxes[from].rows[r].path, t, state == StateRepair}
	e, ok := c.arrows[k]
	if !ok {
		e = len(c.film.arrows)
		c.arrows[k] = e
		c.film.arrows = append(c.film.arrows, arrow{from: from, row: r, to: t, repair: k.repair})
	}
	states = grow(states, e+1)
	if states[e] == StateHidden[0] || state != StateGhost {
		states[e] = state[0]
	}
	return states
}

// chain reports whether the film's graph is a chain, or nearly: a list is read
// from left to right. A box forks if it has more than two neighbours, or leads to
// two that do not lead back.
func (f *Film) chain() bool {
	type pair struct{ from, to int }
	leads := map[pair]bool{}
	neighbours, out := make([]int, len(f.boxes)), make([]int, len(f.boxes))
	for e, a := range f.arrows {
		if a.from != a.to && f.ends(e) {
			leads[pair{a.from, a.to}] = true
		}
	}
	for p := range leads {
		neighbours[p.from]++
		if !leads[pair{p.to, p.from}] {
			neighbours[p.to]++
			out[p.from]++
		}
	}
	forks := 0
	for b := range f.boxes {
		if neighbours[b] > 2 || out[b] > 1 {
			forks++
		}
	}
	return len(f.boxes) > 1 && forks*6 <= len(f.boxes)
}

// sorted lists the arrows in the order of their boxes and rows, so that Graphviz
// puts what the first field leads to first; those of the last frame before those
// that are gone by then.
func (f *Film) sorted() []int {
	out := make([]int, len(f.arrows))
	for i := range out {
		out[i] = i
	}
	last := f.Frames[len(f.Frames)-1].Edges
	gone := func(e int) int {
		if last[e:e+1] == StateHidden {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b int) int {
		x, y := &f.arrows[a], &f.arrows[b]
		return cmp.Or(x.from-y.from, gone(a)-gone(b), x.row-y.row, y.frames-x.frames)
	})
	return out
}
