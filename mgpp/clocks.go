package mgpp

import (
	"math"
	"slices"
)

// clocks keeps the wall clock of the operations that have one: an engine in the
// process has it for few, the kernel for all.
type clocks struct {
	chunks []*wallChunk // by time / chunkOps; nil: unknown for all of them
	far    map[uint32]int64
}

// wallChunk is the clock of a chunk of operations: nanoseconds since base. As
// long as every operation has one, `at` is nil and op first+i has delta[i].
type wallChunk struct {
	base  int64
	first uint16   // the first operation of the chunk that has one
	at    []uint16 // ascending
	delta []int32  // farWall: in walls.far
}

const farWall = math.MinInt32

// set records the clock of the operation at t, the newest.
func (w *clocks) set(t uint32, wall int64) {
	i, k := int(t/chunkOps), uint16(t%chunkOps)
	if i >= len(w.chunks) {
		w.chunks = append(w.chunks, make([]*wallChunk, i+1-len(w.chunks))...)
	}
	c := w.chunks[i]
	if c == nil {
		c = &wallChunk{base: wall, first: k}
		w.chunks[i] = c
	}
	if c.at == nil && int(k) != int(c.first)+len(c.delta) { // one had none
		for j := range c.delta {
			c.at = append(c.at, c.first+uint16(j))
		}
	}
	if c.at != nil {
		c.at = append(c.at, k)
	}
	d := wall - c.base
	if d <= farWall || d > math.MaxInt32 {
		if w.far == nil {
			w.far = map[uint32]int64{}
		}
		w.far[t] = wall
		d = farWall
	}
	c.delta = append(c.delta, int32(d))
}

// get returns the clock of the operation at t, -1 if it is unknown.
func (w *clocks) get(t uint32) int64 {
	i, k := int(t/chunkOps), uint16(t%chunkOps)
	if i >= len(w.chunks) || w.chunks[i] == nil {
		return -1
	}
	c := w.chunks[i]
	j := int(k) - int(c.first)
	if c.at != nil {
		var ok bool
		if j, ok = slices.BinarySearch(c.at, k); !ok {
			return -1
		}
	}
	if j < 0 || j >= len(c.delta) {
		return -1
	}
	if d := c.delta[j]; d != farWall {
		return c.base + int64(d)
	}
	return w.far[t]
}

func (w *clocks) bytes() uint64 {
	n := uint64(len(w.chunks))*8 + uint64(len(w.far))*24
	for _, c := range w.chunks {
		if c != nil {
			n += 64 + uint64(cap(c.at))*2 + uint64(cap(c.delta))*4
		}
	}
	return n
}
