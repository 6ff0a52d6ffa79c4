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
	block           *Block
	told            []toldAccess // whose addresses are recorded when the whole block is executed
	base            uint32       // number of its first static access
	insts, accesses uint16
	sized           bool // the size of one that is told is recorded too
}

// toldAccess is an access whose address is recorded.
type toldAccess struct {
	access uint32 // number among those of all blocks
	flags  AccessFlags
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
	f := &Writer{blocks: make([]writerBlock, 1), instant: 1, batch: &batch{first: 1}, other: new(batch)}
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
	s.Execs += uint64(b.execs)
	s.Accesses += uint64(b.touched)
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
	wb := writerBlock{block: &b, base: uint32(f.nAcc), insts: uint16(len(b.Insts)), accesses: uint16(len(b.Accesses))}
	for i := range b.Accesses {
		if _, ok := b.derived(i, 0); !ok {
			wb.told = append(wb.told, toldAccess{wb.base + uint32(i), b.Accesses[i].Flags})
			wb.sized = wb.sized || b.Accesses[i].Size == 0
		}
	}
	f.blocks = append(f.blocks, wb)
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

// Whole is Exec of a whole block, for who knows which of its addresses do not follow
// from others (Block.Derived): it returns room for these alone, in their order, which is to
// be filled before the next call. The block tells how wide their accesses are.
func (f *Writer) Whole(thread trace.ThreadID, id BlockID) (told []uint64, at trace.Instant, err error) {
	if int(id) >= len(f.blocks) || f.blocks[id].block == nil {
		return nil, 0, fmt.Errorf("execution of block %d of %d", id, len(f.blocks)-1)
	}
	b := &f.blocks[id]
	if b.sized {
		return nil, 0, fmt.Errorf("execution without sizes of the block at %#x", uint64(b.block.Start))
	}
	if err := f.turn(thread); err != nil {
		return nil, 0, err
	}
	c := f.batch
	c.execs++
	c.ops = append(c.ops, uint32(id))
	n := len(c.told)
	c.told = slices.Grow(c.told, len(b.told))[:n+len(b.told)]
	return c.told[n:], f.executed(int(b.insts), int(b.accesses)), nil
}

// executed counts an execution of n instructions, and returns the instant of the first.
func (f *Writer) executed(n, accesses int) trace.Instant {
	at := f.instant
	f.instant += trace.Instant(n)
	f.batch.touched += accesses
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
func (f *Writer) Pause() { f.paused = true }

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
	others, err := appendOther(c.others, r)
	if err != nil {
		return err
	}
	c.others = others
	c.nOthers++
	c.ops = append(c.ops, opOther)
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
	if f.err != nil || c.execs+c.nOthers == 0 {
		return
	}
	f.stats.add(c, f.instant)
	c.blocks, c.next, c.nAcc = f.blocks, f.instant, f.nAcc
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
