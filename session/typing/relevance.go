package typing

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/probe/evidence"
	"mgtrace/trace"
	"mgtrace/types"
)

// Relevance says which blocks can matter to a specification: those of its types,
// of the types that it reads through pointers, of types that hold one of these,
// and those whose type is not certain.
type Relevance struct {
	typing *Blocks
	types  []*types.Type
	sites  map[trace.Addr]bool // by return address of an allocator call: its blocks can not matter
}

// Filterable says whether debug information can decide what matters: not where
// membership, or a rule for callers, makes any block a node.
func Filterable(spec *check.Spec) bool {
	if spec == nil || len(spec.Types) == 0 || len(spec.Members)+len(spec.Reaches) > 0 || len(spec.Allocs) > 0 {
		return false
	}
	return !slices.ContainsFunc(spec.Types, func(t *check.NodeType) bool {
		return t.Intrusive || t.Layout == nil && t.Elem == nil
	})
}

// NewRelevance says what matters to a specification, by the evidence of a typing.
func NewRelevance(spec *check.Spec, t *Blocks) *Relevance {
	r := &Relevance{typing: t, sites: map[trace.Addr]bool{}}
	for _, nt := range spec.Types {
		r.add(nt.Layout)
		r.add(nt.Elem)
	}
	for _, g := range spec.Globals {
		r.add(g.Layout)
	}
	check.Walk(spec, func(e check.Expr) {
		if l, ok := e.(*check.Load); ok && l.Type != nil && l.Type.Kind == types.Pointer {
			r.add(l.Type.Elem)
		}
	})
	return r
}

func (r *Relevance) add(t *types.Type) {
	if t != nil && t.Kind != types.Void && !r.matters(t) {
		r.types = append(r.types, t)
	}
}

func (r *Relevance) matters(t *types.Type) bool {
	return slices.ContainsFunc(r.types, func(x *types.Type) bool { return SameType(x, t) })
}

// holds says whether a value of a type is, or has in it, one that matters.
func (r *Relevance) holds(t *types.Type) bool {
	if t == nil || r.matters(t) {
		return true
	}
	switch t.Kind {
	case types.Array:
		return r.holds(t.Elem)
	case types.Struct, types.Union:
		return slices.ContainsFunc(t.Members, func(m types.Member) bool { return m.Type != nil && m.Type.Kind != types.Pointer && r.holds(m.Type) })
	}
	return false
}

// Ignores says whether blocks can not matter that are allocated by the call which
// returns to an address. Only what the call itself shows counts: what its callers
// show may differ from one to the next.
func (r *Relevance) Ignores(ret trace.Addr) bool {
	ignored, ok := r.sites[ret]
	if !ok {
		ignored = r.decide(ret)
		r.sites[ret] = ignored
	}
	return ignored
}

func (r *Relevance) decide(ret trace.Addr) bool {
	im, ok := r.typing.symbols.Image(ret - 1)
	if !ok || im.Obj == nil {
		return false
	}
	e := r.typing.finder.ForStack([]evidence.Frame{{File: im.Obj, Addr: uint64(ret - im.Bias)}})
	return e.Type != nil && !r.holds(e.Type)
}
