package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// span is two pointers of a node, of one type and in one structure, that led into one block: as those of a stack to its
// beginning, its top and its end.
type span struct {
	low, high string // fields
	elem      int64  // bytes of an element
	together  int    // sightings in which both led into one block
	apart     int    // in which they did not
	ordered   int    // of those together: in which low was not behind high
	min, max  int64  // elements from low to high
	lengths   map[int64]bool
	follows   bool // from spans of a pointer that stands between the two
}

const (
	maxSpanned = 6 // pointers of one structure of which all pairs are looked at
	maxSpans   = 8 // such structures of a type
)

// listSpans lists the pairs of pointers of a type that lead into one block.
func (p *portrait) listSpans(r *Run, g *graph.Graph, times []mgpp.Timestamp) {
	groups := pointerGroups(p.typ.Layout)
	for _, group := range groups[:min(len(groups), maxSpans)] {
		var all []*span
		for _, a := range group {
			for _, b := range group {
				if a.Path != b.Path {
					all = append(all, spanOf(r, g, p, a, b, times))
				}
			}
		}
		p.spans = append(p.spans, tight(all)...)
	}
}

// pointerGroups are the pointers of one type that lie in one structure, where there are several.
func pointerGroups(t *types.Type) (groups [][]types.Scalar) {
	at := map[string]int{}
	for _, s := range t.Scalars() {
		if s.Type == nil || s.Type.Kind != types.Pointer || s.VTable || strings.Contains(s.Path, "[") || internal(s.Path) {
			continue
		}
		if e := s.Type.Elem; e != nil && (e.Kind == types.Func || e.Kind != types.Void && e.Size <= 0) {
			continue
		}
		of := fmt.Sprintf("%s of %s", s.Path[:strings.LastIndexByte(s.Path, '.')+1], s.Type)
		if _, ok := at[of]; !ok {
			at[of] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[of]] = append(groups[at[of]], s)
	}
	return slices.DeleteFunc(groups, func(g []types.Scalar) bool { return len(g) < 2 || len(g) > maxSpanned })
}

// spanOf looks at two pointers of all nodes.
func spanOf(r *Run, g *graph.Graph, p *portrait, low, high types.Scalar, times []mgpp.Timestamp) *span {
	s := &span{low: low.Path, high: high.Path, elem: 1, lengths: map[int64]bool{}}
	if e := low.Type.Elem; e != nil && e.Size > 0 {
		s.elem = e.Size
	}
	var nodes []graph.ObjID
	for _, at := range times {
		v := r.History.At(at)
		nodes = g.Live(p.typ, at, nodes[:0])
		for _, o := range nodes {
			addr := g.Object(o).Addr
			s.note(v, v.Target(addr+trace.Addr(low.Offset), coded.Plain), v.Target(addr+trace.Addr(high.Offset), coded.Plain))
		}
	}
	return s
}

func (s *span) note(v mgpp.View, a, b mgpp.Target) {
	n := int64(b.Value-a.Value) / s.elem
	switch {
	case a.State == mgpp.Unwritten || b.State == mgpp.Unwritten:
		return
	case a.State == mgpp.Null && b.State == mgpp.Null: // as long as it has no block
	case !oneBlock(v, a, b):
		s.apart++
		return
	default:
		s.together++
		if n >= 0 {
			s.ordered++
		}
	}
	if len(s.lengths) == 0 || n < s.min {
		s.min = n
	}
	if len(s.lengths) == 0 || n > s.max {
		s.max = n
	}
	s.lengths[n] = true
}

// oneBlock reports whether two pointers lead into one block, or stand at its end.
func oneBlock(v mgpp.View, a, b mgpp.Target) bool {
	for _, t := range [2]mgpp.Target{a, b} {
		id := t.Node
		if t.State == mgpp.Wild {
			id = t.Past
		}
		if n, ok := v.Node(id); id != 0 && ok && t.State != mgpp.Dangling {
			in := func(t mgpp.Target) bool { return t.Value-uint64(n.Start) <= n.Size }
			return in(a) && in(b)
		}
	}
	return false
}

// tight leaves those in order, and says of which their order follows from that of others: a third pointer stands between them.
func tight(all []*span) (out []*span) {
	holds := func(low, high string) bool {
		return slices.ContainsFunc(all, func(s *span) bool { return s.low == low && s.high == high && s.inOrder() })
	}
	for _, s := range all {
		s.follows = slices.ContainsFunc(all, func(x *span) bool {
			return x.low == s.low && x.high != s.high && x.inOrder() && holds(x.high, s.high) && !(holds(x.high, x.low) || holds(s.high, x.high))
		})
		if s.inOrder() {
			out = append(out, s)
		}
	}
	return out
}

// inOrder: low is hardly ever behind high, and not always the same.
func (s *span) inOrder() bool {
	return s.together > 0 && 4*s.apart <= s.together && 4*s.ordered >= 3*s.together && s.max > 0
}

// spanned: pointers into one block are in order, and numbers of the node count what lies between them.
func (m *maker) spanned() {
	for _, s := range m.spans {
		m.stretch(s)
	}
}

// stretch makes the candidates of a span.
func (m *maker) stretch(s *span) {
	if !s.follows {
		low, high := "X."+s.low, "X."+s.high
		c := m.add(fmt.Sprintf("order %s %s", s.low, s.high), fmt.Sprintf("%s does not come behind %s in its block", s.low, s.high), fmt.Sprintf("%s <= %s", low, high))
		c.distance = m.qualified(low + " - " + high)
		c.need = enoughLengths
	}
	if len(s.lengths) < 2 {
		return
	}
	for _, f := range m.fields {
		k := s.min - f.min
		if !f.counts() || f.max+k != s.max || k < -1 || k > 1 {
			continue
		}
		words := fmt.Sprintf("%s is how many elements lie from %s to %s", f.name, s.low, s.high)
		if k != 0 {
			words += ", but for one"
		}
		c := m.compare(fmt.Sprintf("length %s %s %s", f.name, s.low, s.high), words, "", fmt.Sprintf("X.%s - X.%s", s.high, s.low), "==", "X."+f.name, k)
		c.need = 4
	}
}

// enoughLengths is in how many different lengths an order is seen that is no accident: half of all pairs would do each.
const enoughLengths = 7
