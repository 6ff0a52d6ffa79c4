package flow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"mgtrace/trace"
)

// The columns of a chunk, in the order in which they are written.
const (
	columnSyms    = iota // of executions, one byte each
	columnBlocks         // differences of block numbers, unsigned zigzag
	columnParts          // From, N
	columnThreads        // place of a thread: a new one has its number behind
	columnAddrs          // symbols of addresses, one byte each
	columnDiffs          // differences of addresses
	columnSizes          // of accesses whose size the block does not tell
	columnOthers         // other records
	numColumns
)

// Elements of batch.ops: the number of a block of which all is executed, or one of
// these, which have more elsewhere in the batch.
const (
	opPart   = 1<<32 - 1 - iota // an execution of a part, or one with sizes: parts, sizes
	opThread                    // another thread's turn: threads
	opOther                     // another record: coded
)

// batch is what becomes a chunk, as the writer was told it.
type batch struct {
	ops     []uint32
	told    []uint64 // addresses that do not follow from others
	parts   []batchPart
	sizes   []uint32
	threads []trace.ThreadID
	coded   []byte // other records

	fresh  []byte // coded blocks that are new
	nFresh int

	first    trace.Instant // of its first instruction
	records  int
	others   int // of these: no executions
	gaps     int // of those
	accesses int // of executions, and ranges of others
	ranges   int // of these: of others

	// When it is handed over: the blocks so far, which do not change, the number of
	// their accesses, and the instant behind it.
	blocks    []writerBlock
	codes     []blockCode
	blockTold []toldAccess
	nAcc      int
	next      trace.Instant
}

// blockCode says which accesses are told when a whole block is executed: n from first on in
// a table of those of all blocks.
type blockCode struct {
	first uint32
	n     uint16
}

// toldAccess is an access whose address is recorded.
type toldAccess struct {
	access uint32 // number among those of all blocks
	flags  AccessFlags
}

type batchPart struct {
	block   BlockID
	from, n int
}

func (c *batch) begin(first trace.Instant) {
	*c = batch{
		ops: c.ops[:0], told: c.told[:0], parts: c.parts[:0], sizes: c.sizes[:0], threads: c.threads[:0],
		coded: c.coded[:0], fresh: c.fresh[:0], first: first,
	}
}

// full says that it is enough for a chunk.
func (c *batch) full() bool {
	return c.records >= chunkRecords || c.accesses >= chunkAccesses
}

// part adds an execution of which part is to be told.
func (c *batch) part(id BlockID, b *writerBlock, from, n int) {
	c.records++
	if n == len(b.block.Insts) && !b.sized {
		c.ops = append(c.ops, uint32(id))
		return
	}
	c.ops = append(c.ops, opPart)
	c.parts = append(c.parts, batchPart{id, from, n})
}

// output codes chunks and writes sections. One goroutine at a time may use it.
type output struct {
	w       io.Writer
	err     error // sticky
	zstd    *zstd.Encoder
	written atomic.Uint64 // bytes

	model    model
	places   map[trace.ThreadID]int // of threads in the chunk
	columns  [numColumns][]byte
	raw, out []byte // scratch
}

func newOutput(w io.Writer) (*output, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	return &output{w: w, zstd: z, places: map[trace.ThreadID]int{}}, err
}

// begin writes what is before all chunks.
func (o *output) begin(h Head) error {
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	if _, o.err = o.w.Write(head); o.err == nil {
		o.written.Store(uint64(len(head)))
		o.json(sectionHead, h)
	}
	return o.err
}

// end writes what is behind all chunks.
func (o *output) end(t Trailer) error {
	o.json(sectionTrailer, t)
	return errors.Join(o.err, o.zstd.Close())
}

// chunk writes what was collected.
func (o *output) chunk(c *batch) {
	if c.nFresh > 0 {
		o.section(section{kind: sectionBlocks, count: uint32(c.nFresh)}, c.fresh)
	}
	o.code(c)
	o.raw = o.raw[:0]
	for i := range o.columns {
		o.raw = binary.AppendUvarint(o.raw, uint64(len(o.columns[i])))
		o.raw = append(o.raw, o.columns[i]...)
	}
	o.section(section{
		kind: sectionChunk, count: uint32(c.records), first: uint64(c.first), insts: uint64(c.next - c.first),
		lost: uint32(c.gaps), touches: uint32(c.accesses - c.ranges),
	}, o.raw)
}

// code fills the columns.
func (o *output) code(c *batch) {
	o.model.begin()
	clear(o.places)
	for i := range o.columns {
		o.columns[i] = o.columns[i][:0]
	}
	o.columns[columnOthers] = append(o.columns[columnOthers], c.coded...)
	syms, addrs := o.columns[columnSyms], o.columns[columnAddrs]
	told, parts, sizes, threads := c.told, c.parts, c.sizes, c.threads
	var s *state
	for _, op := range c.ops {
		switch op {
		case opThread:
			syms = append(syms, symThread)
			s = o.turn(threads[0])
			s.grow(c.nAcc)
			threads = threads[1:]
		case opOther:
			syms = append(syms, symOther)
		case opPart:
			p := &parts[0]
			parts = parts[1:]
			b := &c.blocks[p.block]
			if p.n < len(b.block.Insts) {
				syms = append(syms, symPart)
				o.number(columnBlocks, zigzag(uint64(p.block)-uint64(s.prev)))
				o.number(columnParts, uint64(p.from))
				o.number(columnParts, uint64(p.n))
				s.executed(p.block)
			} else {
				syms = append(syms, o.next(s, p.block))
			}
			for i, hi := b.block.accesses(p.from, p.n); i < hi; i++ {
				lo := int(b.block.Insts[p.from].Access)
				if _, ok := b.block.derived(i, lo); ok {
					continue
				}
				addrs = append(addrs, o.address(s, toldAccess{b.base + uint32(i), b.block.Accesses[i].Flags}, told[0]))
				told = told[1:]
				if b.block.Accesses[i].Size == 0 {
					o.number(columnSizes, uint64(sizes[0]))
					sizes = sizes[1:]
				}
			}
		default:
			syms = append(syms, o.next(s, BlockID(op)))
			b := c.codes[op]
			for i, a := range c.blockTold[b.first:][:b.n] {
				addrs = append(addrs, o.address(s, a, told[i]))
			}
			told = told[b.n:]
		}
	}
	o.columns[columnSyms], o.columns[columnAddrs] = syms, addrs
}

// turn is the state of the thread whose turn it is.
func (o *output) turn(thread trace.ThreadID) *state {
	place, known := o.places[thread]
	if !known {
		place = len(o.places)
		o.places[thread] = place
	}
	o.number(columnThreads, uint64(place))
	if !known {
		o.number(columnThreads, uint64(thread))
	}
	return o.model.state(place)
}

// next returns the symbol for a block of which a thread executes all next.
func (o *output) next(s *state, id BlockID) (sym uint8) {
	switch pair, next := s.successors(); id {
	case pair:
		sym = symPair
	case next:
		sym = symNext
	default:
		sym = symBlock
		o.number(columnBlocks, zigzag(uint64(id)-uint64(s.prev)))
	}
	s.executed(id)
	return sym
}

// address returns the symbol for an address.
func (o *output) address(s *state, a toldAccess, addr uint64) uint8 {
	sym, diff := s.tell(int(a.access), a.flags, addr)
	if sym >= predictors {
		o.number(columnDiffs, diff)
	}
	return sym
}

func (o *output) number(column int, v uint64) {
	o.columns[column] = binary.AppendUvarint(o.columns[column], v)
}

func (o *output) json(k sectionType, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		o.err = errors.Join(o.err, err)
		return
	}
	o.section(section{kind: k}, b)
}

// section compresses and writes one section, with one Write.
func (o *output) section(s section, raw []byte) {
	if o.err != nil {
		return
	}
	if len(raw) > maxSection {
		o.err = fmt.Errorf("section of %d bytes is too long", len(raw))
		return
	}
	var room [sectionHeader]byte
	o.out = o.zstd.EncodeAll(raw, append(o.out[:0], room[:]...))
	s.codec = codecZstd
	if len(o.out)-sectionHeader >= len(raw) {
		o.out = append(o.out[:sectionHeader], raw...)
		s.codec = codecRaw
	}
	s.raw, s.length, s.sum = uint32(len(raw)), uint32(len(o.out)-sectionHeader), checksum(o.out[sectionHeader:])
	s.append(o.out[:0])
	n, err := o.w.Write(o.out)
	o.written.Add(uint64(n))
	if err == nil && n < len(o.out) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = fmt.Errorf("write executed instructions: %w", err)
	}
}
