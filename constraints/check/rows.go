package check

import (
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// rows resolves "embed T in ::x at f;".
func (c *checker) rows() {
	for _, s := range c.file.Stmts {
		if e, ok := s.(*syntax.Embed); ok && e.Global != nil {
			c.row(e)
		}
	}
}

func (c *checker) row(s *syntax.Embed) {
	t := c.typeOf(s.Type)
	i, ok := c.globals[s.Global.Name]
	if t == nil || !ok {
		return
	}
	src, at := syntax.ExprString(s.Global), c.spec.Globals[i].Layout
	switch {
	case at == nil:
		return // not bound to a program, or the program does not have it, which has been said
	case t.Layout == nil:
		c.noLayout(t, s.Type.Pos)
		return
	case t.Array || t.Layout.Size <= 0:
		c.errorf(s.Type.Pos, "%s is no structure, and no node of its own in static memory", t.Name)
		return
	}
	r := Row{Type: t, Global: i, Names: []string{src}, Pos: s.Pos}
	at = r.through(at)
	if s.Member.Name != "" {
		src += "." + s.Member.Name
		for step := range strings.SplitSeq(s.Member.Name, ".") {
			p, err := at.Find(step)
			if err != nil {
				c.errorf(s.Member.Pos, "%s", strings.TrimSuffix(err.Error(), "."))
				return
			}
			r.Offset += p.Offset
			r.Names[len(r.Dims)] += "." + step
			at = r.through(p.Type)
		}
	}
	switch {
	case !isNode(t, at):
		c.errorf(s.Pos, "`%s` holds %s, not %s", src, at, t.Name)
	case r.Count() == 0:
		c.errorf(s.Pos, "`%s` has no elements", src)
	default:
		c.spec.Rows = append(c.spec.Rows, r)
		c.spec.Globals[i].Divided = true
	}
}

// through goes into the elements of an array.
func (r *Row) through(t *types.Type) *types.Type {
	for t.Kind == types.Array && t.Elem != nil && t.Elem.Size > 0 {
		r.Dims = append(r.Dims, Dim{Count: max(t.Count, 0), Stride: t.Elem.Size})
		r.Names = append(r.Names, "")
		t = t.Elem
	}
	return t
}
