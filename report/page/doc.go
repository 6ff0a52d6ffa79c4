// Package page writes a report as one HTML file that needs no network: the
// findings and suspects, the steps that led to them with their pictures, and the
// source that follows.
//
//	err := page.Write(file, r)
//
// The picture of each step is the film of [report.CPoint]; the page's script
// shows what its frames tell. Without script, and in print, the first and the
// last frame are there. docs/design/reporting.md tells how it is used.
//
// Everything in a report may come from the program that was watched: html/template
// escapes it by context, and the page's own policy forbids every script but its
// own, and every connection.
package page
