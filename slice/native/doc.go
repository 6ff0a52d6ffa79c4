// Package native shows a recorded flow of an x86-64 program to package slice:
// what each instruction reads and writes, where calls and jumps go, and what the
// kernel did.
//
//	s := native.New(flowReader, files)
//	program, err := slice.NewProgram(s)
//
// Instructions that were executed come from the flow; those that were not, which
// the control-flow graphs need, from the program's [Files].
package native
