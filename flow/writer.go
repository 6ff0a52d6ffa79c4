package flow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"mgtrace/trace"
)

// Writer writes a flow. Records are collected and written in chunks. What has been
// written is readable whatever happens to the writer; whoever has records that wait
// should call Flush once a second. After an error every call returns that error.
//
// One goroutine may use it.
type Writer struct {
	w    io.Writer
	err  error // sticky
	done bool
	zstd *zstd.Encoder

	blocks []writerBlock // by BlockID; the first is none
	nAcc   int           // static accesses of all blocks
	fresh  []byte        // coded blocks, not written yet
	nFresh int

	instant  trace.Instant // next
	first    trace.Instant // of the chunk
	model    model
	places   map[trace.ThreadID]int // of threads in the chunk
	current  trace.ThreadID
	state    *state // of the current thread; nil: a chunk begins
	records  int
	gaps     int
	accesses int // of executions, and ranges of others
	touched  int // of executions
	columns  [numColumns][]byte
	raw, out []byte // scratch

	paused bool   // executions are counted and not written
	passed uint64 // instructions that were not

	stats Stats
}

// writerBlock is what the writer keeps of a block.
type writerBlock struct {
	block Block
	base  int // number of its first static access
	// told are the accesses whose addresses are recorded when the whole block is
	// executed.
	told []toldAccess
	// sized: the size of one of them is recorded too.
	sized bool
}

// Stats counts what has been written.
type Stats struct {
	Insts    uint64
	Execs    uint64
	Accesses uint64
	Gaps     uint64
	Blocks   int
	Bytes    uint64 // of the file so far
}

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

// NewWriter begins a flow.
func NewWriter(w io.Writer, h Head) *Writer {
	f := &Writer{w: w, blocks: make([]writerBlock, 1), instant: 1, first: 1, places: map[trace.ThreadID]int{}}
	f.model.begin()
	f.zstd, f.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if f.err != nil {
		return f
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	if _, f.err = w.Write(head); f.err == nil {
		f.stats.Bytes = uint64(len(head))
		f.writeJSON(sectionHead, h)
	}
	return f
}

// Instant is that of the next instruction.
func (f *Writer) Instant() trace.Instant { return f.instant }

// Stats returns the counts so far.
func (f *Writer) Stats() Stats { return f.stats }

// toldAccess is an access whose address is recorded.
type toldAccess struct {
	index uint16 // in the block
	flags AccessFlags
}

// Block adds a block, whose slices must not change any more.
func (f *Writer) Block(b Block) (BlockID, error) {
	if f.err != nil {
		return 0, f.err
	}
	if err := b.check(); err != nil {
		return 0, fmt.Errorf("block at %#x: %w", uint64(b.Start), err)
	}
	f.fresh = b.append(f.fresh)
	f.nFresh++
	wb := writerBlock{block: b, base: f.nAcc}
	for i := range b.Accesses {
		if _, ok := b.derived(i, 0); !ok {
			wb.told = append(wb.told, toldAccess{uint16(i), b.Accesses[i].Flags})
			wb.sized = wb.sized || b.Accesses[i].Size == 0
		}
	}
	f.blocks = append(f.blocks, wb)
	f.nAcc += len(b.Accesses)
	f.stats.Blocks++
	return BlockID(len(f.blocks) - 1), nil
}

// Exec adds an execution of instructions from … from+n-1 of a block by a thread, with
// the addresses of all their accesses. It returns the instant of the first; 0 while the
// flow is paused.
func (f *Writer) Exec(thread trace.ThreadID, id BlockID, from, n int, mem []Mem) (trace.Instant, error) {
	if f.err != nil {
		return 0, f.err
	}
	if id == 0 || int(id) >= len(f.blocks) {
		return 0, fmt.Errorf("execution of block %d of %d", id, len(f.blocks)-1)
	}
	b := &f.blocks[id]
	if from < 0 || n < 1 || from+n > len(b.block.Insts) {
		return 0, fmt.Errorf("execution of instructions %d to %d of %d", from, from+n-1, len(b.block.Insts))
	}
	lo, hi := b.block.accesses(from, n)
	if hi-lo != len(mem) {
		return 0, fmt.Errorf("execution with %d addresses instead of %d of the block at %#x", len(mem), hi-lo, uint64(b.block.Start))
	}
	if f.paused {
		f.passed += uint64(n)
		return 0, nil
	}
	f.turn(thread)
	s := f.state
	if n < len(b.block.Insts) {
		f.sym(symPart)
		f.number(columnBlocks, zigzag(uint64(id)-uint64(s.prev)))
		f.number(columnParts, uint64(from))
		f.number(columnParts, uint64(n))
	} else {
		f.next(s, id)
	}
	s.executed(id)
	f.addrs(s, b, lo, mem)
	return f.executed(n, len(mem))
}

// Whole is Exec of a whole block, for who knows which of its addresses do not follow
// from others (Block.Derived): it takes these alone, in their order. The block tells how
// wide their accesses are.
func (f *Writer) Whole(thread trace.ThreadID, id BlockID, told []uint64) (trace.Instant, error) {
	if f.err != nil {
		return 0, f.err
	}
	if id == 0 || int(id) >= len(f.blocks) {
		return 0, fmt.Errorf("execution of block %d of %d", id, len(f.blocks)-1)
	}
	b := &f.blocks[id]
	if len(told) != len(b.told) || b.sized {
		return 0, fmt.Errorf("execution with %d addresses and no sizes of the block at %#x, which has %d", len(told), uint64(b.block.Start), len(b.told))
	}
	n := len(b.block.Insts)
	if f.paused {
		f.passed += uint64(n)
		return 0, nil
	}
	f.turn(thread)
	s := f.state
	f.next(s, id)
	s.executed(id)
	s.grow(b.base + len(b.block.Accesses))
	syms := f.columns[columnAddrs]
	for i, addr := range told {
		a := &b.told[i]
		sym, diff := s.tell(b.base+int(a.index), a.flags, addr)
		syms = append(syms, sym)
		if sym >= predictors {
			f.number(columnDiffs, diff)
		}
	}
	f.columns[columnAddrs] = syms
	return f.executed(n, len(b.block.Accesses))
}

// next tells that the block that a thread executes next is id, all of it.
func (f *Writer) next(s *state, id BlockID) {
	switch pair, next := s.successors(); id {
	case pair:
		f.sym(symPair)
	case next:
		f.sym(symNext)
	default:
		f.sym(symBlock)
		f.number(columnBlocks, zigzag(uint64(id)-uint64(s.prev)))
	}
}

// executed counts an execution of n instructions. It returns the instant of the first.
func (f *Writer) executed(n, accesses int) (trace.Instant, error) {
	at := f.instant
	f.instant += trace.Instant(n)
	f.accesses += accesses
	f.touched += accesses
	f.stats.Accesses += uint64(accesses)
	f.stats.Insts += uint64(n)
	f.stats.Execs++
	return at, f.ended()
}

// addrs adds the addresses of accesses lo … of a block, but for those that follow from
// others.
func (f *Writer) addrs(s *state, b *writerBlock, lo int, mem []Mem) {
	s.grow(b.base + len(b.block.Accesses))
	syms := f.columns[columnAddrs]
	told := b.told
	if lo > 0 || len(mem) < len(b.block.Accesses) {
		told = nil
		for i := range mem {
			if _, ok := b.block.derived(lo+i, lo); !ok {
				told = append(told, toldAccess{uint16(lo + i), b.block.Accesses[lo+i].Flags})
			}
		}
	}
	for _, a := range told {
		i := int(a.index) - lo
		sym, diff := s.tell(b.base+int(a.index), a.flags, uint64(mem[i].Addr))
		syms = append(syms, sym)
		if sym >= predictors {
			f.number(columnDiffs, diff)
		}
		if b.block.Accesses[a.index].Size == 0 {
			f.number(columnSizes, uint64(mem[i].Size))
		}
	}
	f.columns[columnAddrs] = syms
}

// turn makes a thread the one that the next symbols are about.
func (f *Writer) turn(thread trace.ThreadID) {
	if f.state != nil && thread == f.current {
		return
	}
	place, known := f.places[thread]
	if !known {
		place = len(f.places)
		f.places[thread] = place
	}
	f.sym(symThread)
	f.number(columnThreads, uint64(place))
	if !known {
		f.number(columnThreads, uint64(thread))
	}
	f.current, f.state = thread, f.model.state(place)
}

// Pause has executions counted and not written, until Resume.
func (f *Writer) Pause() { f.paused = true }

// Paused says whether executions are not written.
func (f *Writer) Paused() bool { return f.paused }

// Resume ends a pause: a Gap says how much is not in the flow.
func (f *Writer) Resume() error {
	if !f.paused {
		return f.err
	}
	f.paused = false
	return f.tellPassed()
}

// tellPassed writes how many instructions have not been written.
func (f *Writer) tellPassed() error {
	n := f.passed
	if f.passed = 0; n == 0 {
		return f.err
	}
	return f.Other(&Record{Kind: Gap, Size: n, Why: OutsidePart})
}

// OutsidePart is why instructions are missing that nobody asked for.
const OutsidePart = "outside of the part that was asked for"

// Other adds a record that is no execution. Its Instant is given by its place.
func (f *Writer) Other(r *Record) error {
	switch {
	case f.err != nil:
		return f.err
	case r.Kind == Exec || r.Kind == 0 || r.Kind >= kindEnd:
		return fmt.Errorf("record of kind %d", r.Kind)
	case r.Kind == Map && r.Module == nil:
		return errors.New("a module is mapped and not named")
	case r.Kind == Signal:
		if err := f.tellPassed(); err != nil { // it came after that
			return err
		}
	}
	f.sym(symOther)
	c, err := appendOther(f.columns[columnOthers], r)
	if err != nil {
		return err
	}
	f.columns[columnOthers] = c
	f.accesses += len(r.Mem)
	if r.Kind == Gap {
		f.gaps++
		f.stats.Gaps++
	}
	return f.ended()
}

func (f *Writer) sym(s uint8) { f.columns[columnSyms] = append(f.columns[columnSyms], s) }

func (f *Writer) number(column int, v uint64) {
	f.columns[column] = binary.AppendUvarint(f.columns[column], v)
}

// ended counts a record, and ends the chunk if it is long enough.
func (f *Writer) ended() error {
	f.records++
	if f.records >= chunkRecords || f.accesses >= chunkAccesses {
		f.chunk()
	}
	return f.err
}

// Flush writes what has been collected.
func (f *Writer) Flush() error {
	f.chunk()
	return f.err
}

// chunk writes the chunk.
func (f *Writer) chunk() {
	if f.err != nil || f.records == 0 {
		return
	}
	if f.nFresh > 0 {
		f.write(section{kind: sectionBlocks, count: uint32(f.nFresh)}, f.fresh)
		f.fresh, f.nFresh = f.fresh[:0], 0
	}
	f.raw = f.raw[:0]
	for i := range f.columns {
		f.raw = binary.AppendUvarint(f.raw, uint64(len(f.columns[i])))
		f.raw = append(f.raw, f.columns[i]...)
		f.columns[i] = f.columns[i][:0]
	}
	f.write(section{
		kind: sectionChunk, count: uint32(f.records), first: uint64(f.first), insts: uint64(f.instant - f.first),
		lost: uint32(f.gaps), touches: uint32(f.touched),
	}, f.raw)
	f.records, f.accesses, f.touched, f.gaps, f.first, f.state = 0, 0, 0, 0, f.instant, nil
	clear(f.places)
	f.model.begin()
}

// Finish writes what is left and the trailer. It does not close the underlying
// writer.
func (f *Writer) Finish(t Trailer) error {
	if f.done {
		return errors.New("the executed instructions are finished already")
	}
	_ = f.tellPassed() // its error is f.err
	f.chunk()
	f.writeJSON(sectionTrailer, t)
	f.done = true
	if f.zstd != nil {
		f.err = errors.Join(f.err, f.zstd.Close())
	}
	return f.err
}

func (f *Writer) writeJSON(k sectionType, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		f.err = errors.Join(f.err, err)
		return
	}
	f.write(section{kind: k}, b)
}

// write compresses and writes one section, with one Write.
func (f *Writer) write(s section, raw []byte) {
	if f.err != nil {
		return
	}
	if len(raw) > maxSection {
		f.err = fmt.Errorf("section of %d bytes is too long", len(raw))
		return
	}
	var room [sectionHeader]byte
	f.out = f.zstd.EncodeAll(raw, append(f.out[:0], room[:]...))
	s.codec = codecZstd
	if len(f.out)-sectionHeader >= len(raw) {
		f.out = append(f.out[:sectionHeader], raw...)
		s.codec = codecRaw
	}
	s.raw, s.length, s.sum = uint32(len(raw)), uint32(len(f.out)-sectionHeader), checksum(f.out[sectionHeader:])
	s.append(f.out[:0])
	n, err := f.w.Write(f.out)
	f.stats.Bytes += uint64(n)
	if err == nil && n < len(f.out) {
		err = io.ErrShortWrite
	}
	if err != nil {
		f.err = fmt.Errorf("write executed instructions: %w", err)
	}
}
