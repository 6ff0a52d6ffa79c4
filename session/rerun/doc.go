// Package rerun makes experiments with a call of a watched function: it is executed once more on
// the memory that was recorded (package replay), with one decision taken the other way, and
// the specification is checked on what comes of it.
//
//	r, ok := rerun.New(rerun.Recorded{...})   // the call behaves as it was recorded
//	for _, d := range r.Switched(false) { … }      // decisions without which all would be well
//
// It does nothing where the call can not be executed as it was recorded: then nothing is known.
package rerun
