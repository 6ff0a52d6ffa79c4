// Package query answers questions about a recorded history: which statement
// wrote a cell, what a node lived through, what the memory graph was at a time,
// and what changed between two times.
//
//	n := query.NewNames(history, origins, typing)
//	p, err := query.ParsePath("qdtree#17.child[0]")
//	c, err := n.Resolve(p, history.At(t))
//	for w := range n.Writers(c, t) {
//		fmt.Println(w.Time, w.PC, w.Before, "→", w.After)
//	}
//
// It needs no specification: nodes have the types that their allocation sites
// show, and are named by type and number, in order of birth ("qdtree#17").
//
// [ParseTime] is the one reader of times as users write them ("crash", "call 3
// of insert", "+1.5s"); whoever knows the run (Times) turns them into timestamps.
//
// A [History] is the one in memory (mgpp) or that of an index (package index): the
// answers are the same. The package reads no files, and turns no program counter
// into a line.
package query
