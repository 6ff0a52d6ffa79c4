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
type Object struct {
	ID      ObjID
	Type    *check.NodeType // nil for a global of no declared type
	Ordinal int             // "qdtree#3" is the third object of its type
	Host    mgpp.NodeID     // the block it lies in; 0: none (intrusive, on the stack or unknown memory)
	Addr    trace.Addr
	Size    uint64
	Birth   mgpp.Timestamp
	Death   mgpp.Timestamp // 0: alive
}

// Typing assigns types to allocations.
type Typing interface {
	// TypeOf returns the declared type of a block and the offset of the object
	// in it, or nil if the block is of no declared type. why says how it is
	// known ("alloc rule", "debug information", "by size").
	TypeOf(n mgpp.Node) (t *check.NodeType, offset int64, why string)
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
