// Package contents knows which blocks live, which calls are open, and what memory
// holds, as far as the events of a run tell: what a history must be told that does not
// begin with the program.
package contents
