// Package infer builds a memory graph without knowing the allocator (thesis 3.1.2 and
// 3.2, algorithms 1 and 2): from the stream of a program's instructions that handle
// heap addresses.
//
//	g := infer.New(infer.Options{Allocator: true})
//	g.Offset(pc, base, addr, 8)     // an access, or arithmetic, at base + offset
//	g.Store(pc, addr, 8, value, 0)  // a store, of a heap address or of data
//	g.Begin(addr, moment)           // a call that is not in the stream gave out a block
//	s := g.At(t)                    // nodes, clusters and edges at any time
//	b := g.Blocks()                 // what the nodes turned out to be
//
// Addresses that are computed from one another are one node. With the allocator's code
// in the stream, an address that is stored is the head of a node, which splits what it
// pointed into; what connects two nodes merges them into a cluster. Without it, a
// pointer into a node is an edge with an offset, and what connects two nodes is a
// suspected overflow.
//
// Each change of the graph takes one timestamp. The graph at an earlier time is
// retrieved from who owned each address then: nodes that were split later are whole
// again, and those that were merged later are apart.
//
// The algorithm's limits (thesis 3.4) are these: a number that looks like a heap
// address makes a node, and a node ends with its last address that is ever used.
package infer
