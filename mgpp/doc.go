// Package mgpp keeps the whole history of a program's heap as one memory graph
// (MG++, thesis chapter 3): what every byte was, which node every pointer led
// to and which statement made it so, at every time of the run.
//
//	h := mgpp.New(mgpp.Options{})
//	for each event { h.Apply(&event) } // or h.ApplyRun(&run, sites) for many stores
//	v := h.At(t)                          // the graph at any time
//	n := v.Target(cell, coded.Plain).Node // where the pointer in that cell led
//	w := h.LastWrite(cell, 8, t)          // the operation that put it there
//	h.Op(w).PC                            // its statement
//
// Time counts operations. A store, a bulk write, a birth, a death, a resize, a
// moving realloc, an entry into or exit from membership is one operation each,
// however many fields it covers.
//
// A pointer's target is the node that its value pointed into when it was
// stored; a later node at the same address is never mistaken for it.
//
// mgpp does not know layouts: which bytes are pointers, and to what, is asked
// by those who do (constraints/graph). It reads no files and no processes, and
// it holds the whole history in memory. docs/design/history.md describes how.
package mgpp
