package native

import (
	"mgtrace/flow"
	"mgtrace/trace"
	"mgtrace/x86"
)

// op is one instruction, made ready for being followed.
type op struct {
	pc, next trace.Addr
	control  control
	d        x86.Derived
	mems     []x86.MemAccess
	first    int    // its first access in the block
	wipes    uint16 // general registers that are written
	lanes    uint32 // vector registers that are written
}

// control is what an instruction is to the stack of calls.
type control uint8

const (
	plain control = iota
	calls
	returns
)

type block struct {
	start trace.Addr
	ops   []op
	own   bool
}

// Block tells a block before the first record that names it.
func (f *Feed) Block(id flow.BlockID, b *flow.Block) {
	for int(id) >= len(f.blocks) {
		f.blocks = append(f.blocks, nil)
	}
	out := &block{start: b.Start, ops: make([]op, len(b.Insts)), own: f.o.Own(b.Start)}
	for i := range b.Insts {
		o := &out.ops[i]
		o.pc, o.first = b.PC(i), int(b.Insts[i].Access)
		o.next = o.pc + trace.Addr(b.Insts[i].Len)
		in, err := x86.Decode(b.Bytes(i), uint64(o.pc))
		if err != nil {
			o.wipes = 0xffff
			continue
		}
		switch in.Kind {
		case x86.KindCall:
			o.control = calls
		case x86.KindRet:
			o.control = returns
		}
		var e x86.Effects
		in.Effects(&e)
		in.Derive(&o.d)
		for k := range e.Mem[:e.NMem] {
			for range e.Mem[k].Entries() {
				o.mems = append(o.mems, e.Mem[k])
			}
		}
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
				a := m.Addr + 8*trace.Addr(to.Word)
				if to.Word > 0 && own && f.o.Heap(a) {
					f.g.Offset(o.pc, m.Addr, a, 8) // words of one store are of one node
				}
				f.store(o, flow.Mem{Addr: a, Size: 8}, v[i], own)
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

// store takes a store of a value.
func (f *Feed) store(o *op, m flow.Mem, v value, own bool) {
	if is, ok := f.stored(m); ok && (!v.known || v.v != is) { // from memory that others have filled
		if v.known { // it was taken for another one
			v = value{}
		}
		f.learn(&v, is)
	}
	if m.Size == 8 {
		f.remember(m.Addr, v, own)
	}
	if !own {
		return
	}
	root, is := uint64(0), uint64(0)
	if v.known {
		is = v.v
		root, _ = v.rootOf()
	}
	switch {
	case f.o.Heap(m.Addr):
		f.g.Store(o.pc, m.Addr, uint64(m.Size), is, trace.Addr(root))
	case m.Size == 8 && !f.onStack(m.Addr):
		f.g.Point(o.pc, trace.Addr(is), trace.Addr(root))
	}
}

// stored is the value that the trace has of a store of the present instruction.
func (f *Feed) stored(m flow.Mem) (uint64, bool) {
	for i := range f.stores {
		if s := &f.stores[i]; s.Instant == f.now && s.Addr <= m.Addr && m.Addr+trace.Addr(m.Size) <= s.Addr+trace.Addr(len(s.Data)) && m.Size == 8 {
			return word(s.Data[m.Addr-s.Addr:]), true
		}
	}
	return 0, false
}

// access learns the base, and joins the address to what that was computed from.
func (f *Feed) access(t *thread, o *op, m *x86.MemAccess, x flow.Mem, own bool) {
	if m.Segment != 0 || m.RIPRelative || m.Base == x86.NoReg || m.Base > 15 {
		return
	}
	b := &t.general[m.Base]
	if m.Index == x86.NoReg {
		if b.born == nil && !b.rooted {
			b.rooted, b.root = true, uint64(x.Addr)-uint64(m.Disp)
		}
		f.learn(b, uint64(x.Addr)-uint64(m.Disp))
	} else if i := &t.general[m.Index&15]; m.Scale <= 1 && f.better(i, b) {
		b = i
	}
	if !own || !f.o.Heap(x.Addr) {
		return
	}
	if b.born != nil && !b.born.rooted { // an array of which elements are accessed, the first one first
		f.takeRoot(b.born, uint64(x.Addr)-uint64(m.Disp))
	}
	r, ok := b.rootOf()
	if b.known && (!ok || len(f.o.Allocators) == 0 && f.g.Head(trace.Addr(b.v))) {
		r, ok = b.v, true // pointers point to heads, also those that the allocator has just computed
	}
	if root := trace.Addr(r); ok && root != x.Addr && f.o.Heap(root) {
		f.g.Offset(o.pc, root, x.Addr, uint64(x.Size))
		return
	}
	f.g.Touch(o.pc, x.Addr, uint64(x.Size))
}
