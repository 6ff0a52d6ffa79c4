// Package inline records a process from inside: it replaces the instructions of
// a capture plan by jumps to trampolines that write records into memory shared
// with the tracer. A store costs nanoseconds, and no privilege is needed for
// one's own child.
//
//	e, err := inline.Attach(plan, process, inline.Options{…}) // process is held
//	if err != nil { … }
//	defer e.Close()
//	… process.Run …
//	err = e.Run(ctx, capture.Events(func(ev *trace.Event) error { … }))
//
// The parts are packages of their own: where patches go (inline/patch), what a
// trampoline does (inline/emit), the routine for what is rare (inline/hook), the
// order of records (inline/log). This one puts them into a process, changes full
// buffers, keeps signals, forks and new threads from seeing a trampoline, and
// takes everything out again. docs/design/inline.md tells the rest.
package inline
