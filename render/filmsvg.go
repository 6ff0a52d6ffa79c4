package render

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strings"
)

// All is the frame of SVG that holds everything, hidden or not.
const All = -1

// SVG returns a film's frame as an svg element for a page, whose style says how
// its classes look: box, edge, cell, and the states as "is-b", "is-c". With All,
// elements are told by their ids, n0, e0, c0, after prefix, and show nothing yet.
func (f *Film) SVG(frame int, prefix, label string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="film" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-label="%s">`, f.Width, f.Height, f.Width, f.Height, html.EscapeString(label))
	p := painter{f: f, b: &b, prefix: prefix, frame: frame}
	if frame != All {
		p.values()
	}
	for i := range f.boxes {
		p.box(i)
	}
	for i := range f.arrows {
		p.arrow(i)
	}
	b.WriteString("</svg>")
	return b.String()
}

type painter struct {
	f      *Film
	b      *bytes.Buffer
	prefix string
	frame  int // All: everything, with ids
	text   []string
	marks  map[int]string
}

// values finds what the cells hold in the frame.
func (p *painter) values() {
	p.text = make([]string, p.f.cells)
	for i := range p.frame + 1 {
		for _, v := range p.f.Frames[i].Values {
			p.text[v.Cell] = v.Text
		}
	}
	p.marks = map[int]string{}
	for _, m := range p.f.Frames[p.frame].Marks {
		p.marks[m.Cell] = m.Text
	}
}

// attributes are the class of an element, with its id in the picture of all;
// shown tells whether it is in this one.
func (p *painter) attributes(kind, letter string, i int, states func(*Frame) string) (s string, shown bool) {
	if p.frame == All {
		return fmt.Sprintf(`class="%s" id="%s%s%d"`, kind, html.EscapeString(p.prefix), letter, i), true
	}
	state := states(&p.f.Frames[p.frame])[i : i+1]
	return fmt.Sprintf(`class="%s is-%s"`, kind, class(state)), state != StateHidden
}

// class is a state in the name of a class.
func class(state string) string {
	if state == StateHidden {
		return "off"
	}
	return state
}

func (p *painter) box(i int) {
	x := &p.f.boxes[i]
	attrs, shown := p.attributes("box", "n", i, func(f *Frame) string { return f.Nodes })
	if !shown {
		return
	}
	fmt.Fprintf(p.b, `<g %s><title>%s</title><rect class="frame" x="%g" y="%g" width="%g" height="%g" rx="4"/>`, attrs, markup(x.tip), x.x, x.y, round(x.w), round(x.h))
	fmt.Fprintf(p.b, `<path class="head" d="%s"/>`, headPath(x))
	fmt.Fprintf(p.b, `<text class="name" x="%g" y="%g">%s</text>`, round(x.x+filmPad), round(x.y+filmTitle-7), markup(x.title))
	value := x.x + filmPad + x.nameWidth() + filmPad
	for r := range x.rows {
		p.row(x, r, value)
	}
	p.b.WriteString("</g>")
}

// headPath is the title's background: round above, straight below, unless there
// is nothing below.
func headPath(x *box) string {
	const r = 4.0
	if len(x.rows) == 0 {
		return fmt.Sprintf("M%g %gh%ga%g %g 0 0 1 %g %gv%ga%g %g 0 0 1 -%g %gh-%ga%g %g 0 0 1 -%g -%gv-%ga%g %g 0 0 1 %g -%gz",
			x.x+r, x.y, x.w-2*r, r, r, r, r, filmTitle-2*r, r, r, r, r, x.w-2*r, r, r, r, r, filmTitle-2*r, r, r, r, r)
	}
	return fmt.Sprintf("M%g %gh%ga%g %g 0 0 1 %g %gv%gh-%gv-%ga%g %g 0 0 1 %g -%gz",
		x.x+r, x.y, x.w-2*r, r, r, r, r, filmTitle-r, x.w, filmTitle-r, r, r, r, r)
}

func (p *painter) row(x *box, r int, value float64) {
	rw := &x.rows[r]
	top := x.y + filmTitle + float64(r)*filmRow
	base := round(top + 12)
	if rw.more > 0 {
		fmt.Fprintf(p.b, `<text class="more" x="%g" y="%g">%s</text>`, round(x.x+filmPad), base, moreFields(rw.more))
		return
	}
	attrs := fmt.Sprintf(`class="cell" id="%sc%d"`, html.EscapeString(p.prefix), rw.cell)
	text := ""
	if p.frame != All {
		attrs, text = `class="cell"`, p.text[rw.cell]
		if m := p.marks[rw.cell]; m != "" {
			attrs = fmt.Sprintf(`class="cell is-%s"`, m)
		}
	}
	fmt.Fprintf(p.b, `<g %s><title>%s</title><rect class="under" x="%g" y="%g" width="%g" height="%g"/>`, attrs, markup(tip(rw.path, text)), round(x.x+1), round(top), round(x.w-2), filmRow)
	fmt.Fprintf(p.b, `<text class="key" x="%g" y="%g">%s</text><text class="value" x="%g" y="%g">%s</text></g>`,
		round(x.x+filmPad), base, markup(cutName(rw.path)), round(value), base, markup(cut(text, maxValue)))
}

func tip(path, text string) string {
	if text == "" {
		return path
	}
	return path + " = " + text
}

// MaxValue is how many letters of a value a cell has room for.
const MaxValue = maxValue

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func (p *painter) arrow(i int) {
	a := &p.f.arrows[i]
	kind := "edge"
	if a.aside {
		kind = "edge aside"
	}
	attrs, shown := p.attributes(kind, "e", i, func(f *Frame) string { return f.Edges })
	if !shown || len(a.path) == 0 {
		return
	}
	last := a.path[len(a.path)-1]
	fmt.Fprintf(p.b, `<g %s><path class="line" d="M%g %g`, attrs, a.path[0].x, a.path[0].y)
	for k := 1; k < len(a.path); k += 3 {
		fmt.Fprintf(p.b, "C%g %g %g %g %g %g", a.path[k].x, a.path[k].y, a.path[k+1].x, a.path[k+1].y, a.path[k+2].x, a.path[k+2].y)
	}
	fmt.Fprintf(p.b, `"/><path class="tip" d="%s"/></g>`, head(last, a.tip))
}

// cutName keeps the end of a long path, which tells fields apart.
func cutName(path string) string {
	if r := []rune(path); len(r) > maxName {
		return "…" + string(r[len(r)-maxName+1:])
	}
	return path
}

// head is the triangle of an arrow that ends at tip, coming from the end of its line.
func head(from, tip point) string {
	const length, half = 8, 3.2
	dx, dy := tip.x-from.x, tip.y-from.y
	d := math.Hypot(dx, dy)
	if d == 0 {
		d, dy = 1, 1
	}
	dx, dy = dx/d, dy/d
	bx, by := tip.x-length*dx, tip.y-length*dy
	return fmt.Sprintf("M%g %gL%g %gL%g %gZ", tip.x, tip.y, round(bx-half*dy), round(by+half*dx), round(bx+half*dy), round(by-half*dx))
}

// markup makes text of an SVG.
func markup(s string) string {
	return html.EscapeString(strings.ReplaceAll(clean(s), "\n", " "))
}
