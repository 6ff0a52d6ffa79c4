package trace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a trace. It is used by one goroutine at a time.
type Reader struct {
	r     io.ReaderAt
	size  int64
	close func() error
	zstd  *zstd.Decoder

	blocks  blockList
	end     int64 // of the last whole block
	damage  error // why the blocks end where they do; nil at the end of the file
	program Program
	about   uint32 // checksum of its description

	fingerprint uint64 // 0: not known yet
	eventCount  uint64
	chunkCount  int
	segmented   bool // there is a segment
	trailer     *Trailer

	next     int    // block to read next
	failed   error  // why reading ended before the blocks did
	read     uint64 // events read, or passed over by Seek
	events   events
	stores   storeDecoder
	buffer   []StoreRec
	run      Stores    // the stores decoded last, in buffer
	instants []Instant // of them
	at       int       // in run: what Next gives next
	part     Stores    // of run, that NextBatch has returned
	inRun    uint64    // stores of the row that are not decoded yet
	strings  []string
	stacks   [][]Addr
	plain    bool            // stacks are passed by, and names looked up when an event has one
	pending  []int           // blocks of tables that have not been looked into
	names    func() []string // what given is to be; nil: it is that, or nothing is given
	given    []string        // the strings of all tables
	sites    siteTable
	learned  int     // blocks whose tables and sites are known
	current  scratch // of the events being read
	columns  scratch // of their stores
	other    scratch
	pieces   map[string][]int // blocks of each attachment; nil: not looked for yet
	chunks   []Chunk          // nil: not read yet
}

// scratch holds a block's bytes as they are in the file and as they were.
type scratch struct{ packed, raw []byte }

// Open opens the trace in a file. Close it after use.
func Open(path string) (*Reader, error) { return OpenWith(path, nil) }

// OpenWith opens the trace in a file as Open does, and faster if the file is that of
// which Directory gave this directory. If it is not, that does not matter.
func OpenWith(path string, directory []byte) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w: not a regular file", path, ErrNotTrace)
	}
	var t *Reader
	if err == nil {
		if t, err = newReader(f, info.Size(), directory); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.close = f.Close
	whole, err := t.withSegments(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), t.Close())
	}
	if whole != nil {
		t.zstd.Close()
		return whole, nil
	}
	return t, nil
}

// Close closes the file of Open.
func (t *Reader) Close() error {
	t.zstd.Close()
	if t.close != nil {
		return t.close()
	}
	return nil
}

// NewReader reads the trace that is the first size bytes of r.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) { return newReader(r, size, nil) }

func newReader(r io.ReaderAt, size int64, directory []byte) (*Reader, error) {
	t := &Reader{r: r, size: size, strings: []string{""}, stacks: [][]Addr{nil}}
	t.stores.table = &t.sites
	if err := t.checkMagic(); err != nil {
		return nil, err
	}
	var err error
	t.zstd, err = newDecoder()
	if err != nil {
		return nil, err
	}
	if err := t.open(directory); err != nil {
		t.zstd.Close()
		return nil, err
	}
	return t, nil
}

func (t *Reader) checkMagic() error {
	head := make([]byte, fileHeader)
	n, err := t.r.ReadAt(head[:min(int64(len(head)), t.size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < len(magic) || string(head[:len(magic)]) != magic {
		return ErrNotTrace
	}
	if n < fileHeader {
		return fmt.Errorf("%w in its first bytes", ErrTruncated)
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != version && v != older && v != oldest {
		return fmt.Errorf("%w: it has version %d, this program reads %d, %d and %d", ErrVersion, v, oldest, older, version)
	}
	return nil
}

// open finds the blocks, and reads the program and the trailer.
func (t *Reader) open(directory []byte) error {
	if t.blocks.known = parseDirectory(directory, t.r, t.size); t.blocks.known != nil {
		t.end, t.fingerprint = t.size, t.blocks.known.fingerprint
	} else {
		t.scan()
	}
	var first, last located
	var err error
	if n := t.blocks.len(); n > 0 {
		if first, err = t.blocks.get(0); err == nil {
			last, err = t.blocks.get(n - 1)
		}
	}
	if err != nil {
		return err
	}
	if first.kind != blockProgram {
		if t.damage != nil {
			return fmt.Errorf("%w, before the description of its program", t.damage)
		}
		return fmt.Errorf("%w: it does not begin with the description of its program", ErrCorrupt)
	}
	raw, err := t.payload(first, &t.other)
	if err == nil {
		t.about = checksum(raw)
		err = json.Unmarshal(raw, &t.program)
	}
	if err != nil {
		return fmt.Errorf("%w: the description of its program: %w", ErrCorrupt, err)
	}
	t.blocks.found = withoutSnapshots(t.blocks.found)
	t.count()
	if t.damage != nil || last.kind != blockTrailer {
		return nil
	}
	x := new(Trailer)
	raw, err = t.payload(last, &t.other)
	if err == nil {
		err = json.Unmarshal(raw, x)
	}
	if err != nil {
		t.damage = fmt.Errorf("%w: its trailer: %w", ErrCorrupt, err)
		return nil
	}
	t.trailer = x
	return nil
}

// decode takes apart a small block of JSON. It needs no reader that is open.
func (t *Reader) decode(b located, v any) error {
	if t.zstd == nil {
		z, err := newDecoder()
		if err != nil {
			return err
		}
		defer z.Close()
		t.zstd = z
	}
	raw, err := t.payload(b, &t.other)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
}

// scan follows the headers to the end of the file or of what is whole.
func (t *Reader) scan() {
	t.end = int64(fileHeader)
	var head [blockHeader]byte
	for t.end < t.size {
		if t.size-t.end < blockHeader {
			t.damage = ErrTruncated
			return
		}
		if _, err := t.r.ReadAt(head[:], t.end); err != nil && err != io.EOF {
			t.damage = err
			return
		}
		b, err := parseHeader(head[:])
		if err != nil {
			t.damage = err
			return
		}
		at := t.end + blockHeader
		if t.size-at < int64(b.length) {
			t.damage = ErrTruncated
			return
		}
		t.blocks.found = append(t.blocks.found, located{b, at})
		t.end = at + int64(b.length)
	}
}

// behind is the room behind a block's content that its decoder may look at.
const behind = 8

// payload returns a block's content, which lies in s.
func (t *Reader) payload(b located, s *scratch) ([]byte, error) {
	s.packed = slices.Grow(s.packed[:0], int(b.length)+behind)[:b.length]
	if _, err := t.r.ReadAt(s.packed, b.at); err != nil && err != io.EOF {
		return nil, err
	}
	if checksum(s.packed) != b.sum {
		return nil, fmt.Errorf("%w: the block at byte %d does not match its checksum", ErrCorrupt, b.at-blockHeader)
	}
	switch b.codec {
	case codecRaw:
		if b.raw != b.length {
			return nil, fmt.Errorf("%w: the block at byte %d has two lengths", ErrCorrupt, b.at-blockHeader)
		}
		return s.packed, nil
	case codecZstd:
		raw, err := t.zstd.DecodeAll(s.packed, s.raw[:0])
		if err != nil {
			return nil, fmt.Errorf("%w: the block at byte %d: %w", ErrCorrupt, b.at-blockHeader, err)
		}
		raw = slices.Grow(raw, behind)
		s.raw = raw
		if uint32(len(raw)) != b.raw {
			return nil, fmt.Errorf("%w: the block at byte %d has %d bytes instead of %d", ErrCorrupt, b.at-blockHeader, len(raw), b.raw)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("%w: the block at byte %d has unknown coding %d", ErrCorrupt, b.at-blockHeader, b.codec)
}

// PassStacks has all further events come without their stacks, which is faster after
// a Seek. It can not be taken back. Where Names of the trace are known, names returns
// them: then no table needs to be read for the name of an event; else it is nil.
func (t *Reader) PassStacks(names func() []string) {
	t.plain = true
	if !t.segmented {
		t.names = names
	}
}

// Names are the names of all events, when all have been read; nil of a trace in
// segments, each of which has its own.
func (t *Reader) Names() []string {
	if t.segmented {
		return nil
	}
	return t.strings
}

// name returns a string of the tables, of which some may not have been looked into.
func (t *Reader) name(i uint64) (string, bool) {
	if t.names != nil {
		t.given, t.names = t.names(), nil
	}
	if i < uint64(len(t.given)) {
		return t.given[i], true
	}
	for i >= uint64(len(t.strings)) && len(t.pending) > 0 {
		b := t.pending[0]
		t.pending = t.pending[1:]
		x, err := t.blocks.get(b)
		var raw []byte
		if err == nil {
			raw, err = t.payload(x, &t.other)
		}
		if err == nil {
			err = t.takeTables(raw)
		}
		if err != nil {
			t.pending = nil
		}
	}
	if i >= uint64(len(t.strings)) {
		return "", false
	}
	return t.strings[i], true
}

// Fingerprint tells traces apart, and states of one that is being written. Packing
// does not change it.
func (t *Reader) Fingerprint() uint64 {
	if t.fingerprint != 0 {
		return t.fingerprint
	}
	x := uint64(14695981039346656037)
	add := func(v uint64) {
		x = (x ^ v) * 0x9e3779b97f4a7c15
		x ^= x >> 32
	}
	for _, b := range t.blocks.found {
		add(uint64(b.kind) | uint64(b.count)<<8)
		add(uint64(b.raw))
	}
	add(uint64(t.about))
	t.fingerprint = x
	return x
}

// Program describes what was recorded.
func (t *Reader) Program() Program { return t.program }

// Trailer returns what was known at the end of recording; false if the trace
// was cut off.
func (t *Reader) Trailer() (Trailer, bool) {
	if t.trailer == nil {
		return Trailer{}, false
	}
	return *t.trailer, true
}
