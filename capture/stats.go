package capture

import "mgtrace/trace"

// Stats are an engine's counts. Hits is Delivered plus Dropped once it has
// ended.
type Stats struct {
	Probes    uint64 // times a probe was hit
	Filtered  uint64 // stores that reach neither heap nor wanted globals
	Hits      uint64 // records that the probes set out to send
	Delivered uint64 // records that were read
	Dropped   uint64 // records that were lost
	Stops     uint64 // times the target was held back
	Stores    uint64 // records of stores; an engine may leave this and what follows 0
	Traps     uint64 // stores that were caught by a trap, which costs microseconds
	// Tactics count the sites that an engine probes in one way each.
	Tactics []trace.Tactic
}
