// Command mgtrace names the statement that broke a heap data structure.
//
//	mgtrace run ./prog --spec quadtree.cons
//
// A subcommand parses its flags, calls one function of package session, and
// prints what comes back. Results go to standard output (for run, whose
// standard output is the program's, to standard error or --report FILE),
// progress and warnings to standard error.
//
// Exit status: 0 nothing found, 1 inconsistency found, 2 could not run, 3 the
// program crashed and no inconsistency was found.
package main
