// Package recording opens a trace file together with what gives its addresses names: the
// files of the program, from the trace or from this machine. It delivers the events in
// their order, also beside the executed instructions, and says whether a trace covers a
// specification. What is derived from a trace lies beside it under the names of this
// package's functions.
package recording
