package flow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/klauspost/compress/zstd"

	"mgtrace/trace"
)

// Path is where the flow of a trace lies: beside it.
func Path(tracePath string) string { return tracePath + ".flow" }

// Reader reads a flow. Its methods may be called by several goroutines at once.
type Reader struct {
	r       io.ReaderAt
	size    int64
	close   func() error
	head    Head
	trailer *Trailer
	damage  error // why the sections end where they do; nil at the end of the file
	end     int64 // of the last whole section
	blocks  []Block
	bases   []int // number of each block's first static access
	chunks  []Chunk
}

// Chunk is a piece of a flow that can be read by itself.
type Chunk struct {
	First    trace.Instant // of its first instruction
	Insts    uint64
	Records  int
	Gaps     int // of the records
	Accesses int // of memory
	Bytes    int // in the file

	head section
	at   int64 // of its payload
}

// Open opens the flow in a file. Close it after use.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	var r *Reader
	if err == nil {
		r, err = NewReader(f, info.Size())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	r.close = f.Close
	return r, nil
}

// Close closes the file of Open.
func (f *Reader) Close() error {
	if f.close != nil {
		return f.close()
	}
	return nil
}

// NewReader reads the flow that is the first size bytes of r. It takes in the blocks;
// the records are read when they are asked for.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	f := &Reader{r: r, size: size, blocks: make([]Block, 1), bases: make([]int, 1)}
	if err := f.checkMagic(); err != nil {
		return nil, err
	}
	z, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	defer z.close()
	f.scan(z)
	if f.end == int64(fileHeader) {
		if f.damage == nil {
			f.damage = ErrTruncated
		}
		return nil, fmt.Errorf("%w, before its head", f.damage)
	}
	return f, nil
}

func (f *Reader) checkMagic() error {
	head := make([]byte, fileHeader)
	n, err := f.r.ReadAt(head[:min(int64(len(head)), f.size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < len(magic) || string(head[:len(magic)]) != magic {
		return ErrNotFlow
	}
	if n < fileHeader {
		return fmt.Errorf("%w in its first bytes", ErrTruncated)
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != version {
		return fmt.Errorf("%w: it has version %d, this program reads %d", ErrVersion, v, version)
	}
	return nil
}

// scan follows the headers to the end of the file or of what is whole, and takes in
// everything but the chunks.
func (f *Reader) scan(z *unpacker) {
	f.end = int64(fileHeader)
	next := trace.Instant(1)
	var head [sectionHeader]byte
	for f.end < f.size {
		if f.size-f.end < sectionHeader {
			f.damage = ErrTruncated
			return
		}
		if _, err := f.r.ReadAt(head[:], f.end); err != nil && err != io.EOF {
			f.damage = err
			return
		}
		s, err := parseSection(head[:])
		at := f.end + sectionHeader
		switch {
		case err != nil:
		case f.size-at < int64(s.length):
			err = ErrTruncated
		case (s.kind == sectionHead) != (f.end == int64(fileHeader)):
			err = fmt.Errorf("%w: its head is not where it should be", ErrCorrupt)
		case f.trailer != nil:
			err = fmt.Errorf("%w: something follows its trailer", ErrCorrupt)
		default:
			err = f.section(s, at, &next, z)
		}
		if err != nil {
			f.damage = err
			return
		}
		f.end = at + int64(s.length)
	}
}

// section takes in one section.
func (f *Reader) section(s section, at int64, next *trace.Instant, z *unpacker) error {
	switch s.kind {
	case sectionChunk:
		if trace.Instant(s.first) != *next || s.insts > 1<<40 || s.count > chunkRecords {
			return fmt.Errorf("%w: the chunk at byte %d does not follow the one before", ErrCorrupt, at)
		}
		*next += trace.Instant(s.insts)
		f.chunks = append(f.chunks, Chunk{
			First: trace.Instant(s.first), Insts: s.insts, Records: int(s.count), Gaps: int(s.lost), Accesses: int(s.touches),
			Bytes: int(s.length) + sectionHeader, head: s, at: at,
		})
		return nil
	case sectionHead, sectionBlocks, sectionTrailer:
	default:
		return nil // of a later version
	}
	raw, err := z.payload(f.r, s, at)
	if err != nil {
		return err
	}
	switch s.kind {
	case sectionHead:
		err = json.Unmarshal(raw, &f.head)
	case sectionTrailer:
		t := new(Trailer)
		if err = json.Unmarshal(raw, t); err == nil {
			f.trailer = t
		}
	case sectionBlocks:
		err = f.takeBlocks(raw, int(s.count))
	}
	if err != nil {
		return fmt.Errorf("%w: the section at byte %d: %w", ErrCorrupt, at, err)
	}
	return nil
}

func (f *Reader) takeBlocks(raw []byte, count int) error {
	c := cursor{buf: raw}
	known := len(f.blocks)
	for range count {
		b := c.block()
		err := b.check()
		if c.bad {
			err = errEnd
		}
		if err != nil {
			f.blocks, f.bases = f.blocks[:known], f.bases[:known]
			return err
		}
		last := len(f.blocks) - 1
		f.bases = append(f.bases, f.bases[last]+len(f.blocks[last].Accesses))
		f.blocks = append(f.blocks, b)
	}
	if len(c.buf) > 0 {
		f.blocks, f.bases = f.blocks[:known], f.bases[:known]
		return errEnd
	}
	return nil
}

// Head says what the flow is of.
func (f *Reader) Head() Head { return f.head }

// Trailer returns what was known at the end; false if the flow was cut off.
func (f *Reader) Trailer() (Trailer, bool) {
	if f.trailer == nil {
		return Trailer{}, false
	}
	return *f.trailer, true
}

// Err says why the flow ends before the program did: ErrTruncated or ErrCorrupt in
// the file, or nil.
func (f *Reader) Err() error {
	switch {
	case f.damage != nil:
		return fmt.Errorf("%w: %d instructions in %d of its %d bytes are whole", f.damage, f.Insts(), f.end, f.size)
	case f.trailer == nil:
		return fmt.Errorf("%w: %d instructions in its %d bytes are whole", ErrTruncated, f.Insts(), f.size)
	}
	return nil
}

// Blocks is the number of blocks: their numbers are 1 … Blocks().
func (f *Reader) Blocks() int { return len(f.blocks) - 1 }

// Block returns a block, which must not be changed; nil if there is none of that
// number.
func (f *Reader) Block(id BlockID) *Block {
	if id == 0 || int(id) >= len(f.blocks) {
		return nil
	}
	return &f.blocks[id]
}

// Insts is how many instructions there are, the last one's instant.
func (f *Reader) Insts() uint64 {
	if len(f.chunks) == 0 {
		return 0
	}
	c := &f.chunks[len(f.chunks)-1]
	return uint64(c.First) + c.Insts - 1
}

// Chunks returns the pieces of the flow, in order.
func (f *Reader) Chunks() []Chunk { return slices.Clone(f.chunks) }

// Find returns the index of the chunk that has an instant, or of the first one
// behind it; the number of chunks if there is none.
func (f *Reader) Find(at trace.Instant) int {
	return sort.Search(len(f.chunks), func(i int) bool {
		return uint64(f.chunks[i].First)+f.chunks[i].Insts > uint64(at)
	})
}

// Scan gives all records from an instant on, in order, beginning with the execution
// that has that instant. An error of f ends it; what is damaged or missing at the end
// is an error after what came before. ErrStop of f ends it without an error.
func (f *Reader) Scan(from trace.Instant, take func(*Record) error) error {
	z, err := f.NewChunkReader()
	if err != nil {
		return err
	}
	defer z.Close()
	first := 0
	if from > 1 {
		first = f.Find(from)
	}
	var rec Record
	for i := first; i < len(f.chunks); i++ {
		if err := z.Read(i); err != nil {
			return err
		}
		for k := range z.Len() {
			z.At(k, &rec)
			if rec.Instant < from && (rec.Kind != Exec || rec.Instant+trace.Instant(rec.N) <= from) {
				continue
			}
			if err := take(&rec); errors.Is(err, ErrStop) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return f.Err()
}

// ErrStop ends a Scan.
var ErrStop = errors.New("stop")

// unpacker reads payloads.
type unpacker struct {
	zstd        *zstd.Decoder
	packed, raw []byte
}

func newUnpacker() (*unpacker, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSection), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &unpacker{zstd: z}, nil
}

func (z *unpacker) close() { z.zstd.Close() }

// payload returns a section's content, which is valid until the next call.
func (z *unpacker) payload(r io.ReaderAt, s section, at int64) ([]byte, error) {
	z.packed = slices.Grow(z.packed[:0], int(s.length))[:s.length]
	if _, err := r.ReadAt(z.packed, at); err != nil && err != io.EOF {
		return nil, err
	}
	if checksum(z.packed) != s.sum {
		return nil, fmt.Errorf("%w: the section at byte %d does not match its checksum", ErrCorrupt, at)
	}
	raw := z.packed
	if s.codec == codecZstd {
		var err error
		if raw, err = z.zstd.DecodeAll(z.packed, z.raw[:0]); err != nil {
			return nil, fmt.Errorf("%w: the section at byte %d: %w", ErrCorrupt, at, err)
		}
		z.raw = raw
	}
	if uint32(len(raw)) != s.raw || s.codec > codecZstd {
		return nil, fmt.Errorf("%w: the section at byte %d has %d bytes instead of %d", ErrCorrupt, at, len(raw), s.raw)
	}
	return raw, nil
}
