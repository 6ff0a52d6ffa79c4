package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// Tagged unions: a number of the node says which member of a union is in use.

// alternative is a member of a union that has pointers to nodes.
type alternative struct {
	names    []string // as "cells" has them: the member's, or those of its pointers where it has none
	pointers []types.Scalar
}

// alternativesIn lists those of all unions in a structure, by union; path and offset are where it lies in the node.
func alternativesIn(t *types.Type, path string, offset int64, depth int, isNode func(*types.Type) bool) (out [][]alternative) {
	if t == nil || depth > maxNesting || t.Kind != types.Struct && t.Kind != types.Union || internal(path) {
		return nil
	}
	var here []alternative
	for _, m := range t.Members {
		if m.Type == nil || m.Offset < 0 || m.BitSize > 0 {
			continue
		}
		name, at := path+m.Name, offset+m.Offset
		if t.Kind == types.Union {
			if a := alternativeOf(m, path, at, isNode); len(a.pointers) > 0 {
				here = append(here, a)
			}
			continue
		}
		if m.Name != "" {
			name += "."
		}
		out = append(out, alternativesIn(m.Type, name, at, depth+1, isNode)...)
	}
	if len(here) > 0 && len(t.Members) > 1 {
		out = append(out, here)
	}
	return out
}

func alternativeOf(m types.Member, path string, offset int64, isNode func(*types.Type) bool) (a alternative) {
	add := func(name string, s types.Scalar) {
		if s.Type != nil && s.Type.Kind == types.Pointer && isNode(s.Type.Elem) {
			a.pointers = append(a.pointers, types.Scalar{Path: name, Offset: offset + s.Offset, Size: s.Size, Type: s.Type})
		}
	}
	if m.Type.Kind == types.Pointer {
		add(path+m.Name, types.Scalar{Size: 8, Type: m.Type})
	} else if m.Type.Kind == types.Struct || m.Type.Kind == types.Array {
		for _, s := range m.Type.Scalars() {
			add(path+m.Name+"."+s.Path, s)
		}
	}
	if m.Name != "" {
		a.names = []string{path + m.Name}
		return a
	}
	for i := range a.pointers {
		a.pointers[i].Path = path + a.pointers[i].Path[len(path)+1:]
		a.names = append(a.names, a.pointers[i].Path)
	}
	return a
}

// unshared lists the numbers in members of unions that lie where no other member does, as how many children a node has behind the pointers to the
// first and the last: what they are in nodes of another kind is nothing else.
func unshared(t *types.Type, path string, offset int64, depth int) (out []types.Scalar) {
	if t == nil || depth > maxNesting || t.Kind != types.Struct && t.Kind != types.Union {
		return nil
	}
	for i, m := range t.Members {
		if m.Type == nil || m.Offset < 0 || m.BitSize > 0 {
			continue
		}
		name := path + m.Name
		if m.Name != "" {
			name += "."
		}
		if t.Kind == types.Struct {
			out = append(out, unshared(m.Type, name, offset+m.Offset, depth+1)...)
			continue
		}
		end := int64(0)
		for j, other := range t.Members {
			if i != j && other.Type != nil {
				end = max(end, other.Type.Size)
			}
		}
		for _, s := range m.Type.Scalars() {
			if m.Type.Kind == types.Struct && s.Offset >= end && s.Type != nil && integer(s.Type) && !strings.Contains(s.Path, "[") && !internal(name+s.Path) {
				s.Path, s.Offset = name+s.Path, offset+s.Offset
				out = append(out, s)
			}
		}
	}
	return out
}

// whenUsed is the condition under which "cells" says that a pointer is in use, where that is one of several values of a number.
func whenUsed(c *check.EdgeCell) string {
	var kinds []string
	for _, u := range c.Used {
		is, ok := u.Cond.(*check.Binary)
		if !ok || u.Lo != nil || u.Hi != nil || is.Op != "==" {
			return ""
		}
		if _, field := is.X.(*check.Load); !field {
			return ""
		}
		kinds = append(kinds, "X."+is.Text())
	}
	return strings.Join(kinds, " or ")
}

// filling is what was seen of the pointers of an alternative where a tag had one value.
type filling struct {
	set    []int // by pointer: those that lead to nodes
	astray int   // neither to one of its type, nor NULL
}

func (f *filling) leads() (n int) {
	for _, s := range f.set {
		n += s
	}
	return n
}

// full: each of the pointers was seen to lead somewhere.
func (f *filling) full() bool { return !slices.Contains(f.set, 0) }

// tagOf is a number that may say which alternative is in use, with what was seen of them, by its value.
type tagOf struct {
	field *field
	seen  map[int64][]filling // by alternative
}

const (
	maxKinds  = 24 // values of a tag
	minFilled = 4  // sightings of an alternative that is in use
)

// mayTag: a few small numbers, each of which may be a kind.
func (f *field) mayTag() bool {
	return !f.many && len(f.values) >= 2 && len(f.values) <= maxKinds && f.min >= 0 && f.max < 256
}

// chosen is which alternative is in use, by the tag's values; those without are left out. Of several that fit, as where the one has fewer
// pointers of the same kind, it is that of which all were seen to lead somewhere, and of these the one with most.
func (t *tagOf) chosen(alts []alternative) map[int64]int {
	out := map[int64]int{}
	for v, fills := range t.seen {
		best, most := -1, 0
		for i := range fills {
			f := &fills[i]
			if f.astray > 0 || f.leads() < minFilled {
				continue
			}
			score := 1
			if f.full() {
				score += len(alts[i].pointers)
			}
			if score > most {
				best, most = i, score
			}
		}
		if best >= 0 {
			out[v] = best
		}
	}
	return out
}

// explains is the share of the pointers to nodes in a union that lie in what the tag says is in use. 0: without the tag none would be in doubt.
func (t *tagOf) explains(chosen map[int64]int) float64 {
	used := map[int]bool{}
	for _, a := range chosen {
		used[a] = true
	}
	mine, all, others := 0, 0, false
	for v, fills := range t.seen {
		a, ok := chosen[v]
		most := 0
		for i := range fills {
			most = max(most, fills[i].leads())
			others = others || used[i] && (!ok || a != i) && (fills[i].astray > 0 || ok)
		}
		if all += most; ok {
			mine += fills[a].leads()
		}
	}
	if !others || all == 0 {
		return 0
	}
	return float64(mine) / float64(all)
}

// minExplained: what is left in a union when its node becomes another kind leads to nodes for a while.
const minExplained = 0.9

// unions declares which member of a union is in use, where a number of the node tells.
func (m *mining) unions(t *trial) (out []string) {
	if m.head.given != "" {
		return nil
	}
	isNode := func(e *types.Type) bool { return ofNodes(e, t.spec.Types) }
	for _, p := range m.portraits {
		if p.typ.Array {
			continue
		}
		for _, alts := range alternativesIn(p.typ.Layout, "", 0, 0, isNode) {
			out = append(out, m.tagsOf(t, p, alts)...)
		}
	}
	return out
}

// tagsOf are the directives of one union.
func (m *mining) tagsOf(t *trial, p *portrait, alts []alternative) (out []string) {
	var best *tagOf
	var which map[int64]int
	most := minExplained
	for _, f := range p.fields {
		if !f.mayTag() {
			continue
		}
		x := &tagOf{field: f, seen: map[int64][]filling{}}
		for _, at := range times(m.looks) {
			v := m.run.History.At(at)
			for _, o := range t.graph.Live(p.typ, at, nil) {
				x.look(t.graph, v, t.graph.Object(o).Addr, alts)
			}
		}
		chosen := x.chosen(alts)
		share := x.explains(chosen)
		if share >= most && (best == nil || share > most || f.typ.Kind == types.Enum && best.field.typ.Kind != types.Enum) {
			best, which, most = x, chosen, share
		}
	}
	if best == nil {
		return nil
	}
	if open := best.open(which); len(open) > 0 {
		m.openTags = append(m.openTags, fmt.Sprintf("What %s uses of %s where %s is %s was seen too rarely to tell: no pointer is followed there. Where one should be, say so: cells %s: %s if %s == %s",
			p.name(), alternativesText(alts), best.field.name, strings.Join(open, ", "), p.name(), alts[0].names[0], best.field.name, open[0]))
	}
	for _, v := range best.field.sorted() {
		if a, ok := which[v]; ok {
			for _, name := range alts[a].names {
				out = append(out, fmt.Sprintf("cells %s: %s if %s == %s;", p.name(), name, best.field.name, best.field.text(v)))
			}
		}
	}
	return out
}

// open lists the kinds that have a name, of which it was not seen that they use one of the alternatives, nor that they use none.
func (t *tagOf) open(chosen map[int64]int) (out []string) {
	for _, e := range t.field.typ.Enumerators {
		_, known := chosen[e.Value]
		if !known && e.Name != "" && !slices.ContainsFunc(t.seen[e.Value], func(f filling) bool { return f.astray > 0 }) {
			out = append(out, e.Name)
		}
	}
	return out
}

func alternativesText(alts []alternative) string {
	var names []string
	for _, a := range alts {
		names = append(names, a.names...)
	}
	return strings.Join(names, ", ")
}

// look takes in a node.
func (t *tagOf) look(g *graph.Graph, v mgpp.View, node trace.Addr, alts []alternative) {
	kind, ok := t.field.read(v, node)
	if !ok {
		return
	}
	fills := t.seen[kind]
	if fills == nil {
		for _, a := range alts {
			fills = append(fills, filling{set: make([]int, len(a.pointers))})
		}
		t.seen[kind] = fills
	}
	for i, a := range alts {
		for k, s := range a.pointers {
			tgt := v.Target(node+trace.Addr(s.Offset), coded.Plain)
			if tgt.State == mgpp.Null || tgt.State == mgpp.Unwritten {
				continue
			}
			if to := g.Resolve(v.Time(), tgt, s.Type.Elem, nil); to != 0 && isOf(g.Object(to).Type, s.Type.Elem) {
				fills[i].set[k]++
			} else {
				fills[i].astray++
			}
		}
	}
}

func isOf(t *check.NodeType, e *types.Type) bool { return t != nil && sameStruct(t.Layout, e) }
