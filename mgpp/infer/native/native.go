// Package native feeds a graph of package infer with the instructions that an x86-64
// program executed (package flow).
//
//	f := native.New(graph, heap, own)
//	for each block { f.Block(id, block) }
//	for each record { f.Record(&rec) }
//
// A flow has no values. Addresses are known all the same where they matter: the base
// register of an access is its address less the displacement; and from there on the
// value is followed through copies, sums with constants, and memory. What an address
// was computed from is followed with it: that is the base which algorithm 2 joins the
// accessed address to. A pointer that is loaded is its own base (thesis 3.2.1: pointers
// point to the head of a node).
package native

import (
	"mgtrace/flow"
	"mgtrace/mgpp/infer"
	"mgtrace/trace"
	"mgtrace/x86"
)

// value is what is known of one: root is the address that it was computed from.
type value struct {
	known, rooted bool
	v, root       uint64
}

type thread struct {
	general [16]value
	vector  [32][8]value // words
	own     bool         // its last instruction was the program's
}

type op struct {
	pc    trace.Addr
	d     x86.Derived
	mems  []x86.MemAccess
	first int
	wipes uint16
	lanes uint32 // vector registers that are written
}

type block struct {
	ops []op
	own bool
}

// Feed follows one program.
type Feed struct {
	g       *infer.Graph
	heap    func(trace.Addr) bool
	own     func(trace.Addr) bool
	blocks  []*block
	threads map[trace.ThreadID]*thread
	memory  map[uint64]uint64 // by address of 8 aligned bytes: values that were stored and are known
}

// New returns a feed of g. heap says what is a heap address; own whose instructions are
// steps: the program's, without the allocator's, or all.
func New(g *infer.Graph, heap, own func(trace.Addr) bool) *Feed {
	return &Feed{g: g, heap: heap, own: own, threads: map[trace.ThreadID]*thread{}, memory: map[uint64]uint64{}}
}

// Has says whether a block was told.
func (f *Feed) Has(id flow.BlockID) bool { return int(id) < len(f.blocks) && f.blocks[id] != nil }

// Block tells a block before the first record that names it.
func (f *Feed) Block(id flow.BlockID, b *flow.Block) {
	for int(id) >= len(f.blocks) {
		f.blocks = append(f.blocks, nil)
	}
	out := &block{ops: make([]op, len(b.Insts)), own: f.own(b.Start)}
	for i := range b.Insts {
		o := &out.ops[i]
		o.pc, o.first = b.PC(i), int(b.Insts[i].Access)
		in, err := x86.Decode(b.Bytes(i), uint64(o.pc))
		if err != nil {
			o.wipes = 0xffff
			continue
		}
		var e x86.Effects
		in.Effects(&e)
		in.Derive(&o.d)
		o.mems = append(o.mems, e.Mem[:e.NMem]...)
		for r := range 16 {
			if e.Write.Intersects(x86.GPR(x86.Reg(r), 0, 8)) {
				o.wipes |= 1 << r
			}
		}
		for r := range 32 {
			if e.Write.Intersects(x86.Vector(r, 0, 64)) {
				o.lanes |= 1 << r
			}
		}
	}
	f.blocks[id] = out
}

// Record takes the next record.
func (f *Feed) Record(r *flow.Record) {
	t := f.threads[r.Thread]
	if t == nil {
		t = &thread{}
		f.threads[r.Thread] = t
	}
	switch r.Kind {
	case flow.Exec:
		b := f.blocks[r.Block]
		if b.own && !t.own { // what a library returns is a pointer: its own base
			t.general[x86.RAX].rooted = false
		}
		t.own = b.own
		ops := b.ops[r.From : r.From+r.N]
		for i := range ops {
			f.step(t, &ops[i], r.Mem[ops[i].first-ops[0].first:], b.own)
		}
	case flow.Define, flow.Unmap:
		for _, m := range r.Mem {
			f.forget(m)
		}
	case flow.Gap:
		f.threads, f.memory = map[trace.ThreadID]*thread{}, map[uint64]uint64{}
	}
}

func (f *Feed) forget(m flow.Mem) {
	if uint64(m.Size) > 8*uint64(len(f.memory)) {
		for a := range f.memory {
			if a+8 > uint64(m.Addr) && a < uint64(m.Addr)+uint64(m.Size) {
				delete(f.memory, a)
			}
		}
		return
	}
	for a := uint64(m.Addr) &^ 7; a < uint64(m.Addr)+uint64(m.Size); a += 8 {
		delete(f.memory, a)
	}
}

// step takes one instruction: its accesses are steps of the graph, and tell what its
// base registers held.
func (f *Feed) step(t *thread, o *op, mems []flow.Mem, own bool) {
	simple := true
	for i := range o.mems {
		m := &o.mems[i]
		simple = simple && m.Shape == x86.MemFixed
		if !simple || i >= len(mems) || mems[i].Size == 0 {
			break
		}
		f.access(t, o, m, mems[i], own)
	}
	d := &o.d
	var sums [1][2]x86.Place
	var v [8]value
	words := d.Words[:d.N]
	if d.How == x86.HowAdd && d.Width == 8 && d.To.Kind == x86.InGeneral {
		sums[0][0] = d.To
		words, v[0] = sums[:], f.sum(t, d, mems)
	} else {
		for i := range words {
			v[i] = f.get(t, words[i][1], mems)
		}
	}
	for r := range 16 {
		if o.wipes>>r&1 != 0 && r != int(x86.RSP) {
			t.general[r] = value{}
		}
	}
	for r := range 32 {
		if o.lanes>>r&1 != 0 {
			t.vector[r] = [8]value{}
		}
	}
	for i := range o.mems {
		if o.mems[i].Write && i < len(mems) {
			f.forget(mems[i])
		}
	}
	done := false
	for i, w := range words {
		switch to := w[0]; to.Kind {
		case x86.InGeneral:
			t.general[to.Reg&15] = v[i]
		case x86.InVector:
			t.vector[to.Reg&31][to.Word&7] = v[i]
		case x86.InMemory:
			if int(to.Reg) < len(mems) && simple {
				m := mems[to.Reg]
				if a := m.Addr + 8*trace.Addr(to.Word); to.Word > 0 && own && f.heap(a) {
					f.g.Offset(o.pc, m.Addr, a, 8) // words of one store are of one node
				}
				f.store(o, flow.Mem{Addr: m.Addr + 8*trace.Addr(to.Word), Size: 8}, v[i], own)
				done = true
			}
		}
	}
	for i := range o.mems {
		if !done && o.mems[i].Write && i < len(mems) && mems[i].Size > 0 {
			f.store(o, mems[i], value{}, own && simple)
		}
	}
}

// sum is the value of A + B×Scale + Const.
func (f *Feed) sum(t *thread, d *x86.Derived, mems []flow.Mem) value {
	v := f.get(t, d.A, mems)
	if d.B.Kind != x86.NoPlace {
		if b := f.get(t, d.B, mems); !v.rooted && b.rooted && d.Scale <= 1 {
			v = b
		}
		v.known = false // the number is not known
	}
	v.v += uint64(d.Const)
	return v
}

func (f *Feed) store(o *op, m flow.Mem, v value, own bool) {
	if m.Size == 8 && v.known && m.Addr%8 == 0 {
		f.memory[uint64(m.Addr)] = v.v
	}
	if own && f.heap(m.Addr) {
		f.g.Store(o.pc, m.Addr, uint64(m.Size), v.v)
	}
}

func (f *Feed) get(t *thread, p x86.Place, mems []flow.Mem) value {
	switch p.Kind {
	case x86.InGeneral:
		return t.general[p.Reg&15]
	case x86.InVector:
		return t.vector[p.Reg&31][p.Word&7]
	case x86.InMemory:
		if int(p.Reg) < len(mems) {
			if v, ok := f.memory[uint64(mems[p.Reg].Addr)+8*uint64(p.Word)]; ok {
				return value{known: true, rooted: true, v: v, root: v}
			}
		}
	}
	return value{}
}

// access learns the base, and joins the address to what that was computed from.
func (f *Feed) access(t *thread, o *op, m *x86.MemAccess, x flow.Mem, own bool) {
	if m.Segment != 0 || m.RIPRelative || m.Base == x86.NoReg || m.Base > 15 {
		return
	}
	b := &t.general[m.Base]
	if m.Index == x86.NoReg {
		b.known, b.v = true, uint64(x.Addr)-uint64(m.Disp)
		if !b.rooted {
			b.rooted, b.root = true, b.v
		}
	}
	if !own || !f.heap(x.Addr) {
		return
	}
	if root := trace.Addr(b.root); b.rooted && root != x.Addr && f.heap(root) {
		f.g.Offset(o.pc, root, x.Addr, uint64(x.Size))
		return
	}
	f.g.Touch(o.pc, x.Addr, uint64(x.Size))
}
