package provenance

import (
	"math/bits"

	"mgtrace/flow"
	"mgtrace/trace"
)

// FaultKind says what is wrong with an access.
type FaultKind uint8

// The kinds.
const (
	Overflow     FaultKind = iota + 1 // beyond the block that the address is of
	PartOverflow                      // within the block, beyond the array that the address was made for
	UseAfterFree                      // in a block that is freed
	DoubleFree                        // a block is freed that is freed already
	InvalidFree                       // an address inside a block is freed
)

func (k FaultKind) String() string {
	switch k {
	case Overflow:
		return "overflow"
	case PartOverflow:
		return "field overflow"
	case UseAfterFree:
		return "use after free"
	case DoubleFree:
		return "double free"
	case InvalidFree:
		return "invalid free"
	}
	return "fault"
}

// Fault is an access that no correct program makes, with the first of its kind at its
// statement for blocks from one place.
type Fault struct {
	Kind    FaultKind
	Write   bool // else it reads
	Instant trace.Instant
	Thread  trace.ThreadID
	PC      trace.Addr   // of the instruction
	Stack   []trace.Addr // return addresses, innermost first
	Addr    trace.Addr
	Size    uint64 // bytes
	Node    NodeID // that the address is of
	Room    uint64 // Node's size then, in bytes
	Resized Resize // which it had from there
	Other   NodeID // that was hit, 0: none. One that lives, else the last that lay there
	// Beyond is how far behind Node's end, or its part's, the last byte lies, from 1;
	// below 0: how far in front of its start the first one does. 0: it is in its bounds.
	Beyond  int64
	Part    uint64 // PartOverflow: where the array begins, in bytes from Node's start
	PartLen uint64
	Syscall uint64 // number + 1 of the system call that did it; 0: an instruction
	Count   uint64 // how often

	call uint64 // where the return address of the library's call lies, 0: the program did it
}

// again takes in another access of the same kind: that of a library during the same
// call is a part of the first.
func (f *Fault) again(g *Fault, x flow.Mem, call uint64) {
	if call == 0 || call != f.call || f.Count > 1 {
		f.Count++
		return
	}
	lo, hi := min(f.Addr, x.Addr), max(f.Addr+trace.Addr(f.Size), x.Addr+trace.Addr(x.Size))
	f.Addr, f.Size = lo, uint64(hi-lo)
	if g.Beyond > 0 && g.Beyond > f.Beyond || g.Beyond < 0 && g.Beyond < f.Beyond {
		f.Beyond = g.Beyond
	}
}

// faultKey: accesses of one kind by one statement to blocks from one place are one
// fault. The statement is the program's own: many instructions of a library copy for
// one call.
type faultKey struct {
	kind  FaultKind
	pc    trace.Addr
	born  trace.Addr
	write bool
}

func lowest(x uint32) int { return bits.TrailingZeros32(x) }

// judge looks at the accesses of an instruction before it is executed.
func (c *Checker) judge(t *thread, o *op, mems []flow.Mem) {
	for i := range o.mems {
		m := &o.mems[i]
		if !m.judged {
			continue
		}
		tag := None
		if m.base >= 0 {
			tag = t.general[m.base]
		}
		if m.index >= 0 {
			if x := t.general[m.index]; x != None {
				tag = add(tag, scale(x, m.scale))
			} else if !o.library && tag.within() == atStart && tag.Node() != 0 {
				tag = indexed(tag, m.disp+t.sums.in(m.index, m.scale))
			}
		}
		switch {
		case o.library:
			tag = tag.moved()
		case m.write && m.disp != 0 && tag.within() > part && tag.within() < guess && tag.Node() != 0:
			tag = c.displaced(tag, m.disp)
		}
		id := tag.Node()
		if id == 0 || tag.within() == perhaps {
			continue
		}
		x := mems[m.at]
		if x.Size == 0 {
			continue
		}
		n := &c.heap.nodes[id]
		if n.alive() && n.holds(uint64(x.Addr), uint64(x.Size)) {
			if w := tag.within(); w >= part && m.write && c.o.Part != nil {
				c.judgePart(t, o.pc, n, x, w)
			}
			continue
		}
		c.stray(t, o, m, n, x)
	}
}

// judgePart looks at a write within its block, through an address of which within is known.
func (c *Checker) judgePart(t *thread, pc trace.Addr, n *Node, x flow.Mem, within uint32) {
	off, sure := uint64(0), within == array
	switch {
	case within == array:
	case within >= guess:
		off = uint64(within - guess)
	case within > part:
		off, sure = uint64(within-part), true
	}
	size := c.o.Part(n, off)
	at := uint64(x.Addr-n.Start) - off
	if size == 0 || int64(at) < 0 || at < size && uint64(x.Size) <= size-at {
		return // in front of it an address may have been computed for what lies there
	}
	if !sure && (c.o.Meant == nil || !c.o.Meant(n, off, uint64(x.Addr-n.Start), within >= guess, pc, c.programCall(t, pc))) {
		return
	}
	f := Fault{Kind: PartOverflow, Write: true, Part: off, PartLen: size, Beyond: int64(at + uint64(x.Size) - size)}
	c.fault(t, pc, n, x, f)
}

// stray looks at an access that is not within its live block.
func (c *Checker) stray(t *thread, o *op, m *operand, n *Node, x flow.Mem) {
	f := Fault{Kind: Overflow, Write: m.write}
	start, end := n.Start, n.Start+trace.Addr(n.Size)
	if last := x.Addr + trace.Addr(x.Size); x.Addr < start {
		f.Beyond = -int64(start - x.Addr)
	} else {
		f.Beyond = max(0, int64(last)-int64(end)) // 0: within
	}
	if !n.alive() {
		if f.Kind = UseAfterFree; o.library && !m.write && !n.holds(uint64(x.Addr), 1) {
			return
		}
	} else if !m.write && harmless(o.library, n, x) || c.o.Granted && c.heap.grants(n, x) {
		return
	}
	c.fault(t, o.pc, n, x, f)
}

// slack is how far functions of libraries read beyond what they need, in whole vectors
// that are aligned and so can not fault: glibc's strlen reads four vectors of 32 bytes,
// or of 64, at a time.
const slack = 256

// harmless says of a read that is not within its block that correct programs do so.
func harmless(library bool, n *Node, x flow.Mem) bool {
	start, end := uint64(n.Start), uint64(n.Start)+n.Size
	lo, hi := uint64(x.Addr), uint64(x.Addr)+uint64(x.Size)
	if library {
		return hi+slack > start && lo < end+slack
	}
	// A vector of which some bytes are in the block, aligned.
	return x.Size >= 16 && x.Size&(x.Size-1) == 0 && lo%uint64(x.Size) == 0 && lo < end && hi > start
}

// judgeSyscall looks at what the kernel wrote for a system call: the range begins in a
// block of which an argument is an address.
func (c *Checker) judgeSyscall(t *thread, x flow.Mem, number uint64) {
	for _, r := range [...]int{7, 6, 2, 10, 8, 9} { // RDI RSI RDX R10 R8 R9
		id := t.general[r].Node()
		if id == 0 || t.general[r].within() == perhaps {
			continue
		}
		n := &c.heap.nodes[id]
		if !n.holds(uint64(x.Addr), 1) {
			continue
		}
		if w := t.general[r].within(); n.alive() && n.holds(uint64(x.Addr), uint64(x.Size)) && w >= atStart && c.o.Part != nil && len(t.calls) > 0 {
			c.judgePart(t, t.calls[len(t.calls)-1].Ret-1, n, x, w)
			return
		}
		f := Fault{Kind: Overflow, Write: true, Syscall: number + 1, Beyond: int64(uint64(x.Addr)+uint64(x.Size)) - int64(uint64(n.Start)+n.Size)}
		switch {
		case !n.alive():
			f.Kind = UseAfterFree
		case f.Beyond <= 0, c.o.Granted && c.heap.grants(n, x):
			continue
		}
		pc := trace.Addr(0)
		if k := len(t.calls); k > 0 {
			pc = t.calls[k-1].Ret - 1
		}
		c.fault(t, pc, n, x, f)
		return
	}
}

// badFree judges a free of what is no live block's start.
func (c *Checker) badFree(ev *trace.Event) {
	f := Fault{Kind: DoubleFree, Write: true}
	id, ok := c.heap.at[ev.Addr]
	if !ok {
		id = c.heap.containing(ev.Addr)
		if id == 0 || !c.heap.nodes[id].alive() {
			return // allocated before anything was known, or by someone else
		}
		f.Kind = InvalidFree
	}
	t := c.threadOf(ev.Thread)
	n := &c.heap.nodes[id]
	f.Stack = append([]trace.Addr(nil), ev.Stack...)
	c.fault(t, ev.PC, n, flow.Mem{Addr: ev.Addr}, f)
}

// fault keeps the first of its kind. A library that no code of the program called does
// what it does for itself: glibc gives the blocks in a thread's cache back when the
// thread has ended (malloc.c, tcache_thread_shutdown), which the program has freed.
func (c *Checker) fault(t *thread, pc trace.Addr, n *Node, x flow.Mem, f Fault) {
	if c.o.Library != nil && c.o.Library(pc) && c.program(t, pc) < 0 {
		return
	}
	key := faultKey{f.Kind, pc, n.BornPC, f.Write}
	call := uint64(0)
	if k := c.program(t, pc); k >= 0 {
		key.pc, call = t.calls[k].Ret-1, t.calls[k].Slot
	}
	if i, ok := c.index[key]; ok {
		old := &c.faults[i]
		if old.again(&f, x, call); old.Other == 0 {
			old.Other = c.heap.hit(old)
		}
		return
	}
	f.call = call
	if len(c.faults) >= c.o.MaxFaults {
		c.more++
		return
	}
	f.Instant, f.Thread, f.PC, f.Addr, f.Size, f.Node, f.Count = c.now, t.id, pc, x.Addr, uint64(x.Size), n.ID, 1
	f.Room, f.Resized = n.Size, n.Resized
	if f.Stack == nil {
		f.Stack = t.calls.Stack(maxStack)
	}
	f.Other = c.heap.hit(&f)
	c.index[key] = len(c.faults)
	c.faults = append(c.faults, f)
}

// hit is the block that an access hit which it should not.
func (h *heap) hit(f *Fault) NodeID {
	n := &h.nodes[f.Node]
	switch f.Kind {
	case Overflow:
		if f.Beyond > 0 { // what was written last
			if o := h.containing(f.Addr + trace.Addr(f.Size) - 1); o != n.ID {
				return o
			}
		}
		return h.containing(f.Addr)
	case UseAfterFree:
		if o := h.containing(f.Addr); o != n.ID {
			return o
		}
	}
	return 0
}

// program is the index of the innermost open call that the program made of a library
// in which pc lies; -1: pc is the program's own, or nobody knows.
func (c *Checker) program(t *thread, pc trace.Addr) int {
	if c.o.Library == nil || !c.o.Library(pc) {
		return -1
	}
	for i := len(t.calls) - 1; i >= 0; i-- {
		if !c.o.Library(t.calls[i].Ret - 1) {
			return i
		}
	}
	return -1
}

// programCall is an address inside that call, 0 if there is none.
func (c *Checker) programCall(t *thread, pc trace.Addr) trace.Addr {
	if k := c.program(t, pc); k >= 0 {
		return t.calls[k].Ret - 1
	}
	return 0
}

// maxStack is how many return addresses a fault tells.
const maxStack = 64

// Stack is that of the thread whose instruction is looked at, for Options.First.
func (c *Checker) Stack() []trace.Addr {
	if c.thread == nil {
		return nil
	}
	return c.thread.calls.Stack(maxStack)
}
