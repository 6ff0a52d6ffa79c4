package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Links returns the cells of other objects that lead to o, of those edges that the constraint
// of an instance asks about: of "T ->>(next) X" the fields next. asked: it asks about edges.
func (c *Checker) Links(i Instance, o graph.ObjID, v mgpp.View) (out []trace.Addr, asked bool) {
	defer c.halted()
	c.begin()
	if i.Constraint < 0 || i.Constraint >= len(c.infos) {
		return nil, false
	}
	var lists [][]string
	find := func(x check.Expr) {
		switch x := x.(type) {
		case *check.Degree:
			lists = append(lists, x.Fields)
		case *check.Relation:
			lists = append(lists, x.Fields)
		}
	}
	k := &c.infos[i.Constraint]
	walk(k.Guard, find)
	walk(k.Body, find)
	e := c.env(v)
	refs := e.inRefs(o)
	for j := range refs {
		r := &refs[j]
		if r.From != o && slices.ContainsFunc(lists, func(fields []string) bool { return e.isEdge(r, fields) }) {
			out = append(out, r.Addr)
		}
	}
	e.done()
	return out, len(lists) > 0
}
