package flow

import (
	"errors"
	"fmt"

	"mgtrace/trace"
)

// ChunkReader reads chunks, in any order. Each goroutine needs one of its own.
type ChunkReader struct {
	f      *Reader
	z      *unpacker
	model  model
	rows   []row
	mem    []Mem
	others []Record

	threads []trace.ThreadID // by place in the chunk
	columns [numColumns]cursor
}

// row is a record of a chunk, small: there are hundreds of thousands.
type row struct {
	block   BlockID // 0: of others
	thread  trace.ThreadID
	mem     uint32 // index of the first in mem; of others: its index
	nMem    uint32
	from, n uint16
	first   trace.Instant
}

// NewChunkReader returns a reader of chunks. Close it after use.
func (f *Reader) NewChunkReader() (*ChunkReader, error) {
	z, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	return &ChunkReader{f: f, z: z}, nil
}

// Close ends it.
func (c *ChunkReader) Close() { c.z.close() }

// Len is the number of records of the chunk that was read.
func (c *ChunkReader) Len() int { return len(c.rows) }

// At fills in a record of the chunk. Its slices are valid until the next Read.
func (c *ChunkReader) At(i int, r *Record) {
	w := &c.rows[i]
	if w.block == 0 {
		*r = c.others[w.mem]
		r.Instant = w.first
		return
	}
	*r = Record{
		Kind: Exec, Thread: w.thread, Block: w.block, From: w.from, N: w.n, Instant: w.first,
		Mem: c.mem[w.mem : w.mem+w.nMem : w.mem+w.nMem],
	}
}

// Read reads chunk i of the flow.
func (c *ChunkReader) Read(i int) error {
	chunk := &c.f.chunks[i]
	raw, err := c.z.payload(c.f.r, chunk.head, chunk.at)
	if err != nil {
		return err
	}
	c.rows, c.mem, c.others, c.threads = c.rows[:0], c.mem[:0], c.others[:0], c.threads[:0]
	if err := c.decode(raw, chunk); err != nil {
		c.rows = c.rows[:0]
		return fmt.Errorf("%w: the chunk at byte %d: %w", ErrCorrupt, chunk.at, err)
	}
	return nil
}

func (c *ChunkReader) decode(raw []byte, chunk *Chunk) error {
	all := cursor{buf: raw}
	for k := range c.columns {
		c.columns[k] = cursor{buf: all.take(all.number())}
	}
	if all.bad || len(all.buf) > 0 {
		return errEnd
	}
	c.model.begin()
	var s *state
	var thread trace.ThreadID
	at := chunk.First
	for _, sym := range c.columns[columnSyms].buf {
		switch {
		case len(c.rows) > chunk.Records:
			return errEnd // and no memory for what can not be right
		case sym == symThread:
			var err error
			if s, thread, err = c.turn(); err != nil {
				return err
			}
		case sym == symOther:
			if err := c.other(at); err != nil {
				return err
			}
		case sym >= numSyms || s == nil:
			return fmt.Errorf("a record of unknown form %d", sym)
		default:
			n, err := c.exec(s, thread, sym, at)
			if err != nil {
				return err
			}
			at += trace.Instant(n)
		}
	}
	for k := range c.columns {
		if k != columnSyms && (c.columns[k].bad || len(c.columns[k].buf) > 0) {
			return errEnd
		}
	}
	if len(c.rows) != chunk.Records || uint64(at-chunk.First) != chunk.Insts {
		return fmt.Errorf("%d records and %d instructions instead of %d and %d", len(c.rows), at-chunk.First, chunk.Records, chunk.Insts)
	}
	return nil
}

// turn reads which thread is next.
func (c *ChunkReader) turn() (*state, trace.ThreadID, error) {
	col := &c.columns[columnThreads]
	place := col.number()
	if place == uint64(len(c.threads)) {
		c.threads = append(c.threads, trace.ThreadID(col.number()))
	}
	if col.bad || place >= uint64(len(c.threads)) {
		return nil, 0, fmt.Errorf("thread %d of %d", place, len(c.threads))
	}
	return c.model.state(int(place)), c.threads[place], nil
}

// other reads a record that is no execution.
func (c *ChunkReader) other(at trace.Instant) error {
	var r Record
	col := &c.columns[columnOthers]
	col.other(&r, nil)
	if col.bad {
		return errEnd
	}
	c.rows = append(c.rows, row{first: at, mem: uint32(len(c.others))})
	c.others = append(c.others, r)
	return nil
}

// exec reads an execution and returns how many instructions it has.
func (c *ChunkReader) exec(s *state, thread trace.ThreadID, sym byte, at trace.Instant) (int, error) {
	pair, next := s.successors()
	id := pair
	switch sym {
	case symNext:
		id = next
	case symBlock, symPart:
		id = BlockID(uint64(s.prev) + unzigzag(c.columns[columnBlocks].number()))
	}
	if id == 0 || int(id) >= len(c.f.blocks) {
		return 0, fmt.Errorf("block %d of %d", id, len(c.f.blocks)-1)
	}
	b := &c.f.blocks[id]
	from, n := uint64(0), uint64(len(b.Insts))
	if sym == symPart {
		col := &c.columns[columnParts]
		from, n = col.number(), col.number()
		if total := uint64(len(b.Insts)); from >= total || n == 0 || n > total-from {
			return 0, fmt.Errorf("instructions %d to %d of %d", from, from+n, total)
		}
	}
	s.executed(id)
	first := len(c.mem)
	lo, hi := b.accesses(int(from), int(n))
	if err := c.addrs(s, b, c.f.bases[id], lo, hi); err != nil {
		return 0, err
	}
	c.rows = append(c.rows, row{
		block: id, thread: thread, first: at, mem: uint32(first), nMem: uint32(hi - lo), from: uint16(from), n: uint16(n),
	})
	return int(n), nil
}

// addrs reads the addresses of accesses lo … hi-1 of a block.
func (c *ChunkReader) addrs(s *state, b *Block, base, lo, hi int) error {
	if lo == hi {
		return nil
	}
	col := &c.columns[columnAddrs]
	s.grow(base + len(b.Accesses))
	first := len(c.mem)
	if first+hi-lo > maxAccesses {
		return errors.New("more accesses than a chunk has") // derived ones take no bytes
	}
	var g guess
	for i := lo; i < hi; i++ {
		a := b.Accesses[i]
		m := Mem{Size: uint32(a.Size)}
		if d, ok := b.derived(i, lo); ok {
			addr := d.Add
			if d.Of != Absolute {
				addr += uint64(c.mem[first+int(d.Of)-lo].Addr)
			}
			m.Addr = trace.Addr(addr)
			c.mem = append(c.mem, m)
			continue
		}
		sym := col.byte()
		g.make(s, base+i, a.Flags)
		diff := uint64(0)
		switch {
		case sym > symNear || col.bad:
			return fmt.Errorf("an address of unknown form %d", sym)
		case sym >= predictors:
			diff = c.columns[columnDiffs].number()
		}
		addr := g.addr(sym, diff)
		g.touched(addr, sym)
		m.Addr = trace.Addr(addr)
		if a.Size == 0 {
			m.Size = uint32(c.columns[columnSizes].number())
		}
		c.mem = append(c.mem, m)
	}
	return nil
}
