package render

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/goccy/go-graphviz"
)

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
	_, err = w.Write(out.Bytes())
	return err
}
