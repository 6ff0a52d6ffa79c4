package analysis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/render"
	"mgtrace/report"
	"mgtrace/trace"
)

// maxPictured is how many suspects of a C-point are drawn.
const maxPictured = 5

// draw writes the pictures of a C-point: the inconsistent sub-graph there, and
// for each suspect the graph before and after its operation.
func (a *Analysis) draw(ctx context.Context, n int, c *report.CPoint, p *point, suspects []faultloc.Suspect) error {
	dir := a.o.Pictures
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("write pictures: %w", err)
	}
	prefix := ""
	if a.o.All {
		prefix = fmt.Sprintf("%d-", n+1)
	}
	broken := objects(p.found)
	file := filepath.Join(dir, prefix+"cpoint.svg")
	g := render.Snapshot(a.Graph, a.Hist.At(p.time), render.Options{
		Title: c.Title(), Notes: reasons(c), Around: broken, Broken: broken, Wrong: a.wrong(p),
	})
	if err := WritePicture(ctx, file, false, g); err != nil {
		return err
	}
	c.Pictures = append(c.Pictures, file)
	for i := range suspects[:min(len(suspects), maxPictured)] {
		s := &suspects[i]
		if s.Kind != faultloc.Wrote || s.Operation == 0 {
			continue
		}
		r := &c.Suspects[i]
		r.Before = filepath.Join(dir, fmt.Sprintf("%ssuspect-%d-before.svg", prefix, i+1))
		r.After = filepath.Join(dir, fmt.Sprintf("%ssuspect-%d-after.svg", prefix, i+1))
		if err := a.drawSuspect(ctx, r, s.Operation, broken); err != nil {
			return err
		}
		c.Pictures = append(c.Pictures, r.Before, r.After)
	}
	return nil
}

func (a *Analysis) drawSuspect(ctx context.Context, r *report.Suspect, t mgpp.Timestamp, broken []graph.ObjID) error {
	op := a.Hist.Op(t)
	around := append(a.Graph.At(a.Hist.At(t), op.Addr), broken...)
	options := func(when string) render.Options {
		return render.Options{
			Title:  fmt.Sprintf("%s %s:%d  %s", when, r.File, r.Line, r.Source),
			Notes:  []string{r.Change, r.When},
			Around: around, Changed: Changed(op), Broken: broken,
		}
	}
	before, after := render.Pair(a.Graph, a.Hist.At(t-1), a.Hist.At(t), options("before"), options("after"))
	if err := WritePicture(ctx, r.Before, false, before); err != nil {
		return err
	}
	return WritePicture(ctx, r.After, false, after)
}

// WritePicture writes a graph to a file, as SVG, or as DOT.
func WritePicture(ctx context.Context, path string, dot bool, g *render.Graph) error {
	b, err := Picture(ctx, dot, g)
	if err != nil {
		return err
	}
	return ShowPicture(nil, path, b)
}

// ShowPicture writes a picture to a file, or to w if the path is "" or "-".
func ShowPicture(w io.Writer, path string, picture []byte) error {
	if path == "" || path == "-" {
		_, err := w.Write(picture)
		return err
	}
	if err := os.WriteFile(path, picture, 0o666); err != nil {
		return fmt.Errorf("write a picture: %w", err)
	}
	return nil
}

// Picture is a graph as SVG, or as DOT.
func Picture(ctx context.Context, dot bool, g *render.Graph) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if dot {
		err = render.DOT(&b, g)
	} else {
		err = render.SVG(ctx, &b, g)
	}
	return b.Bytes(), err
}

// Changed lists the addresses that an operation wrote, one for each word, of a
// large write the first ones.
func Changed(op mgpp.Op) []trace.Addr {
	var out []trace.Addr
	for a := op.Addr; a < op.Addr+trace.Addr(op.Size) && len(out) < 512; a++ {
		out = append(out, a)
	}
	return out
}

// wrong lists the fields that all inconsistencies of a point read and that are
// no good: dangling and wild pointers are marked by the picture itself.
func (a *Analysis) wrong(p *point) []trace.Addr {
	var out []trace.Addr
	for _, s := range p.suspects {
		if s.Repair != nil {
			out = append(out, s.Repair.Cell.Addr)
		}
	}
	return out
}

// objects lists the nodes of inconsistencies, each once, a few of each.
func objects(found []eval.Inconsistency) []graph.ObjID {
	var out []graph.ObjID
	seen := map[graph.ObjID]bool{}
	add := func(o graph.ObjID) {
		if o != 0 && !seen[o] && len(out) < 24 {
			seen[o] = true
			out = append(out, o)
		}
	}
	for _, inc := range found {
		for _, o := range inc.Instance.Nodes {
			add(o)
		}
		add(inc.Instance.SCC)
	}
	return out
}

func reasons(c *report.CPoint) []string {
	var out []string
	for i, inc := range c.Inconsistencies {
		if i == 3 {
			out = append(out, fmt.Sprintf("… and %d more", len(c.Inconsistencies)-i))
			break
		}
		out = append(out, inc.Constraint+": "+inc.Reason)
	}
	return out
}
