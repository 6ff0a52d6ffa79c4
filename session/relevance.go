package session

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/probe/evidence"
	"mgtrace/trace"
	"mgtrace/types"
)

// relevance says which blocks can matter to a specification: those of its types,
// of types that theirs lead to through pointers or that hold one of these, and
// those whose type is not certain.
type relevance struct {
	typing *typing
	types  []*types.Type       // structures that matter
	sites  map[trace.Addr]bool // by return address of an allocator call: its blocks can not matter
}

// filterable says whether debug information can decide what matters: not where
// membership, or a rule for callers, makes any block a node.
func filterable(spec *check.Spec) bool {
	if spec == nil || len(spec.Types) == 0 || len(spec.Members) > 0 || len(spec.Allocs) > 0 {
		return false
	}
	return !slices.ContainsFunc(spec.Types, func(t *check.NodeType) bool {
		return t.Intrusive || t.Layout == nil && t.Elem == nil
	})
}

func newRelevance(spec *check.Spec, t *typing) *relevance {
	r := &relevance{typing: t, sites: map[trace.Addr]bool{}}
	for _, nt := range spec.Types {
		r.reach(nt.Layout)
		r.reach(nt.Elem)
	}
	return r
}

// reach adds the structures that a value of a type holds or leads to.
func (r *relevance) reach(t *types.Type) {
	if t == nil {
		return
	}
	switch t.Kind {
	case types.Pointer, types.Array:
		r.reach(t.Elem)
	case types.Struct, types.Union:
		if r.matters(t) {
			return
		}
		r.types = append(r.types, t)
		for _, m := range t.Members {
			r.reach(m.Type)
		}
	}
}

func (r *relevance) matters(t *types.Type) bool {
	return slices.ContainsFunc(r.types, func(x *types.Type) bool { return sameType(x, t) })
}

// holds says whether a value of a type holds one that matters, or the like of
// what a structure that matters leads to: a number, a character.
func (r *relevance) holds(t *types.Type) bool {
	switch {
	case t == nil:
		return true
	case t.Kind == types.Struct || t.Kind == types.Union:
		return r.matters(t) || slices.ContainsFunc(t.Members, func(m types.Member) bool {
			k := m.Type
			for k != nil && k.Kind == types.Array {
				k = k.Elem
			}
			return k == nil || (k.Kind == types.Struct || k.Kind == types.Union) && r.holds(k)
		})
	}
	return true
}

// ignores says whether blocks can not matter that are allocated by the call which
// returns to an address. Only what the call itself shows counts: what its callers
// show may differ from one to the next.
func (r *relevance) ignores(ret trace.Addr) bool {
	ignored, ok := r.sites[ret]
	if !ok {
		ignored = r.decide(ret)
		r.sites[ret] = ignored
	}
	return ignored
}

func (r *relevance) decide(ret trace.Addr) bool {
	im, ok := r.typing.symbols.Image(ret - 1)
	if !ok || im.Obj == nil {
		return false
	}
	e := r.typing.finder.ForStack([]evidence.Frame{{File: im.Obj, Addr: uint64(ret - im.Bias)}})
	return e.Type != nil && !r.holds(e.Type)
}
