// Package live watches a program that runs: it starts it, or attaches to it, has the
// plan made of what to capture, chooses the engine, and gives what happens to those
// who look on and to the file of a recording, until the program has ended or is let go.
//
//	process ──► images ──► plan ──► engine ──► intake ──► gate ──► observers, recorder
package live
