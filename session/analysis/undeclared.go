package analysis

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
	"mgtrace/types"
)

// A pointer may lead to what has the right type, and is no node since the specification does not declare
// it: the head of a ring in static memory, an element of an array there, or what lies inside of a block of another type. Or it leads to
// an element that nothing has been written to, which is no node yet. What is there is not recorded, or not looked at. So what depends on
// it is not judged, and a warning says what to declare.
type undeclared struct {
	places []string   // at most maxUndeclared
	labels [][]string // by place: of the constraints
}

// maxUndeclared is how many places are told.
const maxUndeclared = 4

// note says whether an instance is broken for want of a declaration only.
func (a *Analysis) note(inc eval.Inconsistency) bool {
	place := a.undeclaredAt(inc.Through, inc.Block, inc.Raw)
	if place == "" {
		return false
	}
	a.unjudgedAt(place, inc.Instance)
	return true
}

// unjudgedAt notes an instance that is not judged since a pointer leads to a place.
func (a *Analysis) unjudgedAt(place string, inst eval.Instance) {
	u := &a.undeclared
	i := slices.Index(u.places, place)
	if i < 0 && len(u.places) < maxUndeclared {
		i = len(u.places)
		u.places, u.labels = append(u.places, place), append(u.labels, nil)
	}
	if l := a.Checker.Label(inst); i >= 0 && !slices.Contains(u.labels[i], l) {
		u.labels[i] = append(u.labels[i], l)
	}
}

// warnings says what was not judged.
func (u *undeclared) warnings() []string {
	var out []string
	for i, place := range u.places {
		out = append(out, fmt.Sprintf("a pointer leads to %s %s can not be judged there", place, strings.Join(u.labels[i], ", ")))
	}
	return out
}

// undeclaredAt says what lies at an address and how that is declared; "": nothing that could be a node's, or, raw, what a pointer
// to numbers leads to.
func (a *Analysis) undeclaredAt(addr trace.Addr, block mgpp.NodeID, raw bool) string {
	if addr == 0 || a.Typing == nil {
		return ""
	}
	if im, ok := a.Symbols.Image(addr); ok && im.Obj != nil && im.Traced && block == 0 {
		v, ok := im.Obj.GlobalAt(uint64(addr - im.Bias))
		if !ok || v.Type == nil {
			return ""
		}
		path, of := a.member(v.Type, int64(addr-im.Bias)-v.Loc.Offset)
		if of == nil && !raw {
			return ""
		}
		declare := a.embedding(v.Name, v.Type, path, of)
		if declare == "" {
			declare = "global " + v.Name + ";"
		}
		return fmt.Sprintf("%s in static memory (%s:%d), which `%s` declares; without that,", v.Name, symbol.Short(v.File), v.Line, declare)
	}
	if block == 0 {
		return ""
	}
	n := a.Hist.Node(block)
	if i := int(n.Global) - 1; i >= 0 && i < len(a.spec.Globals) {
		return a.unheld(i, int64(addr-n.Start))
	}
	e := a.Typing.Evidence(n.Alloc, n.Stack)
	off := int64(addr-n.Start) - e.Offset
	if e.Type == nil || e.Type.Size <= 0 || off < 0 {
		return ""
	}
	path, of := a.member(e.Type, off%e.Type.Size)
	if of == nil || path == "" {
		return ""
	}
	owner, declare := e.Type.Name, "type "+e.Type.Name+";"
	if strings.ContainsAny(owner, ":< (") {
		owner = "owner"
		declare = fmt.Sprintf("type owner = %q;", e.Type.Name)
	}
	for _, t := range a.spec.Types {
		if t.Layout != nil && typing.SameType(t.Layout, of) {
			declare += fmt.Sprintf(" embed %s in %s at %s;", t.Name, owner, path)
		}
	}
	return fmt.Sprintf("%s of a block of %s, which `%s` declares; without that,", path, e.Type.Name, declare)
}

// unheld says what lies at an offset of a declared object in static memory and is no node; "": nothing that could be one.
func (a *Analysis) unheld(i int, off int64) string {
	g := &a.spec.Globals[i]
	path, of := a.member(g.Layout, off)
	if of == nil {
		return ""
	}
	for k := range a.spec.Rows {
		r := &a.spec.Rows[k]
		if e := r.From(off); r.Global == i && e < r.Count() && r.At(e) <= off && typing.SameType(r.Type.Layout, of) {
			return fmt.Sprintf("an element of ::%s in static memory to which nothing has been written:", g.Name)
		}
	}
	if declare := a.embedding(g.Name, g.Layout, path, of); declare != "" {
		return fmt.Sprintf("::%s in static memory, where `%s` declares nodes; without that,", g.Name, declare)
	}
	if g.Layout.Kind == types.Array {
		return fmt.Sprintf("an element of ::%s in static memory, which is no node:", g.Name)
	}
	return ""
}

// embedding is the directive that makes nodes of what an object in static memory holds at a path; "": it is one itself, or its type
// is not declared.
func (a *Analysis) embedding(name string, whole *types.Type, path string, of *types.Type) string {
	if whole == of || of == nil {
		return ""
	}
	i := slices.IndexFunc(a.spec.Types, func(t *check.NodeType) bool { return t.Layout != nil && !t.Array && typing.SameType(t.Layout, of) })
	if i < 0 {
		return ""
	}
	if path != "" {
		path = " at " + path
	}
	return fmt.Sprintf("embed %s in ::%s%s;", a.spec.Types[i].Name, name, path)
}

// unembedded names arrays in static memory of types that have no node: what their elements are would be some. Of a type without such
// an array the objects are named that lie there by themselves.
func (a *Analysis) unembedded() (warnings []string) {
	for _, t := range a.spec.Types {
		if t.Layout == nil || t.Array || !a.Checker.Unborn(t) {
			continue
		}
		if v, path, ok := a.Array(t.Layout); ok {
			warnings = append(warnings, fmt.Sprintf("%s in static memory (%s:%d) holds an array of %s: its elements are nodes with `%s`", v.Name, symbol.Short(v.File), v.Line, t.Name, a.embedding(v.Name, v.Type, path, t.Layout)))
			continue
		}
		var alone []objfile.Variable
		for v := range a.staticObjects() {
			if typing.SameType(v.Type, t.Layout) {
				alone = append(alone, v)
			}
		}
		if len(alone) > 0 {
			v, more := alone[0], ""
			if n := len(alone) - 1; n > 0 {
				more = ", as " + report.Plural(n, "other is", "others are")
			}
			warnings = append(warnings, fmt.Sprintf("%s in static memory (%s:%d) is a %s%s: with `global %[1]s;` formulas can name it, as ::%[1]s, and variables do not range over it", v.Name, symbol.Short(v.File), v.Line, t.Name, more))
		}
	}
	return warnings
}

// Array is an object in the program's static memory that holds a type several times, in an array, and at which path.
func (a *Analysis) Array(of *types.Type) (v objfile.Variable, path string, ok bool) {
	for v := range a.staticObjects() {
		if path, ok := v.Type.PathTo(func(part *types.Type, several bool) bool { return several && typing.SameType(part, of) }); ok {
			return v, path, true
		}
	}
	return v, "", false
}

// staticObjects are the objects in the static memory of the program's own files.
func (a *Analysis) staticObjects() iter.Seq[objfile.Variable] {
	return func(yield func(objfile.Variable) bool) {
		for _, im := range a.Symbols.Images {
			if !im.Traced || im.Obj == nil {
				continue
			}
			for _, v := range im.Obj.Globals() {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// member is what lies at an offset of a type and is of a type that nodes or their members have: its path,
// with arrays by their names alone, and its type; nil: there is none.
func (a *Analysis) member(t *types.Type, off int64) (path string, of *types.Type) {
	if t == nil {
		return "", nil
	}
	for t.Kind == types.Array && t.Elem != nil && t.Elem.Size > 0 {
		t, off = t.Elem, off%t.Elem.Size
	}
	if off == 0 && a.ofNodes(t) {
		return "", t
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.Type == nil || m.Offset < 0 || off < m.Offset || off >= m.Offset+m.Type.Size {
			continue
		}
		rest, of := a.member(m.Type, off-m.Offset)
		switch {
		case of == nil:
		case m.Base || m.Name == "":
			return rest, of
		case rest == "":
			return m.Name, of
		default:
			return m.Name + "." + rest, of
		}
	}
	return "", nil
}

// ofNodes: nodes, or members of nodes that are structures, have this type.
func (a *Analysis) ofNodes(t *types.Type) bool {
	return t.Kind == types.Struct && slices.ContainsFunc(a.spec.Types, func(n *check.NodeType) bool { return n.Layout != nil && typing.Within(t, n.Layout) })
}
