package index

import (
	"encoding/binary"
	"errors"
)

// chunk is where a chunk of the trace begins.
type chunk struct {
	ops   uint64 // before it
	event uint64 // its first
}

const chunkBytes = 2 * 8

func encodeChunks(list []chunk) []byte {
	b := make([]byte, 0, chunkBytes*len(list))
	for _, c := range list {
		b = binary.LittleEndian.AppendUint64(b, c.ops)
		b = binary.LittleEndian.AppendUint64(b, c.event)
	}
	return b
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
	x.chunks = make([]chunk, count)
	var last chunk
	for i := range x.chunks {
		le, at := binary.LittleEndian, b[i*chunkBytes:]
		c := chunk{le.Uint64(at), le.Uint64(at[8:])}
		if c.ops < last.ops || c.ops > uint64(x.d.Now) || c.event < last.event {
			return ErrCorrupt
		}
		x.chunks[i], last = c, c
	}
	return nil
}
