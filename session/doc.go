// Package session joins the parts: from a specification and a program to a
// report.
//
//	specfile ──► live ──► events ──► analysis ──► report
//
// [Run] records and checks in one go, [Record] writes a trace file, [Locate]
// and [Render] read one, [Check] reads one or a core file:
//
//	r, err := session.Locate(ctx, "quad.mgt", session.AnalysisOptions{Spec: "quadtree.cons"})
//	if err != nil { … }         // it could not be read, or does not cover the specification
//	err = r.Text(os.Stdout, report.TextOptions{})
//
// Questions to a recording have packages of their own ([mgtrace/session/ask],
// [mgtrace/session/slicing]). Each of the functions above fills an [analysis.Analysis], the part that is the same for all: a
// history, a checker over it, and what turns program counters into source lines.
//
// What the parts do is their own business; what is decided here is which of
// them are joined, in what order, and what is said to the user when one fails.
// The package parses no flags, and prints only to the writers that it is given.
package session
