package mgpp

import (
	"math"
	"slices"
)

// clocks keeps the wall clock of the operations: where it changes. A run of
// stores has one for all of them, the kernel's events have one each.
type clocks struct {
	chunks []*clockChunk // by time / chunkOps; nil: unknown for all of them
	far    map[uint32]int64
	// The clock of the newest operation, and its chunk.
	last   int64
	newest uint32
}

// clockChunk is the clock of a chunk of operations, in nanoseconds since base:
// from operation at[i] on it is delta[i], before the first it is unknown. While
// every operation from first on has one of its own, `at` is nil.
type clockChunk struct {
	base  int64
	first uint16
	at    []uint16 // ascending
	delta []int32
}

const (
	farClock = math.MinInt32     // in clocks.far
	noClock  = math.MinInt32 + 1 // unknown
)

// set records the clock of the newest operation, which is at t; -1: unknown. It
// is called for every operation.
func (c *clocks) set(t uint32, wall int64) {
	if wall < 0 {
		wall = -1
	}
	if t/chunkOps != c.newest || t == 1 {
		c.newest, c.last = t/chunkOps, -1
	}
	if wall != c.last {
		c.change(t, wall)
	}
}

func (c *clocks) change(t uint32, wall int64) {
	c.last = wall
	i, k := int(t/chunkOps), uint16(t%chunkOps)
	if i >= len(c.chunks) {
		c.chunks = append(c.chunks, make([]*clockChunk, i+1-len(c.chunks))...)
	}
	x := c.chunks[i]
	if x == nil {
		x = &clockChunk{base: wall, first: k}
		c.chunks[i] = x
	}
	if x.at == nil && int(k) != int(x.first)+len(x.delta) { // one had that of the one before
		for j := range x.delta {
			x.at = append(x.at, x.first+uint16(j))
		}
	}
	if x.at != nil {
		x.at = append(x.at, k)
	}
	d := wall - x.base
	switch {
	case wall < 0:
		d = noClock
	case d <= noClock || d > math.MaxInt32:
		if c.far == nil {
			c.far = map[uint32]int64{}
		}
		c.far[t] = wall
		d = farClock
	}
	x.delta = append(x.delta, int32(d))
}

// get returns the clock of the operation at t, -1 if it is unknown.
func (c *clocks) get(t uint32) int64 {
	i, k := int(t/chunkOps), uint16(t%chunkOps)
	if i >= len(c.chunks) || c.chunks[i] == nil || k < c.chunks[i].first {
		return -1
	}
	x := c.chunks[i]
	j := min(int(k-x.first), len(x.delta)-1)
	from := x.first + uint16(j)
	if x.at != nil {
		var exact bool
		if j, exact = slices.BinarySearch(x.at, k); !exact {
			j--
		}
		from = x.at[j]
	}
	switch d := x.delta[j]; d {
	case noClock:
		return -1
	case farClock:
		return c.far[uint32(i)*chunkOps+uint32(from)]
	default:
		return x.base + int64(d)
	}
}

func (c *clocks) bytes() uint64 {
	n := uint64(len(c.chunks))*8 + uint64(len(c.far))*24
	for _, x := range c.chunks {
		if x != nil {
			n += 64 + uint64(cap(x.at))*2 + uint64(cap(x.delta))*4
		}
	}
	return n
}
