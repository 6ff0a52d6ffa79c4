package render

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"cachedir.mgtrace"
	"github.com/goccy/go-graphviz"
)

// Graphviz is initialised by now.
func init() { cachedir.Restore() }

// SVG writes the drawing as a self-contained SVG document.
func SVG(ctx context.Context, w io.Writer, g *Graph) error {
	gv, err := graphviz.New(ctx)
	if err != nil {
		return fmt.Errorf("start graphviz: %w", err)
	}
	defer gv.Close()
	parsed, err := graphviz.ParseBytes(dot(g))
	if err != nil {
		return fmt.Errorf("lay out %q: %w", g.Title, err)
	}
	defer parsed.Close()
	var out bytes.Buffer
	if err := gv.Render(ctx, parsed, graphviz.SVG, &out); err != nil {
		return fmt.Errorf("draw %q: %w", g.Title, err)
	}
	_, err = w.Write(shrinkText(out.Bytes()))
	return err
}

// fontSize matches a text size in Graphviz's output.
var fontSize = regexp.MustCompile(`font-size="([0-9.]+)"`)

// shrinkText draws text a little smaller than it was laid out: the sizes of
// letters are those of Helvetica, and the reader's font may be wider (DejaVu
// Sans, which Debian falls back to, by an eighth).
func shrinkText(svg []byte) []byte {
	return fontSize.ReplaceAllFunc(svg, func(m []byte) []byte {
		size, err := strconv.ParseFloat(string(fontSize.FindSubmatch(m)[1]), 64)
		if err != nil {
			return m
		}
		return fmt.Appendf(nil, `font-size="%.2f"`, size*0.86)
	})
}
