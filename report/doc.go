// Package report holds the findings of a run as data, and prints them as text
// or JSON.
//
// A [Report] is complete in itself: whoever fills it (package session) has
// already resolved statements to source lines and named nodes and fields. The
// JSON form is a contract with other tools: keys may be added, never changed.
//
//	var r report.Report
//	r.Text(os.Stderr, report.TextOptions{Color: true})
//
// The package decides nothing: neither what is a suspect nor in which order.
package report
