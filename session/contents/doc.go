// Package contents knows what memory holds as far as the events of a run tell: for
// histories that do not begin with the program.
package contents
