package slice

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// BuildOptions say what an index has.
type BuildOptions struct {
	// Key names the run that it is of.
	Key [16]byte
	// Restores keeps the loads of saved registers as definitions. Else a load of a
	// register from where the same activation saved it defines nothing: what is in
	// the register has its definition from before the save.
	Restores bool
	// Progress, if not nil, is told now and then up to which instant it is made.
	Progress func(instant uint64)
}

// lastWrites has for each register unit the op that wrote it last, and where
// registers were saved.
type lastWrites struct {
	by    [NumUnits]Node
	saves [4096]save
}

// save is a register in memory.
type save struct {
	addr  uint64
	by    Node   // the store
	frame uint64 // the activation that it is of
	def   [4]Node
	quad  uint8
}

func (w *lastWrites) save(addr uint64) *save { return &w.saves[addr>>3%uint64(len(w.saves))] }

// ofFrame is the writer of what is of no interest (Op.Frame).
const ofFrame = ^Node(0)

// builder writes an index: segments of steps (see segmentWriter), and a directory of
// them: u64 offset, u64 instant, u32 thread, u32 checksum.
type builder struct {
	w      *bufio.Writer
	o      BuildOptions
	seg    segmentWriter
	buf    []byte
	at     uint64 // bytes written before buf
	dir    []byte
	regs   map[uint32]*lastWrites
	cur    *lastWrites
	thread uint32
	memory *shadow
	found  []Node
	loads  []restore // that the step bypasses
	steps  StepID
	began  uint64                    // the instant of the segment
	end    uint64                    // the instant after the last instruction
	count  uint64                    // bypassed loads
	aside  map[uint64][NumUnits]Node // registers, while a signal handler runs
}

type restore struct {
	quad uint8
	def  [4]Node
}

// indexMagic begins an index; the digit is its version.
const indexMagic = "mgslice8"

// BuildIndex reads the run once more, and writes the index of all its
// dependences to out.
func BuildIndex(out io.Writer, p *Program, o BuildOptions) error {
	return newBuilder(out, o, p.limits.shapes).build(p)
}

func newBuilder(out io.Writer, o BuildOptions, shapes int) *builder {
	b := &builder{w: bufio.NewWriterSize(out, 1<<20), o: o, memory: newShadow(), regs: map[uint32]*lastWrites{}, thread: ^uint32(0), aside: map[uint64][NumUnits]Node{}}
	b.seg.shapes = shapeTable{ids: map[string]uint32{}, most: shapes}
	b.buf = append(b.buf, indexMagic...)
	b.buf = append(b.buf, o.Key[:]...)
	return b
}

func (b *builder) build(p *Program) error {
	t := newTracker(p, b.part)
	t.hooks = hooks{started: b.started, ended: b.ended, interrupted: b.interrupted, resumed: b.resumed, moved: func(to, from Mem) { b.memory.move(to.Addr, from.Addr, uint64(to.Size)) }}
	if err := t.run(); err != nil {
		return err
	}
	t.doubts.Bypassed = b.count
	return b.finish(p, &t.doubts)
}

// started gives a new thread the registers of the one that began it.
func (b *builder) started(thread, parent uint32) {
	w := &lastWrites{}
	if p := b.regs[parent]; p != nil {
		w.by = p.by
	}
	b.regs[thread] = w
	b.cur, b.thread = nil, ^uint32(0)
}

// ended lets go of the registers of a thread: 258 KB, with where they were saved.
func (b *builder) ended(thread uint32) {
	delete(b.regs, thread)
	b.cur = nil
}

func (b *builder) interrupted(thread uint32, handler uint64) {
	if w := b.regs[thread]; w != nil {
		b.aside[handler] = w.by
	}
}

func (b *builder) resumed(thread uint32, handler uint64) {
	if by, ok := b.aside[handler]; ok {
		b.regs[thread].by = by
		delete(b.aside, handler)
	}
}

func (b *builder) part(s *Part) error {
	step := s.First.Step()
	if s.First.Op() == 0 && (step-1)%segmentLen == 0 {
		if err := b.segment(s); err != nil {
			return err
		}
	}
	if b.cur == nil || s.Thread != b.thread {
		b.cur = b.regs[s.Thread]
		if b.cur == nil {
			b.cur = &lastWrites{}
			b.regs[s.Thread] = b.cur
		}
	}
	p := s.Piece
	b.seg.part(s, s.Thread != b.thread, s.Instant-max(b.end, b.began))
	b.thread = s.Thread
	for _, g := range p.groups {
		b.seg.units((*[4]Node)(b.cur.by[g.quad<<2:g.quad<<2+4]), g.mask)
	}
	if p.Code == nil {
		b.caused(s)
	} else {
		b.accesses(s)
	}
	b.seg.control(s.Control)
	b.define(s.First, p)
	b.steps = step
	b.end = s.Instant + uint64(p.N)
	return nil
}

// define makes the ops of a part the last writers of what they wrote.
func (b *builder) define(first Node, p *Piece) {
	by := &b.cur.by
	for _, w := range p.writes {
		by[w.unit] = p.writer(first, w.op)
	}
	for _, r := range b.loads {
		copy(by[r.quad<<2:r.quad<<2+4], r.def[:])
	}
	b.loads = b.loads[:0]
}

// writer is an op of a part, as that which wrote something.
func (p *Piece) writer(first Node, op uint16) Node {
	if p.frames&(1<<op) != 0 {
		return ofFrame
	}
	return first + Node(op)
}

func (b *builder) put(v uint64) { b.buf = binary.AppendUvarint(b.buf, v) }

// accesses goes through the memory that the instructions touch, in their order.
func (b *builder) accesses(s *Part) {
	p := s.Piece
	copies := p.copies
	for i := range p.accesses {
		a := &p.accesses[i]
		m := s.Mem[i]
		var c *copyOp
		if len(copies) > 0 && int(copies[0].access) == i {
			c, copies = &copies[0], copies[1:]
		}
		if a.read >= 0 {
			b.read(m, s.First.Op()+p.readBy[a.read])
			if c != nil && c.load && !b.o.Restores && m.Size == 8 {
				b.load(s, c, m)
			}
		}
		if a.write && m.Size > 0 {
			b.memory.write(m.Addr, uint64(m.Size), p.writer(s.First, p.writers[a.writer]))
			if c != nil && !c.load && c.group >= 0 && m.Size == 8 {
				v := b.cur.save(m.Addr)
				v.addr, v.by, v.frame, v.quad = m.Addr, s.First+Node(p.writers[a.writer]), s.Frame, c.quad
				copy(v.def[:], b.cur.by[c.quad<<2:c.quad<<2+4])
			}
		}
	}
}

// load notes that a register gets back what the same activation saved.
func (b *builder) load(s *Part, c *copyOp, m Mem) {
	v := b.cur.save(m.Addr)
	if v.addr != m.Addr || v.quad != c.quad || v.frame != s.Frame || len(b.found) != 1 || b.found[0] != v.by {
		return
	}
	if op, _ := s.Piece.lastDef.of(c.quad << 2); op != c.op {
		return
	}
	b.loads = append(b.loads, restore{c.quad, v.def})
	b.count++
}

// read writes the definitions of memory that is read, first by an op of the step; they are
// in found then.
func (b *builder) read(m Mem, by uint16) {
	b.found = b.found[:0]
	if m.Size > 0 {
		b.found = b.memory.read(m.Addr, uint64(m.Size), b.found)
	}
	b.seg.memory(b.found, int(by))
}

// caused takes down what was written without an instruction.
func (b *builder) caused(s *Part) {
	b.found = b.found[:0]
	for _, m := range s.Reads {
		b.found = b.memory.read(m.Addr, uint64(m.Size), b.found)
	}
	b.seg.memory(b.found, 0)
	for _, m := range s.Mem {
		if m.Size > 0 {
			b.memory.write(m.Addr, uint64(m.Size), s.First)
		}
	}
	if s.Piece.Cause.Kind != Gap {
		return
	}
	b.memory.floor = s.First
	clear(b.aside)
	for _, w := range b.regs {
		for u := range w.by {
			w.by[u] = s.First
		}
	}
}

// segment begins a segment.
func (b *builder) segment(s *Part) error {
	if s.First.Step() > maxSteps-segmentLen {
		return errors.New("the run is too long for an index")
	}
	b.endSegment()
	if len(b.buf) > 1<<18 {
		if err := b.flush(); err != nil {
			return err
		}
		if b.o.Progress != nil {
			b.o.Progress(s.Instant)
		}
	}
	b.seg.begin(s.First.Step())
	b.began, b.thread = s.Instant, s.Thread
	b.dir = binary.LittleEndian.AppendUint64(b.dir, b.at+uint64(len(b.buf)))
	b.dir = binary.LittleEndian.AppendUint64(b.dir, s.Instant)
	b.dir = binary.LittleEndian.AppendUint32(b.dir, s.Thread)
	b.cur = nil
	return nil
}

// endSegment ends the segment in hand, if there is one.
func (b *builder) endSegment() {
	if len(b.dir) == 0 {
		return
	}
	from := len(b.buf)
	b.buf = b.seg.end(b.buf)
	b.dir = binary.LittleEndian.AppendUint32(b.dir, crc32.ChecksumIEEE(b.buf[from:]))
}

func (b *builder) flush() error {
	_, err := b.w.Write(b.buf)
	b.at += uint64(len(b.buf))
	b.buf = b.buf[:0]
	return err
}

// finish writes the pieces, the shapes, the directory and the footer, which says where they are.
func (b *builder) finish(p *Program, d *Doubts) error {
	b.endSegment()
	if err := b.flush(); err != nil {
		return err
	}
	pieces := b.at
	for _, k := range p.pieces {
		b.putPiece(k)
	}
	b.buf = append(b.buf, b.seg.shapes.raw...)
	table := crc32.ChecksumIEEE(b.buf)
	if err := b.flush(); err != nil {
		return err
	}
	dir := b.at
	b.buf = append(b.buf, b.dir...)
	if err := b.flush(); err != nil {
		return err
	}
	foot := []uint64{
		pieces, uint64(len(p.pieces)), uint64(len(b.seg.shapes.ids)), uint64(table), dir, uint64(crc32.ChecksumIEEE(b.dir)), uint64(b.steps), b.end,
		d.Unwound, d.Returns, d.Lost, uint64(d.Unknown), uint64(d.Partial), uint64(d.Endless), d.Bypassed,
	}
	for _, v := range foot {
		b.buf = binary.LittleEndian.AppendUint64(b.buf, v)
	}
	b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(crc32.ChecksumIEEE(b.buf)))
	if err := b.flush(); err != nil {
		return err
	}
	return b.w.Flush()
}

// footLen is the length of the footer in bytes.
const footLen = 16 * 8

func (b *builder) putPiece(k *Piece) {
	if k.Code != nil {
		b.put(uint64(k.Code.ID))
		b.put(uint64(k.From))
		b.put(uint64(k.N))
		return
	}
	b.put(0)
	b.put(uint64(k.Cause.Kind))
	b.buf = binary.AppendVarint(b.buf, k.Cause.Number)
	b.put(k.Cause.PC)
	var reads, writes Regs
	for _, g := range k.groups {
		reads[g.quad>>4] |= uint64(g.mask) << (g.quad & 15 * 4)
	}
	for _, w := range k.writes {
		writes.Add(w.unit)
	}
	for _, w := range append(reads[:], writes[:]...) {
		b.put(w)
	}
}
