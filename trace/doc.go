// Package trace defines the events of a recorded run, the tables that describe
// it, and the file format.
//
// Writing:
//
//	w := trace.NewWriter(file, program)
//	w.Attach("prog", elf)
//	w.Write(&event)                    // for each
//	w.WriteStores(&run)                // or many stores at once, of w.AddSites
//	err := w.Finish(trailer)
//
// Reading:
//
//	r, err := trace.Open(path)
//	for e := (trace.Event{}); ; {
//		if err := r.Next(&e); err != nil { … } // io.EOF: whole; ErrTruncated: what came before is good
//	}
//
// Stores come by the hundred million: [Writer.WriteStores] and
// [Reader.NextBatch] take and give them in runs, at a few nanoseconds each. A
// run and its stores as events of their own (Reader.Next) are the same.
//
// [Reader.Chunks] tells without decoding which parts of a trace can be about
// an address or a time, [Reader.Seek] goes there, and [Pack] makes a trace
// compact.
//
// One table (kinds.go) says which kinds of event there are and which fields
// they have; writer, reader, text form and docs/trace-format.md follow it.
// Format and ParseText are the text form of an event, for golden files.
//
// The package does not interpret events: that is mgpp's part.
package trace
