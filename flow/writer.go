package flow

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"mgtrace/trace"
)

// Writer writes a flow. Records are collected; what makes a chunk is coded and written by
// another goroutine, while the next one is collected. What has been written is readable
// whatever happens to the writer; whoever has records that wait should call Flush once a
// second. After an error every call returns that error; what failed while a chunk was
// written is known when the next one begins.
//
// One goroutine may use it.
type Writer struct {
	out  *output
	err  error // sticky
	done bool

	blocks  []writerBlock // by BlockID; the first is none
	codes   []blockCode   // likewise
	told    []toldAccess  // that codes refer to
	nAcc    int           // static accesses of all blocks
	instant trace.Instant // next

	batch   *batch        // what is collected
	other   *batch        // the one that is, or was, coded
	coded   chan struct{} // closed when it has been; nil: none was
	current trace.ThreadID
	turned  bool // the batch knows which thread is current

	paused bool   // executions are counted and not written
	passed uint64 // instructions that were not

	stats Stats
}

// writerBlock is what the writer keeps of a block.
type writerBlock struct {
	block *Block
	base  uint32 // number of its first static access
	sized bool   // the size of an access that is told is recorded too
}

// EntireBlock is a block as Whole takes it.
type EntireBlock struct {
	id                    BlockID
	insts, accesses, told uint16
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

// NewWriter begins a flow.
func NewWriter(w io.Writer, h Head) *Writer {
	f := &Writer{blocks: make([]writerBlock, 1), codes: make([]blockCode, 1), instant: 1, batch: &batch{first: 1}, other: new(batch)}
	if f.out, f.err = newOutput(w); f.err == nil {
		f.err = f.out.begin(h)
	}
	return f
}

// Instant is that of the next instruction.
func (f *Writer) Instant() trace.Instant { return f.instant }

// Stats returns the counts so far.
func (f *Writer) Stats() Stats {
	s := f.stats
	s.add(f.batch, f.instant)
	s.Bytes = f.out.written.Load()
	return s
}

func (s *Stats) add(b *batch, next trace.Instant) {
	s.Insts += uint64(next - b.first)
	s.Execs += uint64(b.records - b.others)
	s.Accesses += uint64(b.accesses - b.ranges)
	s.Gaps += uint64(b.gaps)
}

// Block adds a block, whose slices must not change any more.
func (f *Writer) Block(b Block) (BlockID, error) {
	if f.err != nil {
		return 0, f.err
	}
	if err := b.check(); err != nil {
		return 0, fmt.Errorf("block at %#x: %w", uint64(b.Start), err)
	}
	f.batch.fresh = b.append(f.batch.fresh)
	f.batch.nFresh++
	wb, code := writerBlock{block: &b, base: uint32(f.nAcc)}, blockCode{first: uint32(len(f.told))}
	for i := range b.Accesses {
		if _, ok := b.derived(i, 0); !ok {
			f.told = append(f.told, toldAccess{wb.base + uint32(i), b.Accesses[i].Flags})
			code.n++
			wb.sized = wb.sized || b.Accesses[i].Size == 0
		}
	}
	f.blocks, f.codes = append(f.blocks, wb), append(f.codes, code)
	f.nAcc += len(b.Accesses)
	f.stats.Blocks++
	return BlockID(len(f.blocks) - 1), nil
}

// Exec adds an execution of instructions from … from+n-1 of a block by a thread, with
// the addresses of all their accesses. It returns the instant of the first.
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
	if err := f.turn(thread); err != nil {
		return 0, err
	}
	f.batch.part(id, b, from, n)
	for i := range mem {
		if _, ok := b.block.derived(lo+i, lo); ok {
			continue
		}
		f.batch.told = append(f.batch.told, uint64(mem[i].Addr))
		if b.block.Accesses[lo+i].Size == 0 {
			f.batch.sizes = append(f.batch.sizes, mem[i].Size)
		}
	}
	return f.executed(n, len(mem)), nil
}

// Entire is the block as Whole takes it. It must tell how wide its accesses are.
func (f *Writer) Entire(id BlockID) (EntireBlock, error) {
	if id == 0 || int(id) >= len(f.blocks) {
		return EntireBlock{}, fmt.Errorf("execution of block %d of %d", id, len(f.blocks)-1)
	}
	b := &f.blocks[id]
	if b.sized {
		return EntireBlock{}, fmt.Errorf("execution without sizes of the block at %#x", uint64(b.block.Start))
	}
	return EntireBlock{id, uint16(len(b.block.Insts)), uint16(len(b.block.Accesses)), f.codes[id].n}, nil
}

// Whole is Exec of a whole block, for who knows which of its addresses do not follow
// from others (Block.Derived): it returns room for these alone, in their order, which is to
// be filled before the next call.
func (f *Writer) Whole(thread trace.ThreadID, b EntireBlock) (told []uint64, at trace.Instant, err error) {
	if !f.turned || thread != f.current || f.batch.full() {
		if err := f.turn(thread); err != nil {
			return nil, 0, err
		}
	}
	c := f.batch
	c.records++
	c.ops = append(c.ops, uint32(b.id))
	n, end := len(c.told), len(c.told)+int(b.told)
	if end > cap(c.told) {
		c.told = slices.Grow(c.told, int(b.told))
	}
	c.told = c.told[:end]
	return c.told[n:end], f.executed(int(b.insts), int(b.accesses)), nil
}

// executed counts an execution of n instructions, and returns the instant of the first.
func (f *Writer) executed(n, accesses int) trace.Instant {
	at := f.instant
	f.instant += trace.Instant(n)
	f.batch.accesses += accesses
	return at
}

// turn makes a thread the one that executes next. What was collected is written if it is
// enough for a chunk.
func (f *Writer) turn(thread trace.ThreadID) error {
	if f.batch.full() {
		f.chunk()
	}
	if f.paused {
		return errPaused
	}
	if f.err != nil || f.turned && thread == f.current {
		return f.err
	}
	f.current, f.turned = thread, true
	f.batch.ops = append(f.batch.ops, opThread)
	f.batch.threads = append(f.batch.threads, thread)
	return nil
}

var errPaused = errors.New("an execution while the flow is paused") // read-only

// Pause has executions counted (Pass) and not written, until Resume.
func (f *Writer) Pause() { f.paused, f.turned = true, false }

// Paused says whether executions are not written.
func (f *Writer) Paused() bool { return f.paused }

// Pass counts instructions that were executed while the flow is paused.
func (f *Writer) Pass(insts int) { f.passed += uint64(insts) }

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
	if f.batch.full() {
		f.chunk()
	}
	c := f.batch
	coded, err := appendOther(c.coded, r)
	if err != nil {
		return err
	}
	c.coded = coded
	c.records++
	c.others++
	c.ops = append(c.ops, opOther)
	c.accesses += len(r.Mem)
	c.ranges += len(r.Mem)
	if r.Kind == Gap {
		c.gaps++
	}
	return f.err
}

// Flush writes what has been collected, and returns when that is done.
func (f *Writer) Flush() error {
	f.chunk()
	f.wait()
	return f.err
}

// chunk has what was collected written.
func (f *Writer) chunk() {
	f.wait()
	c := f.batch
	if f.err != nil || c.records == 0 {
		return
	}
	f.stats.add(c, f.instant)
	c.blocks, c.codes, c.blockTold, c.nAcc, c.next = f.blocks, f.codes, f.told, f.nAcc, f.instant
	coded := make(chan struct{})
	f.batch, f.other, f.coded = f.other, c, coded
	f.batch.begin(f.instant)
	f.turned = false
	go func() {
		f.out.chunk(c)
		close(coded)
	}()
}

// wait waits until nothing is written any more.
func (f *Writer) wait() {
	if f.coded != nil {
		<-f.coded
		f.coded = nil
		f.err = errors.Join(f.err, f.out.err)
	}
}

// Finish writes what is left and the trailer. It does not close the underlying
// writer.
func (f *Writer) Finish(t Trailer) error {
	if f.done {
		return errors.New("the executed instructions are finished already")
	}
	_ = f.tellPassed() // its error is f.err
	f.done = true
	if err := f.Flush(); err != nil {
		return err
	}
	f.err = f.out.end(t)
	return f.err
}
