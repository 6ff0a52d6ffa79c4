// Package native builds a graph of package infer from the instructions that an x86-64
// program executed (package flow).
//
//	f := native.New(options)
//	for what happened, in order of instants {
//		f.Event(&event)                           // stores tell their values
//		f.Block(id, block)                        // before the first record that names it
//		f.Record(&rec)
//	}
//	f.Graph().Blocks()
//
// A flow has no values. Addresses are known all the same where they matter: the base
// register of an access is its address less the displacement; and from there on the
// value is followed through copies, sums with constants, and memory. What an address
// was computed from is followed with it: that is the base which algorithm 2 joins the
// accessed address to. A pointer that is loaded is its own base (thesis 3.2.1: pointers
// point to the head of a node), unless the allocator's code is left out: then all that
// a block's addresses are computed from is what the allocator returned.
package native
