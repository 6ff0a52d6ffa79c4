// Package faultloc names the statements that made a structure inconsistent.
//
// [Locate] starts from the inconsistencies at a C-point and reads like the
// method (thesis chapter 4, algorithms.md section 2):
//
//	traceback   algorithm 3: the operations that contributed, by jumping from
//	            change to change of what the verdicts depend on
//	enter       what entered an inconsistency's dependencies when it broke:
//	            its last writers are suspects of the second class
//	repair      the one cell that would make all well: its writer, or the
//	            place where its store is missing
//	evidence    counterfactual, flip, frequency
//	rank        statements in order of suspicion
//
// The package knows neither source lines nor processes: a statement is a
// program counter, and [Input.Statement] says which of them are the same line.
// Everything that it asks of the checker is in eval.Model.
//
// It does not decide what is inconsistent, and it draws nothing.
package faultloc
