package ask

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"

	"mgtrace/report"
)

// MemoryLimit is how much memory, bytes, this process may take for a trace; 0: as much
// as it needs.
type MemoryLimit int64

// Keep has the garbage collector work as hard as the limit asks. It holds for the
// whole process: a program sets it once.
func (m MemoryLimit) Keep() {
	if m > 0 {
		debug.SetMemoryLimit(int64(m.heap()))
	}
}

// heap is the part of the limit, bytes, that is for what Go's runtime counts.
func (m MemoryLimit) heap() float64 { return (float64(m) - ownPages) * heapShare }

// Quick has the garbage collector wait: what an answer from an index takes is a few MB,
// which would be collected twice before it is told. It holds for the whole process, for
// one that answers and ends.
func (q *Queries) Quick() {
	if q.x != nil {
		debug.SetGCPercent(quickPercent)
	}
}

const (
	// quickPercent has the first collection at 16 MB.
	quickPercent = 400
	// ownPages is what the pages of the program's own file may take, bytes: 13 MB were seen.
	ownPages = 16e6
	// heapShare is the part of the rest that Go's runtime is told: on a busy machine its
	// collector is late, and takes more.
	heapShare = 0.85
	// liveShare is the part of the heap that what is in use may take: the collector needs
	// room to work in.
	liveShare = 0.8
	// ceilingEvery is how many calls of ceiling.over pass between two that look.
	ceilingEvery = 256
)

// ceiling ends what takes more memory than a limit allows.
type ceiling struct {
	limit MemoryLimit
	calls int
	live  []metrics.Sample
}

// over reports whether more is in use than the limit allows.
func (c *ceiling) over() bool {
	if c.limit <= 0 {
		return false
	}
	if c.calls++; c.calls%ceilingEvery != 1 {
		return false
	}
	if c.live == nil {
		c.live = []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // at the last collection
	}
	metrics.Read(c.live)
	return float64(c.live[0].Value.Uint64()) > c.limit.heap()*liveShare
}

// errMemory: a trace does not fit in the memory that is allowed.
var errMemory = errors.New("does not fit in memory")

// refuse is why a trace can not be taken in: what it is that does not fit, after how
// many events of how many, and how many bytes of it grow with them.
func (c *ceiling) refuse(what string, grown, done, total uint64) error {
	live := float64(c.live[0].Value.Uint64())
	need := ownPages + (live+float64(grown)*float64(total-min(total, done))/float64(max(done, 1)))/liveShare/heapShare
	return fmt.Errorf("%s %w of %s MB: after %s of %s events %s MB are in use. Allow about --memory %dMB", what, errMemory,
		report.Thousands(uint64(c.limit)/1e6), report.Thousands(done), report.Thousands(total), report.Thousands(uint64(live/1e6)), uint64(math.Ceil(need/1e8))*100)
}
