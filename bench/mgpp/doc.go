// Command mgpp measures what questions to a long history cost, and what it takes on
// disk and in memory. It records a program of its own that makes a hundred million
// changes to its heap, packs the trace, makes its index, and asks.
//
//	make bench-mgpp
//	go run ./bench/mgpp -mgtrace ./mgtrace -changes 1000000 -thesis -    # a short one
//	go run ./bench/mgpp -mgtrace ./mgtrace -trace 'old/*.mgt'  # of traces that there are
//
// A query is timed twice: as a whole process, and inside of one, from opening the
// trace to the last byte of the answer. Both are what a user waits for, with all
// files in the page cache; the first has the start of the program in it. Each is
// asked many times, at times all over the run; the fastest and the median are printed, and those of the processor
// time, for the machine may be busy.
//
// Then it runs the eight programs of the thesis's table 3.1, or their current versions, on
// inputs of the size that the thesis had, and prints what the history takes in memory
// against table 3.4 and how much longer the programs take against table 3.3:
//
//	go run ./bench/mgpp -mgtrace ./mgtrace -thesis .           # only these
//	go run ./bench/mgpp -mgtrace ./mgtrace -thesis 'ls|perl' -thesis-rounds 1
//
// *Blocks* are those of malloc, with the history that the engine inside the process records
// (record); *found* are those that are found without knowing it, in a recording of all
// instructions (--full), which takes the processor time in the last column. Times are
// processor time, with all that mgtrace itself does, its start included.
package main
