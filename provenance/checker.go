package provenance

import (
	"mgtrace/flow"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Options say what a Checker can not know by itself. All functions may be nil.
type Options struct {
	// Allocator says that an allocator, or what frees, begins at an address.
	Allocator func(trace.Addr) bool
	// Library says that code is of a library that may read beyond blocks where
	// that is harmless, in whole vectors; see Checker.reads.
	Library func(trace.Addr) bool
	// Part says how long the array is that begins off bytes behind the start of a
	// block of known layout; 0: none does.
	Part func(n *Node, off uint64) uint64
	// Meant says that a write through an address that was computed from the start of
	// a block is one to the array that begins off bytes behind it: not to the block as a
	// whole, where that is 0, nor to another array, to whose elements the number that was
	// added leads together with an index: indexed, the program has added one. The write is at bytes
	// behind the start. pc is the instruction, call
	// the program's call of the library that it belongs to, 0 if it is the program's own.
	Meant func(n *Node, off, at uint64, indexed bool, pc, call trace.Addr) bool
	// Array says that a store of the address of a block's start into the variable at disp
	// from RBP makes that one a pointer to the array with which the block begins.
	Array func(n *Node, pc trace.Addr, disp int64) bool
	// Granted says that the program uses what its allocator grants it beyond what it asked for:
	// an access behind a block is a fault only if it reaches another one that lives.
	Granted bool
	// MaxFaults bounds the faults that are kept. 0: 1000.
	MaxFaults int
}

// Checker follows one program. It is not safe for concurrent use.
type Checker struct {
	o       Options
	blocks  []*block // by flow.BlockID
	mem     memory
	threads map[trace.ThreadID]*thread
	heap    heap
	faults  []Fault
	index   map[faultKey]int
	buf     []Tag
	now     trace.Instant
	thread  *thread // whose instruction is executed
	more    uint64  // faults that were not kept
	gaps    int
}

// New returns a checker of a program that has not begun.
func New(o Options) *Checker {
	if o.MaxFaults == 0 {
		o.MaxFaults = 1000
	}
	c := &Checker{o: o, mem: newMemory(), threads: map[trace.ThreadID]*thread{}, heap: newHeap(), index: map[faultKey]int{}}
	if o.Granted {
		c.heap.live = map[uint64][]NodeID{}
	}
	return c
}

// Faults returns what was found, in order of time.
func (c *Checker) Faults() []Fault { return c.faults }

// Gaps is how often instructions were missing; what was known before is forgotten.
func (c *Checker) Gaps() int { return c.gaps }

// Dropped is how many faults there were beside Faults.
func (c *Checker) Dropped() uint64 { return c.more }

// Block tells a block before the first Record that names it.
func (c *Checker) Block(id flow.BlockID, b *flow.Block) {
	for int(id) >= len(c.blocks) {
		c.blocks = append(c.blocks, nil)
	}
	c.blocks[id] = c.compile(b)
}

// Has says whether a block was told.
func (c *Checker) Has(id flow.BlockID) bool { return int(id) < len(c.blocks) && c.blocks[id] != nil }

func (c *Checker) threadOf(id trace.ThreadID) *thread {
	if c.thread == nil || c.thread.id != id {
		t := c.threads[id]
		if t == nil {
			t = &thread{id: id}
			c.threads[id] = t
		}
		c.thread = t
	}
	return c.thread
}

// Record takes the next record of the flow. Its block must have been told.
func (c *Checker) Record(r *flow.Record) {
	c.now = r.Instant
	switch r.Kind {
	case flow.Exec:
		c.exec(r)
	case flow.End:
		delete(c.threads, r.Thread)
		c.thread = nil
	case flow.Define:
		c.define(r)
	case flow.Signal:
		if t := c.threadOf(r.Thread); r.Handler != 0 && len(t.signals) < 64 {
			saved := *t
			saved.signals = nil
			t.signals = append(t.signals, &saved)
		}
	case flow.Unmap:
		for _, m := range r.Mem {
			c.mem.fill(uint64(m.Addr), uint64(m.Size), None)
		}
	case flow.Gap:
		if r.Instant > 1 { // before the first nothing was known
			c.gaps++
		}
		c.mem.forget()
		for _, t := range c.threads {
			t.general, t.vector = [16]Tag{}, [32][8]Tag{}
		}
	}
}

// rtSigreturn is the system call with which a signal's handler ends.
const rtSigreturn = 15

// define: the kernel wrote, for a system call or a signal's frame.
func (c *Checker) define(r *flow.Record) {
	t := c.threadOf(r.Thread)
	_, _, moved := r.Moved()
	for _, m := range r.Mem {
		if r.Cause == flow.BySyscall && !moved {
			c.judgeSyscall(t, m, r.Number)
		}
		c.mem.fill(uint64(m.Addr), uint64(m.Size), None)
	}
	if n := len(t.signals); r.Cause == flow.BySyscall && r.Number == rtSigreturn && n > 0 {
		saved := t.signals[n-1]
		t.general, t.vector = saved.general, saved.vector
		t.calls, t.inside = append(t.calls[:0], saved.calls...), saved.inside
		t.signals = t.signals[:n-1]
	}
}

// exec executes instructions of a block on tags.
func (c *Checker) exec(r *flow.Record) {
	t := c.threadOf(r.Thread)
	b := c.blocks[r.Block]
	if r.From == 0 && b.allocator && t.inside == 0 && len(t.calls) > 0 {
		t.inside, t.born, t.cell = len(t.calls), 0, 0
	}
	if r.N == 0 {
		return
	}
	t.awaiting, t.sums.known = false, 0
	ops := b.ops[r.From : r.From+r.N]
	base := ops[0].first
	for i := range ops {
		o := &ops[i]
		var mems []flow.Mem
		if len(o.mems) > 0 {
			mems = r.Mem[o.first-base:]
			if t.inside == 0 {
				c.judge(t, o, mems)
			}
		}
		c.step(t, o, mems)
		t.sums.take(o, o.sums && t.general[o.d.To.Reg&15] == None)
		if o.control != plain {
			c.transfer(t, o, mems)
		}
		c.now++
	}
}

// transfer keeps the stack of calls.
func (c *Checker) transfer(t *thread, o *op, mems []flow.Mem) {
	if len(o.mems) == 0 {
		return
	}
	slot := uint64(mems[o.mems[len(o.mems)-1].at].Addr)
	if o.control == calls {
		t.inside = max(0, t.inside-t.calls.Open(slot, o.next))
		return
	}
	t.calls.Return(slot)
	if t.inside > len(t.calls) {
		t.inside = 0
		t.general = [16]Tag{ // what the allocator leaves in registers that it need not keep is its own
			3: t.general[3], 5: t.general[5], // RBX, RBP
			12: t.general[12], 13: t.general[13], 14: t.general[14], 15: t.general[15],
		}
		switch {
		case t.born != 0 && t.cell != 0:
			c.mem.set(t.cell, 8, address(t.born, atStart))
		case t.born != 0:
			t.general[x86.RAX] = address(t.born, atStart)
		default:
			t.awaiting = true
		}
	}
}

// get is the tag of a place; mems are those of the instruction.
func (c *Checker) get(t *thread, o *op, p x86.Place, width int, mems []flow.Mem) Tag {
	switch p.Kind {
	case x86.InGeneral:
		return t.general[p.Reg&15] // also of the low half: put says what is left of the result
	case x86.InVector:
		return t.vector[p.Reg&31][p.Word&7]
	case x86.InMemory:
		if int(p.Reg) < len(o.mems) {
			m := mems[o.mems[p.Reg].at]
			return c.mem.word(uint64(m.Addr)+8*uint64(p.Word), width)
		}
	}
	return None
}

func (c *Checker) put(t *thread, o *op, p x86.Place, width int, mems []flow.Mem, v Tag) {
	if width == 4 {
		v = narrow(v)
	}
	switch p.Kind {
	case x86.InGeneral:
		t.general[p.Reg&15] = v
	case x86.InVector:
		t.vector[p.Reg&31][p.Word&7] = v
	case x86.InMemory:
		if int(p.Reg) < len(o.mems) {
			if m := mems[o.mems[p.Reg].at]; m.Size > 0 {
				c.mem.set(uint64(m.Addr)+8*uint64(p.Word), width, v)
			}
		}
	}
}

// step executes one instruction on tags: what is read is fetched, what is written
// loses its tags, and gets those that the instruction gives.
func (c *Checker) step(t *thread, o *op, mems []flow.Mem) {
	d := &o.d
	switch d.How {
	case x86.HowOther:
		rest := c.rest(t, o, mems)
		c.wipe(t, o, mems, rest)
	case x86.HowCopy:
		var v [8]Tag
		for i := range d.N {
			v[i] = c.get(t, o, d.Words[i][1], 8, mems)
		}
		c.wipe(t, o, mems, None)
		if d.N == 1 && v[0].Node() != 0 && v[0].within() == atStart {
			v[0] = c.assigned(o, v[0])
		}
		for i := range d.N {
			c.put(t, o, d.Words[i][0], 8, mems, v[i])
		}
	case x86.HowSwap:
		was, a := c.get(t, o, d.To, d.Width, mems), c.get(t, o, d.A, d.Width, mems)
		c.wipe(t, o, mems, None)
		if c.put(t, o, d.A, d.Width, mems, was); d.Add {
			a = add(was, a)
		}
		c.put(t, o, d.To, d.Width, mems, a)
	case x86.HowString:
		c.stringOp(t, o, mems)
	default:
		v := c.result(t, o, mems)
		c.wipe(t, o, mems, None)
		c.put(t, o, d.To, d.Width, mems, v)
	}
}

// assigned is the tag of the address of a block's start that an instruction copies: one that
// stores it into a variable may make it an address of the array there.
func (c *Checker) assigned(o *op, v Tag) Tag {
	to := &o.d.Words[0][0]
	if to.Kind != x86.InMemory || int(to.Reg) >= len(o.mems) || o.library || c.o.Array == nil {
		return v
	}
	m := &o.mems[to.Reg]
	if m.base != int8(x86.RBP) || m.index >= 0 || !c.o.Array(&c.heap.nodes[v.Node()], o.pc, m.disp) {
		return v
	}
	return address(v.Node(), array)
}

// result is the tag of what arithmetic gives.
func (c *Checker) result(t *thread, o *op, mems []flow.Mem) Tag {
	d := &o.d
	a := c.get(t, o, d.A, d.Width, mems)
	b := scale(c.get(t, o, d.B, d.Width, mems), max(d.Scale, 1))
	switch d.How {
	case x86.HowAdd:
		n := d.Const + t.sums.offset(d.B, d.Scale)
		if a == None {
			a, b = b, a
			n = d.Const + t.sums.offset(d.A, 1)
		}
		switch {
		case b != None || a.Node() == 0 || d.Width != 8 || o.library:
			return add(a, b)
		case d.B.Kind == x86.NoPlace:
			return c.displaced(a, d.Const)
		}
		return indexed(a, n)
	case x86.HowSub:
		return add(a, negate(b))
	case x86.HowNegate:
		return negate(a)
	case x86.HowAnd:
		switch {
		case d.B.Kind == x86.NoPlace:
			return mask(a, d.Const)
		case a == None && b == None:
			return None
		case d.B == d.A:
			return a
		}
		return Unknown
	case x86.HowMix:
		if d.B == d.A {
			return a // or p, p
		}
		return mix(a, b)
	case x86.HowSelect:
		return either(a, c.get(t, o, d.To, d.Width, mems))
	}
	return Unknown
}

// displaced is the tag of a + n for an address a, as the program computes it. What is added to
// the start of a block leads to what begins there, and what leads out of an array to what begins
// behind it: a compiler adds the offset of a structure in another one first, and then that of a
// field in it, which may begin with an array.
func (c *Checker) displaced(a Tag, n int64) Tag {
	w := a.within()
	switch {
	case w == part || w == guess:
		return indexed(a, n)
	case w > guess && w < array && c.part(a.Node(), int64(w-guess)) == 0: // the rest of the offset
		return indexed(address(a.Node(), guess), int64(w-guess)+n)
	case n == 0 || w < atStart || w >= guess:
		return a
	}
	off := int64(0)
	if w > part {
		off = int64(w - part)
		if size := c.part(a.Node(), off); n > 0 && n < size {
			return a // an element
		}
	}
	switch off += n; {
	case off == 0:
		return address(a.Node(), atStart)
	case w == atStart && off < 2:
		return a.moved()
	case off < 2 || off >= int64(guess-part):
		return address(a.Node(), anywhere)
	}
	return address(a.Node(), part+uint32(off))
}

// part is how long the array is that begins off bytes behind the start of a block, 0 if none does.
func (c *Checker) part(id NodeID, off int64) int64 {
	if c.o.Part == nil {
		return 0
	}
	return int64(c.o.Part(&c.heap.nodes[id], uint64(off)))
}

// rest is the tag of what depends on everything that is read.
func (c *Checker) rest(t *thread, o *op, mems []flow.Mem) Tag {
	if o.number {
		return None
	}
	for r := o.reads; r != 0; r &= r - 1 {
		if t.general[lowest(uint32(r))] != None {
			return Unknown
		}
	}
	for r := o.vecReads; r != 0; r &= r - 1 {
		if t.vector[lowest(r)] != [8]Tag{} {
			return Unknown
		}
	}
	for i := range o.mems {
		m := &o.mems[i]
		if !m.read {
			continue
		}
		for _, x := range mems[m.at : m.at+m.n] {
			if c.mem.any(uint64(x.Addr), uint64(x.Size)) {
				return Unknown
			}
		}
	}
	return None
}

// wipe gives everything that the instruction writes one tag.
func (c *Checker) wipe(t *thread, o *op, mems []flow.Mem, v Tag) {
	for r := o.wipes; r != 0; r &= r - 1 {
		t.general[lowest(uint32(r))] = v
	}
	for r := o.touches; r != 0; r &= r - 1 {
		g := &t.general[lowest(uint32(r))]
		*g = either(*g, v)
	}
	for i := range o.vecWrites {
		w := &o.vecWrites[i]
		lanes := &t.vector[w.reg]
		for k := range lanes {
			switch {
			case w.wipes>>k&1 != 0:
				lanes[k] = v
			case w.touches>>k&1 != 0:
				lanes[k] = either(lanes[k], v)
			}
		}
	}
	if !o.writes {
		return
	}
	for i := range o.mems {
		m := &o.mems[i]
		if !m.write {
			continue
		}
		for _, x := range mems[m.at : m.at+m.n] {
			c.mem.fill(uint64(x.Addr), uint64(x.Size), v)
		}
	}
}

// stringOp is movs and stos, as far as they went.
func (c *Checker) stringOp(t *thread, o *op, mems []flow.Mem) {
	d := &o.d
	v := c.get(t, o, d.A, 8, mems)
	for r := o.wipes | o.touches; r != 0; r &= r - 1 {
		if k := lowest(uint32(r)); k != int(x86.RSI) && k != int(x86.RDI) {
			t.general[k] = None
		}
	}
	for _, r := range [2]x86.Reg{x86.RSI, x86.RDI} {
		if (o.wipes|o.touches)>>r&1 != 0 {
			t.general[r] = t.general[r].moved()
		}
	}
	if int(d.To.Reg) >= len(o.mems) {
		return
	}
	to := mems[o.mems[d.To.Reg].at]
	if d.A.Kind == x86.InMemory {
		from := mems[o.mems[d.A.Reg].at]
		c.buf = c.mem.move(uint64(to.Addr), uint64(from.Addr), uint64(min(to.Size, from.Size)), c.buf)
		return
	}
	if to.Addr&3 != 0 && v != None {
		v = Unknown
	}
	c.mem.fill(uint64(to.Addr), uint64(to.Size), v)
}
