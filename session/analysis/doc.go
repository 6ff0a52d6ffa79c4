// Package analysis follows the events of a run, of a program that still runs or
// of a recording, checks a specification at its C-points, has what broke it
// located, and says all of that in the words of a report.
//
//	events ──► history, typed graph ──► checker at C-points ──► fault locator ──► report
package analysis
