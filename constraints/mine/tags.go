package mine

import (
	"fmt"
	"strings"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// A tag is looked for in so many different sightings of words that lead to nodes, of which so many have bits set.
const (
	minTagged  = 8
	minTagBits = 2
	lowBits    = 7 // blocks begin at multiples of 16, and members that are linked at multiples of 8
)

// tagged declares words of nodes that are pointers with flags in their low bits (the colour in rb_parent_color of Linux's rbtree, or in a
// compact node of Boost.Intrusive): without these bits each word that was seen leads to a node, or is NULL. Such a word may be an integer.
func (m *mining) tagged(t *trial) (out []string) {
	if m.head.given != "" {
		return nil
	}
	for _, p := range m.portraits {
		if p.typ.Layout == nil || p.typ.Array {
			continue
		}
		for _, s := range p.typ.Layout.Scalars() {
			if !mayHaveTag(&s) || strings.Contains(s.Path, "[") || internal(s.Path) {
				continue
			}
			var w tagWord
			for _, at := range times(m.looks) {
				w.look(t.graph, m.run.History.At(at), t.graph.Live(p.typ, at, nil), s.Offset)
			}
			if mask, ok := w.mask(s.Type.Kind != types.Pointer); ok {
				out = append(out, fmt.Sprintf("tag %s.%s & %d;", p.name(), s.Path, mask))
			}
		}
	}
	return out
}

// mayHaveTag: a pointer to what is as large as a word, or an integer of that size.
func mayHaveTag(s *types.Scalar) bool {
	switch {
	case s.Type == nil || s.Size != 8 || s.VTable || s.BitSize > 0:
		return false
	case s.Type.Kind == types.Pointer:
		return s.Type.Elem == nil || s.Type.Elem.Kind == types.Void || s.Type.Elem.Kind == types.Struct && s.Type.Elem.Size >= 8
	}
	return s.Type.Kind == types.Uint || s.Type.Kind == types.Int
}

// tagWord is what was seen of a word: different words of different nodes.
type tagWord struct {
	seen   map[sighting]bool
	leads  int // to a node, without its low bits
	with   int // of these with bits set
	astray int // to none, and not NULL
	bits   uint64
}

func (w *tagWord) look(g *graph.Graph, v mgpp.View, nodes []graph.ObjID, offset int64) {
	for _, o := range nodes {
		word, ok := mgpp.Number(v, g.Object(o).Addr+trace.Addr(offset), 8)
		if !ok {
			continue
		}
		if w.seen == nil {
			w.seen = map[sighting]bool{}
		}
		if s := (sighting{o, int64(word)}); !w.seen[s] {
			w.seen[s] = true
			w.add(word, word&^lowBits == 0 || len(g.At(v, trace.Addr(word&^lowBits))) > 0)
		}
	}
}

// add takes a word into account; leads: without its low bits it leads to a node, or is NULL.
func (w *tagWord) add(word uint64, leads bool) {
	switch {
	case !leads:
		w.astray++
		return
	case word&^lowBits != 0:
		if w.leads++; word&lowBits != 0 {
			w.with++
		}
	}
	w.bits |= word & lowBits
}

// mask is which bits are flags. An integer may be a pointer without any.
func (w *tagWord) mask(integer bool) (mask uint64, ok bool) {
	if w.astray > 0 || w.leads < minTagged || w.with < minTagBits && !(integer && w.bits == 0) {
		return 0, false
	}
	for mask < w.bits {
		mask = mask<<1 | 1
	}
	return mask, true
}
