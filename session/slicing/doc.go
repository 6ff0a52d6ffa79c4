// Package slicing slices a recording with instructions: from what the user names, or from
// what a report suspects, to the statements that a value came from.
//
//	criterion ──► node of the dependence graph ──► index (package slice) ──► words, picture
//
// The index lies beside the trace, is made when it is first needed, and can be deleted.
package slicing
