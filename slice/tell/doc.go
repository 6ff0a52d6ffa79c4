// Package tell puts a slice into the words of the program: its statements instead
// of its instructions, each with the way of dependences to the criterion.
//
//	answer, err := tell.Slice(index, s, program, tell.Options{Most: 30})
//	answer.Text(os.Stdout, report.TextOptions{})
//
// What the program's addresses are called, a [Program] knows.
package tell
