package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/typing"
)

// unpooled leaves inconsistencies out of nodes that are likely to be none: one that has its type by
// its size alone, of a site that allocates other sizes too; a block that
// the program divides by itself has the type of its first piece, and pointers between
// the pieces seem to lead from the node to itself. A warning says so once.
func (a *Analysis) unpooled(found []eval.Inconsistency, at mgpp.Timestamp) []eval.Inconsistency {
	out := make([]eval.Inconsistency, 0, len(found))
	none := func(o graph.ObjID) bool { return a.guessed(o) || a.pooled(o, at) }
	for _, inc := range found {
		if !none(inc.Instance.SCC) && !slices.ContainsFunc(inc.Instance.Nodes[:], none) {
			out = append(out, inc)
		}
	}
	return out
}

// guessed: see typing.Blocks.Guessed.
func (a *Analysis) guessed(o graph.ObjID) bool {
	if o == 0 || a.Typing == nil {
		return false
	}
	host := a.Graph.Object(o).Host
	return host != 0 && a.Typing.Guessed(a.Hist.Node(host))
}

// pooled: pointers to the type of a node lead into its block, behind the first object
// of the type. A type that goes on to the end of its block has no such objects.
func (a *Analysis) pooled(o graph.ObjID, at mgpp.Timestamp) bool {
	if o == 0 {
		return false
	}
	obj := a.Graph.Object(o)
	t := obj.Type
	if obj.Host == 0 || t == nil || t.Array || t.Layout == nil || t.Layout.Size <= 0 ||
		slices.ContainsFunc(t.Edges, func(c check.EdgeCell) bool { return c.Count < 0 }) {
		return false
	}
	size, one := a.Graph.Size(o, at), uint64(t.Layout.Size)
	if size < 2*one || !slices.ContainsFunc(a.Graph.In(a.Hist.At(at), o), func(e graph.Edge) bool {
		return e.Offset >= one && e.Cell.Elem != nil && typing.SameType(e.Cell.Elem, t.Layout)
	}) {
		return false
	}
	if !a.pools[o] {
		if len(a.pools) == 0 {
			a.warned = append(a.warned, fmt.Sprintf("%s is a block of %s bytes, and pointers to %s (%d bytes) lead behind its first one: the program seems to divide it by itself (a pool). Its pieces are not judged: they are nodes with --alloc-free, or if --alloc FUNCTION says who gives them out",
				a.Graph.Name(o), report.Thousands(size), t.Name, one))
		}
		a.pools[o] = true
	}
	return true
}

// divided: a warning was given of a block of the type that the program divides by itself.
func (a *Analysis) divided(t *check.NodeType) bool {
	for o := range a.pools {
		if a.Graph.Object(o).Type == t {
			return true
		}
	}
	return false
}

// resources warns where a declared type has no node, and the program has memory from resources of the C++ library
// (std::pmr): what these give out is no block until an allocator is declared.
func (a *Analysis) resources() []string {
	const give = "std::pmr::memory_resource::allocate"
	if !slices.ContainsFunc(a.spec.Types, a.Checker.Unborn) {
		return nil
	}
	for _, im := range a.Symbols.Images {
		if im.Traced && im.Obj != nil && (len(im.Obj.FuncsNamed(give)) > 0 || len(im.Obj.Inlined(give)) > 0) {
			return []string{"the program has memory from resources of the C++ library (std::pmr): name them, as with `allocator std::pmr::unsynchronized_pool_resource::do_allocate(size=2) frees std::pmr::unsynchronized_pool_resource::do_deallocate(2);` and --module libstdc++.so"}
		}
	}
	return nil
}
