// Package engine runs a process as translations of its code, which record what it
// executes: the fast engine of full traces. Package translate makes the
// translations; this package puts them into the process, leads its threads there,
// and brings them to places of the program where signals find them.
//
//	e, err := engine.Attach(proc, sink, engine.Options{})   // proc stands before its first instruction
//	status, err := proc.Run(ctx, target.Handlers{…})
//	err = e.Close()
//
// The program's own code is never executed: it has lost PROT_EXEC, and a thread that
// gets there all the same faults and is led back. docs/design/translate.md has the
// whole.
package engine
