package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mgtrace/render/graphviz"
)

// Sizes of a film's boxes, points. Letters are of a fixed width: browsers' fonts
// of that kind differ by less than the margin.
const (
	filmTitle   = 22.0 // height of a box's title
	filmRow     = 16.0 // height of a row
	filmLetter  = 6.75 // width of a letter of a row
	filmHeading = 7.4  // width of a letter of a title
	filmPad     = 8.0
	filmMargin  = 14.0
	maxName     = 18 // letters of a field's name that are shown
	maxValue    = 26 // and of its value
)

// nameWidth and width are those of the columns of a box.
func (b *box) nameWidth() float64 {
	n := 0
	for _, r := range b.rows {
		n = max(n, min(len([]rune(r.path)), maxName))
	}
	return float64(n) * filmLetter
}

func (b *box) measure() {
	values := 0
	for _, r := range b.rows {
		values = max(values, min(r.size, maxValue))
		if r.more > 0 {
			values = max(values, len(moreFields(r.more))-int(b.nameWidth()/filmLetter))
		}
	}
	b.w = max(float64(len([]rune(b.title)))*filmHeading+2*filmPad, b.nameWidth()+float64(values)*filmLetter+3*filmPad)
	b.h = filmTitle + float64(len(b.rows))*filmRow
	if len(b.rows) > 0 {
		b.h += filmPad / 2
	}
}

func moreFields(n int) string {
	if n == 1 {
		return "… 1 more field"
	}
	return fmt.Sprintf("… %d more fields", n)
}

// layout has Graphviz place the boxes and route the arrows.
func (f *Film) layout(ctx context.Context) error {
	for i := range f.boxes {
		f.boxes[i].measure()
	}
	chain := f.chain()
	sides := make([]string, len(f.arrows))
	for i := range sides {
		if chain {
			sides[i] = ":e"
		}
	}
	if err := f.graphviz(ctx, chain, sides); err != nil || !chain {
		return err
	}
	// Now that it is known what lies where: arrows that lead back leave a box on
	// its left.
	for i := range f.arrows {
		if a := &f.arrows[i]; f.boxes[a.to].x < f.boxes[a.from].x {
			sides[i] = ":w"
		}
	}
	return f.graphviz(ctx, chain, sides)
}

func (f *Film) graphviz(ctx context.Context, chain bool, sides []string) error {
	layout, err := graphviz.Draw(ctx, f.dot(chain, sides), graphviz.JSON)
	if err != nil {
		return fmt.Errorf("lay out a film: %w", err)
	}
	return f.place(layout)
}

// dot is the film in Graphviz's language: boxes of their sizes with a port for
// each row. Sides says, by arrow, on which side of its row it begins.
func (f *Film) dot(chain bool, sides []string) []byte {
	var b bytes.Buffer
	direction := "TB"
	if chain {
		direction = "LR"
	}
	fmt.Fprintf(&b, "digraph film {\n  graph [rankdir=%s nodesep=0.3 ranksep=0.45 ordering=out]\n  node [shape=plain margin=0]\n", direction)
	for i := range f.boxes {
		x := &f.boxes[i]
		fmt.Fprintf(&b, `  n%d [label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr><td fixedsize="true" width="%.0f" height="%.0f" port="t"></td></tr>`, i, x.w, filmTitle)
		for r := range x.rows {
			fmt.Fprintf(&b, `<tr><td fixedsize="true" width="%.0f" height="%.0f" port="r%d"></td></tr>`, x.w, filmRow, r)
		}
		if len(x.rows) > 0 {
			fmt.Fprintf(&b, `<tr><td fixedsize="true" width="%.0f" height="%.0f"></td></tr>`, x.w, filmPad/2)
		}
		b.WriteString("</table>>]\n")
	}
	shapes := f.shaping()
	for _, e := range f.sorted() {
		a := &f.arrows[e]
		weight, constraint := 1+8*a.frames/len(f.Frames), true
		if !shapes(e) {
			weight, constraint = 0, false
		}
		fmt.Fprintf(&b, "  n%d:r%d%s -> n%d [id=e%d weight=%d constraint=%v]\n", a.from, a.row, sides[e], a.to, e, weight, constraint)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// ends: an arrow is one of the structure's own in the first or the last frame.
func (f *Film) ends(e int) bool {
	a := &f.arrows[e]
	for _, fr := range []*Frame{&f.Frames[0], &f.Frames[len(f.Frames)-1]} {
		if s := fr.Edges[e : e+1]; !a.repair && !a.aside && s != StateHidden && s != StateGhost {
			return true
		}
	}
	return false
}

// shaping tells which arrows say what is above what: those of the first and the
// last frame, and those without which a box would hang nowhere. What is there for
// a moment only, or is not there, does not.
func (f *Film) shaping() func(e int) bool {
	hangs := make([]bool, len(f.boxes))
	for e := range f.arrows {
		if f.ends(e) {
			hangs[f.arrows[e].to], hangs[f.arrows[e].from] = true, true
		}
	}
	return func(e int) bool {
		a := &f.arrows[e]
		return f.ends(e) || !a.repair && (!hangs[a.to] || !hangs[a.from])
	}
}

// place takes over the layout, in Graphviz's JSON: the origin is at the lower left.
func (f *Film) place(data []byte) error {
	var g struct {
		Box     string `json:"bb"`
		Objects []struct {
			Name string `json:"name"`
			Pos  string `json:"pos"`
		} `json:"objects"`
		Edges []struct {
			ID  string `json:"id"`
			Pos string `json:"pos"`
		} `json:"edges"`
	}
	if err := json.Unmarshal(data, &g); err != nil {
		return fmt.Errorf("read a layout: %w", err)
	}
	corners, err := numbers(g.Box)
	if err != nil || len(corners) != 4 {
		return fmt.Errorf("read a layout: the bounding box is %q", g.Box)
	}
	height := corners[3]
	f.Width, f.Height = corners[2]+2*filmMargin, height+2*filmMargin
	at := func(x, y float64) point { return point{round(x + filmMargin), round(height - y + filmMargin)} }
	for _, o := range g.Objects {
		i, err := strconv.Atoi(strings.TrimPrefix(o.Name, "n"))
		xy, bad := numbers(o.Pos)
		if err != nil || bad != nil || len(xy) != 2 || i < 0 || i >= len(f.boxes) {
			return fmt.Errorf("read a layout: %s lies at %q", o.Name, o.Pos)
		}
		b := &f.boxes[i]
		p := at(xy[0], xy[1])
		b.x, b.y = round(p.x-b.w/2), round(p.y-b.h/2)
	}
	for _, e := range g.Edges {
		i, err := strconv.Atoi(strings.TrimPrefix(e.ID, "e"))
		if err != nil || i < 0 || i >= len(f.arrows) {
			return fmt.Errorf("read a layout: there is no edge %q", e.ID)
		}
		if err := f.arrows[i].route(e.Pos, at); err != nil {
			return err
		}
	}
	return nil
}

// route reads a spline: "e,x,y x,y x,y …", the tip first. (Graphviz, "splineType";
// where an edge was laid out backwards the tip is its start, "s,x,y".)
func (a *arrow) route(pos string, at func(x, y float64) point) error {
	a.path = a.path[:0]
	backwards := false
	for part := range strings.FieldsSeq(pos) {
		rest, end := strings.CutPrefix(part, "e,")
		if !end {
			rest, end = strings.CutPrefix(part, "s,")
			backwards = backwards || end
		}
		xy, err := numbers(rest)
		if err != nil || len(xy) != 2 {
			return fmt.Errorf("read a layout: an edge runs through %q", part)
		}
		if end {
			a.tip = at(xy[0], xy[1])
		} else {
			a.path = append(a.path, at(xy[0], xy[1]))
		}
	}
	if len(a.path) == 0 || len(a.path)%3 != 1 {
		return fmt.Errorf("read a layout: an edge runs %q", pos)
	}
	if backwards {
		slices.Reverse(a.path)
	}
	return nil
}

func numbers(s string) ([]float64, error) {
	var out []float64
	for part := range strings.SplitSeq(s, ",") {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func round(x float64) float64 { return math.Round(10*x) / 10 }
