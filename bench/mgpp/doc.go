// Command mgpp measures what questions to a long history cost, and what it takes on
// disk and in memory. It records a program of its own that makes a hundred million
// changes to its heap, packs the trace, makes its index, and asks.
//
//	make bench-mgpp
//	go run ./bench/mgpp -mgtrace ./mgtrace -changes 1000000    # a short one
//	go run ./bench/mgpp -mgtrace ./mgtrace -trace 'old/*.mgt'  # of traces that there are
//
// A query is timed twice: as a whole process, and inside of one, from opening the
// trace to the last byte of the answer. Both are what a user waits for, with all
// files in the page cache; the first has the start of the program in it. Each is
// asked many times; the fastest and the median are printed, for the machine may be
// busy, and the processor time of the process.
package main
