package index

import (
	"encoding/binary"
	"errors"
	"sort"
)

// chunk is where a chunk of the trace begins.
type chunk struct {
	ops   uint64 // before it
	event uint64 // its first
}

// chunks is the list of all, as it lies in the file: a question wants a few.
type chunks []byte

const chunkBytes = 2 * 8

func encodeChunks(list []chunk) chunks {
	b := make(chunks, 0, chunkBytes*len(list))
	for _, c := range list {
		b = binary.LittleEndian.AppendUint64(b, c.ops)
		b = binary.LittleEndian.AppendUint64(b, c.event)
	}
	return b
}

func (c chunks) len() int           { return len(c) / chunkBytes }
func (c chunks) ops(i int) uint64   { return binary.LittleEndian.Uint64(c[i*chunkBytes:]) }
func (c chunks) event(i int) uint64 { return binary.LittleEndian.Uint64(c[i*chunkBytes+8:]) }

// of returns the number of the chunk that made the operation at t.
func (c chunks) of(t uint64) int {
	return max(sort.Search(c.len(), func(i int) bool { return c.ops(i) >= t })-1, 0)
}

// takeChunks reads the list of the chunks, which are so many.
func (x *Index) takeChunks(count int) error {
	b, err := x.d.Chunks.read(x.f)
	if err != nil {
		return errors.Join(ErrCorrupt, err)
	}
	if len(b) != chunkBytes*count || count == 0 && x.d.Now > 0 {
		return ErrCorrupt
	}
	x.chunks = b
	for i := range count {
		if x.chunks.ops(i) > uint64(x.d.Now) || i > 0 && (x.chunks.ops(i) < x.chunks.ops(i-1) || x.chunks.event(i) < x.chunks.event(i-1)) {
			return ErrCorrupt
		}
	}
	return nil
}
