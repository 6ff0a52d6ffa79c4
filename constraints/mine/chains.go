package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Chains of indices: nodes of an array in static memory lead to one another by a number, and numbers in static memory lead to the first ones, as the buckets
// of a table and the head of a list of free ones do. Each node is led to once.

// firsts are a number in static memory, or an array of such, that may lead to the first nodes of chains.
type firsts struct {
	path string // "::bucket"
	of   *field
	at   trace.Addr
	n    int64 // of an array; 0: it is none

	some bool // it led to a node
}

// maxChained bounds the nodes of an array of which it is counted what leads to each.
const maxChained = 128

// chains makes the candidates about chains by a number of a row's elements.
func (m *mining) chains(r *row) {
	if r.count > maxChained {
		return
	}
	for _, f := range r.fields {
		if _, ends, ok := f.indexes(r); !ok || !ends {
			continue
		}
		heads := m.firstsOf(r, f)
		if len(heads) == 0 {
			continue
		}
		place := r.place("X")
		terms, words := []string{fmt.Sprintf("COUNT(%s Y: Y.%s == %s and Y != X)", r.name, f.name, place)}, []string{f.name + " of another"}
		for _, h := range heads {
			if h.n > 0 {
				terms = append(terms, fmt.Sprintf("SUM(I in 0 to %d: %s[I] == %s ? 1 : 0)", h.n-1, h.path, place))
				words = append(words, "an element of "+h.path)
			} else {
				terms = append(terms, fmt.Sprintf("(%s == %s ? 1 : 0)", h.path, place))
				words = append(words, h.path)
			}
		}
		c := r.add("chained "+f.name, fmt.Sprintf("each %s is led to once, by %s", r.name, strings.Join(words, ", or ")), strings.Join(terms, " + ")+" == 1")
		c.need = r.many()
	}
}

// firstsOf are the numbers in static memory that led to nodes, or nowhere, and never to one to which the number of another node led, whenever that was looked at.
func (m *mining) firstsOf(r *row, f *field) (out []*firsts) {
	for _, v := range m.run.Globals {
		out = append(out, firstsIn(v, m.run.Bias)...)
	}
	led := make([]int, r.count)
	for _, look := range m.looks {
		v := m.run.History.At(look.at)
		clear(led)
		for i := range r.count {
			if to, ok := f.read(v, m.run.Bias+r.at+trace.Addr(i*r.typ.Layout.Size)); ok && to >= 0 && to < r.count {
				led[to]++
			}
		}
		out = slices.DeleteFunc(out, func(h *firsts) bool { return !h.leads(v, led) })
	}
	return slices.DeleteFunc(out, func(h *firsts) bool { return !h.some })
}

// firstsIn are those that a variable is, or has.
func firstsIn(v check.Variable, bias trace.Addr) (out []*firsts) {
	for _, s := range placesIn(v) {
		e := s.Type.Elem
		out = append(out, &firsts{path: "::" + s.Path, of: newField(types.Scalar{Type: e, Size: e.Size}), at: bias + trace.Addr(v.Addr) + trace.Addr(s.Offset), n: s.Type.Count})
	}
	g, _ := globalOf(v, nil)
	for _, path := range g.numbers {
		if s := g.scalars[path]; s.BitSize == 0 {
			at := bias + trace.Addr(s.Offset)
			s.Offset = 0
			out = append(out, &firsts{path: path, of: newField(s), at: at})
		}
	}
	return out
}

// leads: at a time each of the numbers leads to a node to which nothing else does, or says that it leads nowhere. led is by how many of the nodes' own numbers each node
// is led to.
func (h *firsts) leads(v mgpp.View, led []int) bool {
	for i := range max(h.n, 1) {
		to, ok := h.of.read(v, h.at+trace.Addr(i*h.of.size))
		none := to == -1 || to == int64(1)<<min(62, 8*h.of.size)-1
		switch {
		case !ok, !none && (to < 0 || to >= int64(len(led))):
			return false
		case none:
		case led[to] > 0:
			return false
		default:
			h.some = true
		}
	}
	return true
}
