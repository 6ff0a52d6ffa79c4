// Package sarif writes a report in the Static Analysis Results Interchange Format,
// version 2.1.0, for editors and code-review tools.
//
//	err := sarif.Write(file, r, sarif.Options{Version: "v1.0", Root: "/home/me/project"})
//
// A result is a suspect: its rule is the constraint that it broke, its code flow
// the steps from the last healthy C-point. Where nobody is suspected, the place
// where a constraint was found broken is the result. docs/design/reporting.md
// says more. Section numbers in comments are those of the standard.
package sarif
