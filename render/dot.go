package render

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
)

// maxText is how many characters of a text are drawn.
const maxText = 120

// Sizes of letters, points.
const (
	titleSize = 14
	nodeSize  = 11.5
	edgeSize  = 10.5
)

// look is how a mark is drawn. Colours are told apart by people who do not see
// red and green alike, and by line style in print.
type look struct{ line, fill, text, style, width string }

var looks = [...]look{
	Plain:   {"#444444", "#f4f4f4", "#222222", "solid", "1"},
	Old:     {"#999999", "#fafafa", "#888888", "dashed", "1"},
	Folded:  {"#999999", "#ffffff", "#666666", "dotted", "1"},
	Merged:  {"#6a3d9a", "#f4effa", "#4a2a70", "dashed", "1.5"},
	Changed: {"#0057b7", "#dcebfb", "#00366f", "bold", "2"},
	Broken:  {"#c1121f", "#fde0dd", "#8b0000", "bold", "2.5"},
	Hidden:  {"transparent", "transparent", "transparent", "invis", "0"},
}

// DOT writes the drawing in Graphviz's language.
func DOT(w io.Writer, g *Graph) error {
	_, err := w.Write(dot(g))
	return err
}

func dot(g *Graph) []byte {
	var b bytes.Buffer
	b.WriteString("digraph memory {\n")
	fmt.Fprintf(&b, "  graph [rankdir=TB nodesep=0.3 ranksep=0.5 fontname=%s fontsize=%g labelloc=t labeljust=l", font, float64(titleSize))
	if g.ordered {
		b.WriteString(" ordering=out")
	}
	if g.Title != "" {
		fmt.Fprintf(&b, " label=<%s>", title(g))
	}
	fmt.Fprintf(&b, "]\n  node [shape=plain fontname=%s fontsize=%g]\n  edge [fontname=%s fontsize=%g arrowsize=0.7]\n", font, nodeSize, font, edgeSize)
	for i := range g.Nodes {
		node(&b, &g.Nodes[i])
	}
	for i := range g.Boxes {
		around(&b, i, &g.Boxes[i])
	}
	for i := range g.Edges {
		edge(&b, &g.Edges[i])
	}
	b.WriteString("}\n")
	return b.Bytes()
}

const font = `"Helvetica,Arial,sans-serif"`

func title(g *Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<b>%s</b><br align="left"/>`, escape(g.Title))
	for _, n := range g.Notes {
		fmt.Fprintf(&b, `%s<br align="left"/>`, escape(n))
	}
	if g.widths.title == 0 {
		return b.String()
	}
	return fmt.Sprintf(`<table border="0" cellspacing="0" cellpadding="0"><tr><td align="left" balign="left"%s>%s</td></tr></table>`, atLeast(g.widths.title), b.String())
}

// atLeast is the attribute of a cell that has a least width.
func atLeast(points int) string {
	if points == 0 {
		return ""
	}
	return fmt.Sprintf(` width="%d"`, points)
}

func node(b *bytes.Buffer, n *Node) {
	l := looks[n.Mark]
	if n.Mark == Hidden {
		// As large as it is in the other frames, so that nothing moves.
		fmt.Fprintf(b, "  %s [style=invis label=<%s>]\n", quote(n.ID), table(n, l))
		return
	}
	fmt.Fprintf(b, "  %s [tooltip=%s label=<%s>]\n", quote(n.ID), quote(n.Tip), table(n, l))
}

// around draws a box around nodes: Graphviz's clusters.
func around(b *bytes.Buffer, i int, x *Box) {
	l := looks[Merged]
	fmt.Fprintf(b, "  subgraph cluster_%d {\n    graph [label=%s labelloc=t labeljust=l fontsize=%g color=%s fontcolor=%s style=%s]\n   ", i, quote(x.Title), nodeSize, quote(l.line), quote(l.text), l.style)
	for _, id := range x.Nodes {
		fmt.Fprintf(b, " %s", quote(id))
	}
	b.WriteString("\n  }\n")
}

// table is a node's box: its title above a row for each field.
func table(n *Node, l look) string {
	var b strings.Builder
	style := ""
	if l.style == "dashed" || l.style == "dotted" {
		style = fmt.Sprintf(` style="%s"`, l.style)
	}
	border := "1"
	if n.Mark == Broken || n.Mark == Changed {
		border = "2"
	}
	fmt.Fprintf(&b, `<table border="%s" cellborder="0" cellspacing="0" cellpadding="3" color="%s" bgcolor="white"%s>`, border, l.line, style)
	fmt.Fprintf(&b, `<tr><td colspan="2"%s bgcolor="%s"><font color="%s"><b>%s</b></font></td></tr>`, atLeast(n.widths.title), l.fill, l.text, escape(n.Title))
	for _, f := range n.Fields {
		fl := looks[f.Mark]
		bg, port := "", ""
		if f.Mark == Broken || f.Mark == Changed {
			bg = fmt.Sprintf(` bgcolor="%s"`, fl.fill)
		}
		if f.Port != "" {
			port = fmt.Sprintf(` port="%s"`, escape(f.Port))
		}
		fmt.Fprintf(&b, `<tr><td align="left"%s%s><font color="#666666">%s</font></td><td align="left"%s%s%s><font color="%s">%s</font></td></tr>`,
			bg, atLeast(n.widths.name), escape(f.Name), port, bg, atLeast(n.widths.value), fl.text, escape(f.Value))
	}
	b.WriteString("</table>")
	if n.widths != (widths{}) && border == "1" {
		// As large as with the border of a mark.
		return `<table border="0" cellspacing="0" cellpadding="1"><tr><td>` + b.String() + `</td></tr></table>`
	}
	return b.String()
}

func edge(b *bytes.Buffer, e *Edge) {
	l := looks[e.Mark]
	from := quote(e.From)
	if e.Port != "" {
		from += ":" + quote(e.Port)
	}
	fmt.Fprintf(b, "  %s -> %s [color=%s fontcolor=%s style=%s penwidth=%s", from, quote(e.To), quote(l.line), quote(l.text), l.style, l.width)
	if e.Label != "" {
		fmt.Fprintf(b, " label=%s", quote(e.Label))
	}
	b.WriteString("]\n")
}

// quote makes a DOT string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(clean(s)) + `"`
}

// escape makes text of a DOT HTML label; empty cells would collapse.
func escape(s string) string {
	if s = shorten(clean(s)); s == "" {
		return " "
	}
	return html.EscapeString(s)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText-1]) + "…"
	}
	return s
}

// clean drops what neither DOT nor XML can carry, and what would show text in another order.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) || r == 0xfffd || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, s)
}
