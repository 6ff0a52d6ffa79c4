package eval

import (
	"fmt"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
)

// maxSources bounds the edges of which Sources tells whence they come.
const maxSources = 4

// Sources says of the in-degrees that an instance's body counts which cells these edges are, in no order: "tree#1.l, tree#3.l".
// A reason does not, since a degree may stay while its edges change.
func (c *Checker) Sources(i Instance, v mgpp.View) (out []Arg) {
	defer c.halted()
	k, e := c.bind(i, v)
	if k == nil {
		return nil
	}
	defer c.spend(e)
	e.eachOperand(k.Body, func(x check.Expr) {
		d, ok := x.(*check.Degree)
		if !ok || !d.In || !e.ready(d, -1) {
			return
		}
		if s := e.sources(d); s != "" {
			out = append(out, Arg{Text: operandText(d), Value: s})
		}
	})
	return out
}

// sources names the cells that an in-degree counts; "": it is 0, or not known.
func (e *env) sources(d *check.Degree) string {
	o, _ := e.object(d.Base, nil)
	if o == 0 || e.g.Object(o).Type == nil {
		return ""
	}
	var names []string
	refs := e.inRefs(o)
	defer e.done()
	for n := range refs {
		r := &refs[n]
		switch {
		case !e.counted(r, e.g.Object(o).Type, d.Fields):
		case len(names) == maxSources:
			return strings.Join(append(names, "…"), ", ")
		default:
			names = append(names, e.g.Name(r.From)+"."+cellName(r.Cell, r.Elem))
		}
	}
	return strings.Join(names, ", ")
}

// cellName is the name of an element of an edge cell: "child[2]".
func cellName(c *check.EdgeCell, k int64) string {
	if c.Count == 1 {
		return c.Name
	}
	return fmt.Sprintf("%s[%d]", c.Name, k)
}
