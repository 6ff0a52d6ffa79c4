// Package faultloc names the statements that made a structure inconsistent.
//
// [Locate] starts from the inconsistencies at a C-point and reads like the
// method (thesis chapter 4, restated in docs/design/locating.md):
//
//	core         what is broken, and what else may follow from that
//	traceback    algorithm 3: the operations that contributed, by jumping from
//	             change to change of what the verdicts depend on
//	entered      what entered an inconsistency's dependencies when it broke:
//	             its last writers are suspects of the second class
//	statements   operations become statements
//	weigh        counterfactual: what holds without this one operation's bytes, or with
//	             the operands of its store the other way round?
//	repair       the one cell that would make all well, or the numbers that one statement left wrong
//	blame        its writer, or the statement whose store is missing, and beside what:
//	             habits of the run, and like nodes, tell which
//	counted      a number was wrong already where others only counted on from it
//	outdated     what was right, and then the constraints were broken without it
//	markWhole    after what a statement did all was well once more
//	odd          writes that went astray, frees that came too early, the place of a crash
//	decided      the call executed again: had a condition gone the other way, a value been another one, or another call been made?
//	inner        a call that went wrong again and again: judged where, up to then, a constraint always held
//	rank         statements in order of suspicion
//
// An example: a list is linked by line 40 (n->next = q) and line 41
// (q->prev = n). In one call line 41 is not reached. "q->prev == n" breaks by
// line 40, which traceback outputs; without line 40 it would hold, but n would
// be lost. Setting q->prev to n mends it and does no harm; line 41 does so in
// the other nodes, and did not run since the last healthy C-point. So
//
//	omitted 41  repair: cures 1 of 1, breaks nothing; ran behind line 40 in 8 of 8 cases
//	wrote   40  counterfactual: cures 1 of 1, one node orphaned; flip
//
// The package knows neither source lines nor processes: a statement is a
// program counter, and [Input.Statement] says which of them are the same line.
// Everything that it asks of the checker is in eval.Model, what it may ask
// of the memory graph in [History] and [Structure], and what of code in [Rerun].
//
// It does not decide what is inconsistent, it draws nothing, and it puts
// nothing into words: evidence is numbers.
package faultloc
