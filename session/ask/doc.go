// Package ask answers what the user asks about a recording: who wrote a cell, what a node
// lived through, the memory graph at a time, what the recording holds, which instructions
// were executed.
//
//	recording ──► history in memory, or an index beside the trace ──► query ──► text, JSON, picture
//
// A short trace is taken into memory; a long one gets an index, over which an answer costs
// its own size.
package ask
