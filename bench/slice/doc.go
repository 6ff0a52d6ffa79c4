// Command slice measures what slices cost: the tables of the thesis's chapter 5 (5.1,
// 5.2) for programs of the kind of its own, four threads of 1, 10 and 100 million
// instructions each.
//
//	make bench-slice
//	go run ./bench/slice -lengths 1 -programs options    # a short one
//
// It records the programs under testdata with the engine for full traces, makes the
// index, and slices from the last five reads of memory by the program's own code
// (behind them is only the end of the C library, which reads nothing of interest).
// Side by side are the plain algorithm (4, of DrDebug's kind), which is stopped after a
// minute (and then not tried for the run's other criteria), algorithm 5, and the index.
// The first two read the run's steps from a file, backwards. All times are processor time
// of this process; since a slice by the index uses two processors, it has the time that elapsed
// too. The slices of the three are compared.
package main
