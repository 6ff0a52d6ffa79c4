// Package trace defines the events of a recorded run, the tables that describe
// it, and the file format.
//
// Writing:
//
//	w := trace.NewWriter(file, program)
//	w.Attach("prog", elf)
//	w.Write(&event)                    // for each
//	err := w.Finish(trailer)
//
// Reading:
//
//	r, err := trace.Open(path)
//	for e := (trace.Event{}); ; {
//		if err := r.Next(&e); err != nil { … } // io.EOF: whole; ErrTruncated: what came before is good
//	}
//
// One table (kinds.go) says which kinds of event there are and which fields
// they have; writer, reader, text form and docs/trace-format.md follow it.
// Format and ParseText are the text form of an event, for golden files.
//
// The package does not interpret events: that is mgpp's part.
package trace
