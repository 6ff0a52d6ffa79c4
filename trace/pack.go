package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Pack writes the trace of src to dst in its most compact form: the blocks that
// were written uncompressed, to keep up with the program, are compressed. The
// events, their order and all else stay the same. A trace that was cut off is
// packed as far as it is whole, and remains one that was cut off. Damage is an
// error, and dst is then no trace. If progress is not nil it is told now and then
// how many bytes of src have been packed.
func Pack(dst io.Writer, src *Reader, progress func(done, total int64)) error {
	if src.damage != nil && !errors.Is(src.damage, ErrTruncated) {
		return fmt.Errorf("pack: %w", src.damage)
	}
	z, err := newEncoder()
	if err != nil {
		return err
	}
	w := &Writer{out: outlet{w: dst, zstd: z}}
	if _, err := dst.Write(binary.LittleEndian.AppendUint32([]byte(magic), version)); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	for i := range src.blocks.len() {
		b, err := src.blocks.get(i)
		if err != nil {
			return fmt.Errorf("pack: %w", err)
		}
		raw, err := src.payload(b, &src.other)
		if err != nil {
			return fmt.Errorf("pack: %w", err)
		}
		if b.codec == codecRaw {
			w.writeBlock(b.kind, uint64(b.count), raw)
		} else {
			w.raw = append(append(w.raw[:0], emptyHeader[:]...), src.other.packed...)
			w.err = w.out.write(b.block, w.raw)
		}
		if w.err != nil {
			return fmt.Errorf("pack: %w", w.err)
		}
		if progress != nil {
			progress(b.at+int64(b.length), src.end)
		}
	}
	return nil
}
