// Package replay executes a call of a program's function once more, on a copy of the memory
// that there was when it began, and with another decision where that is asked for:
//
//	m := replay.New(world)
//	was := m.Run(call)                                            // what the program did
//	call.Flip = func(n int, pc uint64) bool { return n == 17 }
//	other := m.Run(call)                                          // had its 18th decision gone the other way
//
// It is the experiment of X. Zhang, N. Gupta and R. Gupta, "Locating Faults Through Automated
// Predicate Switching" (ICSE 2006), without the program: what a call does depends on its
// arguments and on memory, and a recording has both.
//
// A recording does not have everything. Whoever asks compares the effects of the first run with
// those that were recorded ([Reproduces]): only where they agree is anything learnt from a second one.
//
// Of a thread that was stopped anywhere it tells from which memory an address came, back from the instruction ([Led]).
//
// It knows the instructions that compilers make of ordinary code, and the functions of the C
// library that programs with data structures call. At any other it ends with an error. It has
// no kernel, no threads and no processes.
package replay
