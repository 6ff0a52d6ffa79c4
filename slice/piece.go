package slice

import "mgtrace/slice/cfg"

// Piece is code as slicing takes it: instructions of one [Code] that were executed
// together and depend on the same branch. All that does not change from one
// execution to the next is here, once.
type Piece struct {
	ID    uint32 // from 1
	Code  *Code  // nil: Cause did it
	From  uint16
	N     uint16 // instructions
	Cause Cause

	start  uint64
	number uint32 // in an index: of its first op among those of all pieces, from 1
	ops    []pieceOp
	insts  []uint16 // op → instruction of Code

	// writes are the units written, with the op that did it last.
	writes  []unitWrite
	lastDef lastDefs
	frames  uint64 // ops that are of no interest (Op.Frame)

	// groups are the units used before they are written, by quads.
	groups []group
	// accesses are those of the instructions, in order. Of them, reads read; and
	// writers are the ops that write, in order.
	accesses []access
	reads    []uint16
	writers  []uint16

	// readBy is by read the first op that has it.
	readBy []uint16

	// refs is how many references it has to where its values are from: one for each group,
	// one for each read, and the branch that it depends on.
	refs int

	copies []copyOp

	// How it ends. The first op of the last instruction decides where control goes.
	control uint16
	end     cfg.Kind
	endPC   uint64
	direct  bool
	slot    int // access, -1

	// The function in which it was met last, and its branch's join there.
	fn    *cfg.Func
	join  uint64
	parts bool // ways part at its end
}

// unitWrite is the last write of a unit.
type unitWrite struct {
	unit uint8
	op   uint16
}

// group is units of a quad.
type group struct{ quad, mask uint8 }

type access struct {
	write  bool
	writer uint16 // index in writers
	read   int32  // index in reads, -1
}

// pieceOp is what an op depends on.
type pieceOp struct {
	local  []localUse
	groups []groupUse
	reads  []uint16 // indices in Piece.reads
	frame  bool
}

type localUse struct {
	op   uint16
	addr bool
}

// groupUse is a use of units of a group.
type groupUse struct {
	group uint16
	mask  uint8
	addr  bool
}

// copyOp saves a register to memory, or loads it.
type copyOp struct {
	op     uint16
	access uint16
	quad   uint8
	load   bool
	group  int32 // of a save: the register is the piece's input; -1: it is not
}

// lastDefs maps units to ops.
type lastDefs struct {
	at   [NumUnits / 4]uint8 // quad → index in defs + 1
	defs [][4]uint16         // op + 1; 0: not written
}

// of returns the op that wrote unit u last; false if the piece does not write it.
func (d *lastDefs) of(u uint8) (uint16, bool) {
	i := d.at[u>>2]
	if i == 0 {
		return 0, false
	}
	op := d.defs[i-1][u&3]
	return op - 1, op != 0
}

func (d *lastDefs) set(u uint8, op uint16) {
	i := d.at[u>>2]
	if i == 0 {
		d.defs = append(d.defs, [4]uint16{})
		i = uint8(len(d.defs))
		d.at[u>>2] = i
	}
	d.defs[i-1][u&3] = op + 1
}

// maxPieceReads is how many reads a piece has at most; longer code is cut, as with more than
// maxStepOps ops.
const maxPieceReads = 64

// newPiece works out what is static in instructions From … From+N-1.
func newPiece(id uint32, c *Code, from, n uint16) *Piece {
	p := &Piece{ID: id, Code: c, From: from, N: n, start: c.Insts[from].PC, slot: -1}
	var written Regs
	groupAt := map[uint8]int{}
	use := func(o *pieceOp, u uint8, addr bool) {
		if def, ok := p.lastDef.of(u); ok {
			for i := range o.local {
				if o.local[i].op == def {
					o.local[i].addr = o.local[i].addr && addr
					return
				}
			}
			o.local = append(o.local, localUse{def, addr})
			return
		}
		q := u >> 2
		g, ok := groupAt[q]
		if !ok {
			g = len(p.groups)
			groupAt[q] = g
			p.groups = append(p.groups, group{quad: q})
		}
		p.groups[g].mask |= 1 << (u & 3)
		for i := range o.groups {
			if v := &o.groups[i]; int(v.group) == g && v.addr == addr {
				v.mask |= 1 << (u & 3)
				return
			}
		}
		o.groups = append(o.groups, groupUse{uint16(g), 1 << (u & 3), addr})
	}
	for i := from; i < from+n; i++ {
		in := &c.Insts[i]
		base := len(p.accesses)
		for range in.Accesses {
			p.accesses = append(p.accesses, access{read: -1})
		}
		// What the parts of an instruction read is what was there before it.
		first := uint16(len(p.ops))
		for k := range in.Ops {
			op := &in.Ops[k]
			o := pieceOp{frame: op.Frame}
			for u := range op.Read.Units {
				use(&o, u, op.Addr.Has(u))
			}
			for a := range int(in.Accesses) {
				acc := &p.accesses[base+a]
				if op.MemRead&(1<<a) != 0 {
					if acc.read < 0 {
						acc.read = int32(len(p.reads))
						p.reads = append(p.reads, uint16(base+a))
						p.readBy = append(p.readBy, uint16(len(p.ops)))
					}
					o.reads = append(o.reads, uint16(acc.read))
				}
			}
			p.ops = append(p.ops, o)
			p.insts = append(p.insts, i)
		}
		for k := range in.Ops {
			op := &in.Ops[k]
			n := first + uint16(k)
			for u := range op.Write.Units {
				p.lastDef.set(u, n)
			}
			written.Or(&op.Write)
			w := len(p.writers)
			for a := range int(in.Accesses) {
				if op.MemWrite&(1<<a) != 0 {
					p.accesses[base+a].write = true
					p.accesses[base+a].writer = uint16(w)
					if len(p.writers) == w {
						p.writers = append(p.writers, n)
					}
				}
			}
		}
		p.noteCopy(in, base)
		p.control = first
		if in.Slot >= 0 {
			p.slot = base + int(in.Slot)
		}
	}
	for u := range written.Units {
		op, _ := p.lastDef.of(u)
		p.writes = append(p.writes, unitWrite{u, op})
	}
	for op := range p.ops {
		if p.ops[op].frame {
			p.frames |= 1 << op
		}
	}
	last := &c.Insts[from+n-1]
	p.end, p.endPC, p.direct = last.End, last.PC, last.Direct
	p.refs = len(p.groups) + len(p.reads) + 1
	return p
}

// noteCopy takes down that the instruction, whose ops are the last so far, saves
// or loads a register.
func (p *Piece) noteCopy(in *Inst, base int) {
	if len(in.Ops) == 0 || in.Save == 0 && in.Load == 0 {
		return
	}
	c := copyOp{access: uint16(base + int(in.CopyAt)), group: -1}
	if in.Load != 0 {
		c.quad, c.load = in.Load-1, true
		op, ok := p.lastDef.of(c.quad << 2)
		if !ok {
			return
		}
		c.op = op
	} else {
		c.quad = in.Save - 1
		w := p.accesses[c.access]
		if !w.write {
			return
		}
		c.op = p.writers[w.writer]
		for _, g := range p.ops[c.op].groups {
			if p.groups[g.group].quad == c.quad && g.mask == 15 {
				c.group = int32(g.group)
			}
		}
	}
	p.copies = append(p.copies, c)
}

// newCause is the piece of a cause: one op that reads and writes what it did. All the
// memory that it reads is one read.
func newCause(id uint32, cause Cause, reads, writes *Regs) *Piece {
	p := &Piece{ID: id, Cause: cause, slot: -1, insts: []uint16{0}, writers: []uint16{0}, reads: []uint16{0}, readBy: []uint16{0}}
	o := pieceOp{reads: p.reads}
	for u := range reads.Units {
		q := u >> 2
		if n := len(p.groups); n > 0 && p.groups[n-1].quad == q {
			p.groups[n-1].mask |= 1 << (u & 3)
			o.groups[n-1].mask = p.groups[n-1].mask
			continue
		}
		o.groups = append(o.groups, groupUse{group: uint16(len(p.groups)), mask: 1 << (u & 3)})
		p.groups = append(p.groups, group{q, 1 << (u & 3)})
	}
	p.ops = []pieceOp{o}
	p.refs = len(p.groups) + len(p.reads) + 1
	for u := range writes.Units {
		p.writes = append(p.writes, unitWrite{u, 0})
	}
	return p
}

// decides is the op that decides where control goes; first is the piece's first.
func (p *Piece) decides(first Node) Node {
	if p.frames&(1<<p.control) != 0 {
		return 0
	}
	return first + Node(p.control)
}

// PC returns the address of the instruction of an op; 0 if a cause did it.
func (p *Piece) PC(op uint16) uint64 {
	if p.Code == nil {
		return 0
	}
	return p.Code.Insts[p.insts[op]].PC
}
