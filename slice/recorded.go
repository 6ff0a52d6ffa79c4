package slice

import (
	"encoding/binary"
	"errors"
	"io"
)

// Recorded is the parts of a run's steps, for the algorithms that go through all of them
// backwards: in two files that begin empty, since there are many. It is not safe for
// concurrent use.
type Recorded struct {
	Program *Program
	Doubts  Doubts
	parts   table
	last    StepID
	mem     table
	starts  []beginning
	moves   []movement
	buf     []Mem
}

// Storage is where a table is kept: a file.
type Storage interface {
	io.ReaderAt
	io.WriterAt
}

// beginning is that of a thread, after so many parts: it has its registers from its parent.
type beginning struct {
	after          uint64
	thread, parent uint32
}

// movement is memory that got another address after so many parts.
type movement struct {
	after    uint64
	to, from Mem
}

// The lengths of rows in bytes. A part: piece, thread, control, instant, where its
// accesses begin in mem, and, of a cause, how many of them are reads, which come
// last; those of the next part end them; its first op. An access: address, size.
const (
	partRow = 4 + 4 + 8 + 8 + 8 + 4 + 8
	memRow  = 8 + 4
)

// Record reads a run into two files.
func (p *Program) Record(parts, mem Storage) (*Recorded, error) {
	r := &Recorded{Program: p, parts: table{f: parts, row: partRow}, mem: table{f: mem, row: memRow}}
	t := newTracker(p, r.part)
	start := func(thread, parent uint32) { r.starts = append(r.starts, beginning{r.parts.n, thread, parent}) }
	// While a handler runs, what the thread's registers had is another thread's.
	aside := func(handler uint64) uint32 { return uint32(handler) | 1<<31 }
	t.hooks = hooks{
		started:     start,
		interrupted: func(thread uint32, handler uint64) { start(aside(handler), thread) },
		resumed:     func(thread uint32, handler uint64) { start(thread, aside(handler)) },
		moved:       func(to, from Mem) { r.moves = append(r.moves, movement{r.parts.n, to, from}) },
	}
	if err := t.run(); err != nil {
		return nil, err
	}
	r.Doubts = t.doubts
	return r, errors.Join(r.parts.flush(), r.mem.flush())
}

func (r *Recorded) part(s *Part) error {
	r.last = s.First.Step()
	b := r.parts.next()
	le := binary.LittleEndian
	le.PutUint32(b, s.Piece.ID)
	le.PutUint32(b[4:], s.Thread)
	le.PutUint64(b[8:], uint64(s.Control))
	le.PutUint64(b[16:], s.Instant)
	le.PutUint64(b[24:], r.mem.n)
	le.PutUint32(b[32:], uint32(len(s.Reads)))
	le.PutUint64(b[36:], uint64(s.First))
	for _, list := range [2][]Mem{s.Mem, s.Reads} {
		for _, m := range list {
			b := r.mem.next()
			le.PutUint64(b, m.Addr)
			le.PutUint32(b[8:], m.Size)
		}
	}
	return errors.Join(r.parts.err, r.mem.err)
}

// Steps is how many there are.
func (r *Recorded) Steps() StepID { return r.last }

// read fills s with part i, which is valid until the next call. Its frame is not
// known.
func (r *Recorded) read(i uint64, s *Part) error {
	le := binary.LittleEndian
	end := r.mem.n
	if i+1 < r.parts.n {
		end = le.Uint64(r.parts.at(i + 1)[24:])
	}
	b := r.parts.at(i)
	*s = Part{First: Node(le.Uint64(b[36:])), Piece: r.Program.Piece(le.Uint32(b)), Thread: le.Uint32(b[4:]), Control: Node(le.Uint64(b[8:])), Instant: le.Uint64(b[16:])}
	from, reads := le.Uint64(b[24:]), int(le.Uint32(b[32:]))
	r.buf = r.buf[:0]
	for at := from; at < end; at++ {
		m := r.mem.at(at)
		r.buf = append(r.buf, Mem{le.Uint64(m), le.Uint32(m[8:])})
	}
	n := len(r.buf) - reads
	s.Mem, s.Reads = r.buf[:n], r.buf[n:]
	return errors.Join(r.parts.err, r.mem.err)
}

// table is rows in a file, written in order, and read mostly backwards.
type table struct {
	f   Storage
	row int
	n   uint64 // rows
	err error  // the first

	buf  []byte // rows that are not written yet, or that were read
	from uint64 // the first row in buf
}

// tableBuf is the rows of a table that are in memory at a time, in bytes.
const tableBuf = 1 << 20

// next returns the place of a new row.
func (t *table) next() []byte {
	if len(t.buf)+t.row > tableBuf {
		t.err = errors.Join(t.err, t.flush())
	}
	t.n++
	t.buf = append(t.buf, make([]byte, t.row)...)
	return t.buf[len(t.buf)-t.row:]
}

func (t *table) flush() error {
	_, err := t.f.WriteAt(t.buf, int64(t.from)*int64(t.row))
	t.buf, t.from = t.buf[:0], t.n
	return err
}

// at returns a row.
func (t *table) at(i uint64) []byte {
	if i < t.from || i >= t.from+uint64(len(t.buf)/t.row) {
		// The rows before i are asked for next.
		k := uint64(tableBuf / t.row)
		from := uint64(0)
		if i >= k-1 {
			from = i - (k - 1)
		}
		to := min(t.n, from+k)
		if t.buf = t.buf[:0]; cap(t.buf) < tableBuf {
			t.buf = make([]byte, 0, tableBuf)
		}
		t.buf = t.buf[:(to-from)*uint64(t.row)]
		if _, err := t.f.ReadAt(t.buf, int64(from)*int64(t.row)); err != nil {
			t.err = errors.Join(t.err, err)
			clear(t.buf)
		}
		t.from = from
	}
	at := int(i-t.from) * t.row
	return t.buf[at : at+t.row]
}

// insts calls f with the ops of each instruction of a part, the last instruction
// first, and the accesses that the bits of its ops mean. A cause is one instruction.
func (s *Part) insts(f func(first Node, ops []Op, mem []Mem)) {
	p := s.Piece
	if p.Code == nil {
		f(s.First, []Op{p.causeOp()}, nil)
		return
	}
	mem := len(s.Mem)
	op := len(p.ops)
	for i := int(p.From) + int(p.N) - 1; i >= int(p.From); i-- {
		in := &p.Code.Insts[i]
		mem -= int(in.Accesses)
		op -= len(in.Ops)
		f(s.First+Node(op), in.Ops, s.Mem[mem:mem+int(in.Accesses)])
	}
}

// causeOp is the registers of what a cause did.
func (p *Piece) causeOp() Op {
	var o Op
	for _, g := range p.groups {
		o.Read[g.quad>>4] |= uint64(g.mask) << (g.quad & 15 * 4)
	}
	for _, w := range p.writes {
		o.Write.Add(w.unit)
	}
	return o
}

// touched calls f with the memory that an op reads, or writes.
func (s *Part) touched(mask uint32, mem []Mem, cause []Mem, f func(lo, hi uint64)) {
	if s.Piece.Code == nil {
		for _, m := range cause {
			f(m.Addr, m.Addr+uint64(m.Size))
		}
		return
	}
	for i, m := range mem {
		if mask&(1<<i) != 0 && m.Size > 0 {
			f(m.Addr, m.Addr+uint64(m.Size))
		}
	}
}
