package capture

// Libraries is told by an engine where the program has files of the plan mapped that were not there
// when the recording began. It is called between two events, by the goroutine that gives these to
// the sink: everything that was recorded before is with the sink, and nothing of what comes after.
type Libraries interface {
	// Opened tells that a file of the plan, by its index, is mapped with a bias. The addresses of its code are told
	// as if it were moved by what is returned: see probe.Image.
	Opened(image int, bias uint64) (moved uint64)
	// Closed tells that it is not any more.
	Closed(image int)
}
