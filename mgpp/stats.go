package mgpp

import (
	"unsafe"

	"mgtrace/trace"
)

// AnomalyKind says what is wrong.
type AnomalyKind uint8

// What allocator calls can have wrong.
const (
	FreeUnknown   AnomalyKind = iota + 1 // free or realloc of what was never a block
	FreeTwice                            // free or realloc of a dead block: Node
	FreeInside                           // free or realloc of an address inside a live block, or of a declared object: Node
	AllocOverLive                        // a block appeared over a live one (Node), which was ended: its free was not seen
	Implausible                          // an extent that can not be: the event was ignored
)

// Anomaly is an event that does not fit the history. It is no operation, since
// it changes nothing that is known.
type Anomaly struct {
	Kind   AnomalyKind
	Time   Timestamp // operations before it
	Thread trace.ThreadID
	PC     trace.Addr
	Wall   int64
	Addr   trace.Addr
	Size   uint64
	Node   NodeID // the node concerned, 0 if none
	Name   string // of the function
	Stack  []trace.Addr
}

// Gap is where the history is known to lack something.
type Gap struct {
	Time   Timestamp  // operations before it
	Kind   trace.Kind // KindLost or KindTruncated
	Thread trace.ThreadID
	Events uint64 // KindLost: how many
	Why    string
}

// Anomalies returns what did not fit, in order; read-only.
func (h *History) Anomalies() []Anomaly { return h.anomalies }

// Gaps returns where events are missing, in order; read-only.
func (h *History) Gaps() []Gap { return h.gaps }

// Stats are sizes of a history.
type Stats struct {
	Ops     int
	Nodes   int
	Live    int
	Dropped uint64 // writes that concerned no node
	Sites   int
	Pages   int
	Bytes   uint64 // of memory, about
}

// Stats returns the sizes of the history.
func (h *History) Stats() Stats {
	s := Stats{
		Ops: int(h.ops.n), Nodes: h.NodeCount(), Live: h.nodes.live,
		Dropped: h.dropped, Sites: len(h.ops.all), Pages: h.mem.pages.len(),
	}
	s.Bytes = uint64(unsafe.Sizeof(*h)) + h.mem.pageIndex.bytes() + h.mem.chains.bytes() + uint64(h.mem.splits.len())*splitBytes + h.ops.bytes() + h.nodes.bytes() + uint64(h.owners.all.len())*ownerBytes + uint64(cap(h.doubtful))*4
	return s
}
