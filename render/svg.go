package render

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"

	"mgtrace/render/graphviz"
)

// SVG writes the drawing as a self-contained SVG document.
func SVG(ctx context.Context, w io.Writer, g *Graph) error {
	svg, err := graphviz.Draw(ctx, dot(g), graphviz.SVG)
	if err != nil {
		return fmt.Errorf("draw %q: %w", g.Title, err)
	}
	_, err = w.Write(shrinkText(svg))
	return err
}

// LayOut draws a graph in Graphviz's language as a self-contained SVG document.
func LayOut(ctx context.Context, dot []byte) ([]byte, error) {
	svg, err := graphviz.Draw(ctx, dot, graphviz.SVG)
	if err != nil {
		return nil, fmt.Errorf("draw a graph: %w", err)
	}
	return shrinkText(svg), nil
}

// fontSize matches a text size in Graphviz's output.
var fontSize = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`font-size="([0-9.]+)"`) })

// shrinkText draws text a little smaller than it was laid out: the sizes of
// letters are those of Helvetica, and the reader's font may be wider (DejaVu
// Sans, which Debian falls back to, by an eighth).
func shrinkText(svg []byte) []byte {
	return fontSize().ReplaceAllFunc(svg, func(m []byte) []byte {
		size, err := strconv.ParseFloat(string(fontSize().FindSubmatch(m)[1]), 64)
		if err != nil {
			return m
		}
		return fmt.Appendf(nil, `font-size="%.2f"`, size*0.86)
	})
}
