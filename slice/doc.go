// Package slice says where a value came from: backward dynamic slices over the
// executed instructions of a recorded run (thesis, chapter 5), and forward ones.
//
//	sites, err := slice.NewProgram(source)          // control-flow graphs
//	err = slice.BuildIndex(file, sites, source)     // one pass over the run
//	x, err := slice.OpenIndex(file, size, source)
//	s, err := x.Backward(slice.Criteria{node}, slice.Options{})
//	for st := range s.Statements() { … st.PC, st.Count, st.Distance … }
//	s.Path(st)                                      // from there to the criterion
//
// The run comes as [Event]s from a [Source]: straight-line [Code] that was
// executed, with the addresses that its instructions touched, and what the kernel
// wrote. What each instruction reads and writes is in [Op]s; the package knows no
// instruction set. Three algorithms give the same slices: [Plain] (the thesis's
// algorithm 4), [Filtered] (algorithm 5) and [Index], in which each use has its
// definition, so that a slice costs its own size.
//
// It knows no source lines and reads no files but the index that it is given.
package slice
