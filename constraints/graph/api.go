package graph

import (
	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// ObjID names an object for ever. 0: none (NULL).
type ObjID uint32

// Object is a typed node: a heap block of a declared type, an embedded member,
// an intrusive member, or a declared global. It lives in [Birth, Death).
type Object struct { // what checks ask for is in front: there are as many as the program makes nodes
	ID      ObjID
	Host    mgpp.NodeID     // the block it lies in; 0: none (intrusive, on the stack or unknown memory)
	Type    *check.NodeType // nil for a global of no declared type
	Addr    trace.Addr
	Size    uint64 // at the end of what was taken over; see Graph.Size
	Birth   mgpp.Timestamp
	Death   mgpp.Timestamp // 0: alive
	Global  int32          // index in Spec.Globals plus 1; 0: no global
	Member  int32          // index in Spec.Members plus 1 of the directive that entered it; 0: not intrusive; below 0: pointers made it (Spec.Reaches), or a write (Spec.Rows)
	Ordinal int32          // "qdtree#3" is the third object of its type
	Guessed bool           // its type is known by its size alone
	Divided bool           // an object in static memory, parts of which are nodes (Spec.Rows)
}

// Typing assigns types to allocations.
type Typing interface {
	// TypeOf returns the declared type of a block and the offset of the object
	// in it, or nil if the block is of no declared type. why says how it is
	// known ("alloc rule", "debug information", "by size"). Once it has
	// returned nil for a block that was allocated, it does so for all later ones
	// with the same Alloc and Stack, and need not be asked.
	TypeOf(n mgpp.Node) (t *check.NodeType, offset int64, why string)
}

// Counting is a Typing that knows blocks whose object ends before they do, when the count
// of its owners is 0: those of std::make_shared, which a std::weak_ptr keeps.
type Counting interface {
	Typing
	// Owners returns where in a block, to which TypeOf gave a type, a count of 4 bytes
	// lies; 0: nowhere.
	Owners(n mgpp.Node) (offset int64)
}

// History is what the graph asks of the history; *mgpp.History is one.
type History interface {
	// Now is the time of the newest operation, 0 if there is none.
	Now() mgpp.Timestamp
	Op(mgpp.Timestamp) mgpp.Op
	Brief(mgpp.Timestamp, *mgpp.Brief)
	// Wrote is the word that the write at t put at an address, if that is known; all: it wrote all of the word.
	Wrote(t mgpp.Timestamp, addr trace.Addr) (v uint64, known, all bool)
	// Word is the word at an address at t and when it was stored, 0 if that takes a longer look.
	Word(addr trace.Addr, t mgpp.Timestamp) (v uint64, stored mgpp.Timestamp)
	At(mgpp.Timestamp) mgpp.View
	// NodeCount is the number of nodes that ever were, Node one of them.
	NodeCount() int
	Node(mgpp.NodeID) mgpp.Node
	// NodeThen is a node as it was at a time, if it lived.
	NodeThen(mgpp.NodeID, mgpp.Timestamp) (mgpp.Node, bool)
	// Resizes is how the node was resized in place, in order.
	Resizes(mgpp.NodeID) []mgpp.Resize
	// Fixed reports whether no operation made the node.
	Fixed(mgpp.NodeID) bool
	// LastWrite is the newest operation at or before t that wrote into
	// [addr, addr+size), 0 if none.
	LastWrite(addr trace.Addr, size uint64, t mgpp.Timestamp) mgpp.Timestamp
}

// Overlay is what a hypothetical view has besides: where it differs.
type Overlay interface {
	mgpp.View
	// Changed calls f for each range [lo, hi) whose bytes may differ from
	// those of the history at Time.
	Changed(f func(lo, hi trace.Addr))
}

// Span is a half-open range of addresses.
type Span struct{ Lo, Hi trace.Addr }

// Changed returns where a view may differ from the history at its time: nil if
// it is the history's own.
func Changed(v mgpp.View) []Span {
	ov, ok := v.(Overlay)
	if !ok {
		return nil
	}
	var out []Span
	ov.Changed(func(lo, hi trace.Addr) { out = append(out, Span{lo, hi}) })
	return out
}

// Edge is a pointer cell that leads from one object to another.
type Edge struct {
	From, To ObjID
	Cell     *check.EdgeCell
	Index    int64      // element of the cell's array
	Addr     trace.Addr // of the pointer
	Offset   uint64     // into To
	Since    mgpp.Timestamp
}

// Options of a graph.
type Options struct {
	// Bias is added to the file addresses of Spec.Nils to have those of the
	// process.
	Bias trace.Addr
	// Uses tells which cells count. Nil: all do.
	Uses Uses
	// Entry names the function that begins at an address, "" where none does. Nil: none is known.
	Entry func(trace.Addr) string
}

// Entry names the function that begins at an address, as a pointer to it leads there; "" where none is known to.
func (g *Graph) Entry(addr trace.Addr) string {
	if g.opts.Entry == nil {
		return ""
	}
	return g.opts.Entry(addr)
}

// Uses tells what of an object is in use in a view (language.md, "cells").
type Uses interface {
	// Applies tells whether element i of a cell of o counts.
	Applies(v mgpp.View, o ObjID, c *check.EdgeCell, i int64) bool
	// Used is the part of o, in bytes from its start, that is in use: less than all
	// of it where o is an array to which a pointer leads that says so (check.Fill).
	Used(v mgpp.View, o ObjID) (lo, hi int64)
}
