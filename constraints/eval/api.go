package eval

import (
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Instance is a constraint with a binding of its universal variables and loop
// indices. It is comparable: the identity of an inconsistency.
//
// Constraint is an index in Spec.Constraints. Two kinds of inconsistency belong
// to no constraint of the specification: -1-a is a cycle in the evaluation of
// Spec.Attributes[a], SCC its smallest node; len(Constraints)+t is a dangling
// pointer in Nodes[0], a node of Spec.Types[t] ("check dangling for T;").
type Instance struct {
	Constraint int
	Nodes      [4]graph.ObjID // by slot; 0 beyond Constraint.Universal
	Index      [3]int64
	// SCC distinguishes one cycle (its smallest object) where a constraint
	// was recognised as acyclicity.
	SCC graph.ObjID
}

// Verdict is what an instance evaluates to.
type Verdict uint8

const (
	Holds         Verdict = iota
	NotApplicable         // guard false or undefined
	Broken
	Absent // a bound object is not alive, or a loop's index leads out of one: there is no such instance
)

// Result of evaluating an instance on a view.
type Result struct {
	Verdict Verdict
	Reason  string // Broken: why, with field names and values
	// Through is the address through which it would have to be read, where that is why it
	// is Broken: nothing is known there, or, with Block, no node is. 0: that is not why.
	Through trace.Addr
	// Raw: no node was expected there, but numbers, or a text.
	Raw bool
	// Block is the block to which a pointer leads, and in which a node was expected, where
	// that is why it is Broken. 0: that is not why.
	Block mgpp.NodeID
	// Wanted is the type of which a node was expected where a pointer leads to none. nil: that is not why it is Broken.
	Wanted *check.NodeType
	// Args are the operands of the constraint as written, in order
	// (algorithms.md: they define "contributed" and "related"). All operands
	// are there, also those behind a decided "and" or "or".
	Args []Arg
	// Deps are the bytes, lives and in-edges beneath the arguments: they say
	// when to look again.
	Deps []Dep
}

// Arg is the value of one operand. Two results have equal arguments iff their
// Args are equal element by element.
type Arg struct {
	Text  string // as written: "X.OUTDEGREE"
	Value string // canonical: a number, "NULL", "qdtree#3", "true", "undefined: …"
}

// undefinedText is how the value of an operand begins that has none.
const undefinedText = "undefined: "

// Undefined reports whether the operand has no value.
func (a Arg) Undefined() bool { return strings.HasPrefix(a.Value, undefinedText) }

// Dep is something that an evaluation read.
type Dep struct {
	Kind DepKind
	Addr trace.Addr  // DepBytes
	Size uint64      // DepBytes
	Obj  graph.ObjID // DepIn, DepLife, DepAttr
	Node mgpp.NodeID // DepLife of a block that is no object
	Type int         // DepPopulation: NodeType.Index; DepAttr: Attribute.Index
}

// DepKind classifies a Dep.
type DepKind uint8

const (
	DepBytes      DepKind = iota // bytes of memory
	DepIn                        // the set of edges into Obj
	DepLife                      // birth, death or resize of Obj
	DepPopulation                // the set of live objects of a type
	DepAttr                      // whatever lies beneath attribute Type of Obj (Model.Beneath)
)

// Inconsistency is a broken instance.
type Inconsistency struct {
	Instance Instance
	Reason   string
	Total    int // how many bindings this one stands for (a cycle of 1,000 nodes is one)
	// Through, Raw, Block and Wanted are those of its Result.
	Through trace.Addr
	Raw     bool
	Block   mgpp.NodeID
	Wanted  *check.NodeType
}

// Model is what fault location asks of the checker. Times are any time of the
// history, views may be hypothetical.
type Model interface {
	// View returns the memory graph at t.
	View(t mgpp.Timestamp) mgpp.View
	// All returns every inconsistency of the view.
	All(v mgpp.View) []Inconsistency
	// Broken returns the instances that All lists, in no order.
	Broken(v mgpp.View) []Instance
	// Cures compares a hypothetical view with the history's at its time: which instances
	// are broken there only, and which on v only, in no order. It is not ok, and this may
	// not be all, where none is cured, or by less than lead more than are created.
	Cures(v mgpp.View, lead int) (cured, created []Instance, ok bool)
	// Eval evaluates one instance.
	Eval(i Instance, v mgpp.View) Result
	// Verdict is that of Eval, for callers that ask for nothing else.
	Verdict(i Instance, v mgpp.View) Verdict
	// Touched returns a superset of the instances some argument of which
	// differs between t-1 and t, binding objects alive at either.
	Touched(t mgpp.Timestamp) []Instance
	// LastChange returns the newest operation at or before t that touched the
	// dependency, 0 if none.
	LastChange(d Dep, t mgpp.Timestamp) mgpp.Timestamp
	// Beneath returns what an attribute's rules read on a view; other attributes are
	// among that. Of other dependencies it returns nil. The result is read-only.
	Beneath(d Dep, v mgpp.View) []Dep
	// Weight is how much deps come to at t, with all that lies beneath them. What lies
	// beneath two attributes counts twice. Of more than most it says no more than that.
	Weight(deps []Dep, t mgpp.Timestamp, most int) int
}
