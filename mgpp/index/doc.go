// Package index answers questions about a history without having it in memory:
// from a file beside the trace that says where in the trace to look, and from the
// few chunks of the trace that it names.
//
//	b, err := index.NewBuilder(path, mode, reader) // once for a trace
//	for each event { b.Event(&e) } // or b.Stores(&run)
//	err = b.Finish(index.Notes{})
//
//	x, err := index.Open(path, reader)            // ErrStale: build it again
//	x.LastWrite(cell, 8, t)                       // as of mgpp.History, which answers the same
//	x.At(t).Target(cell, coded.Plain)
//
// Building takes memory for the nodes that live, and a bounded amount for the rest. The file
// is smaller than the trace, holds nothing that the trace does not, and may be
// deleted at any time. docs/design/queries.md describes it.
//
// What it does not do: it has no hypotheses (mgpp.History.Without), no changes of
// whole operations, and no members that calls enter.
package index
