// Package describe puts objects of a memory graph into words: their fields by
// name, with values as a programmer writes them, at any time.
//
//	for _, f := range describe.Fields(g, view, o) {
//		fmt.Println(f.Path, f.Text) // child[2] qdtree#7
//	}
//	describe.Change(g, history, t) // "qdtree#1.child[0]: qdtree#2 → NULL"
//
// Unknown bytes are words too: a field that was never written reads "never
// written", not 0. The package draws no conclusions.
package describe
