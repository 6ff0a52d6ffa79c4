package contents

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// Blocks is what is alive at the present: blocks with how they were made, and
// open calls of watched functions. It is what a history that begins now must be told.
type Blocks struct {
	prog    *trace.Program
	blocks  map[trace.Addr]block
	stacks  map[string]*sharedStack
	threads map[trace.ThreadID][]openCall
	key     []byte

	seq   uint64
	taken []taken // not applied to blocks yet
}

// block is a live block, or an object in static memory.
type block struct {
	kind   trace.Kind // KindAlloc or KindGlobal
	size   uint64
	aux    uint64 // KindGlobal: its number
	wall   int64
	pc     trace.Addr
	thread trace.ThreadID
	name   string
	stack  *sharedStack
	seq    uint64 // when it was made
}

// sharedStack is the stack of all blocks that were made by it.
type sharedStack struct {
	key   string
	addrs []trace.Addr
	refs  int
}

// openCall is a call that has not returned, or an inlined instance that has not
// been left.
type openCall struct {
	kind   trace.Kind // KindCall, KindLine
	aux    uint64
	pc, sp trace.Addr
	args   []uint64
	wall   int64
}

// taken is memory that was unmapped, or that a new block has: older blocks there
// are gone, also those whose free was missed.
type taken struct {
	seq      uint64
	lo, hi   trace.Addr
	unmapped bool // only blocks that lie wholly in it are gone
}

const (
	maxOpen  = 1 << 14 // calls of a thread that are remembered
	maxTaken = 1 << 12 // that are kept before they are applied; or a quarter of the blocks
)

// NewBlocks knows of no block yet.
func NewBlocks(p *trace.Program) *Blocks {
	return &Blocks{prog: p, blocks: map[trace.Addr]block{}, stacks: map[string]*sharedStack{}, threads: map[trace.ThreadID][]openCall{}}
}

// Event takes the next event of the run.
func (x *Blocks) Event(ev *trace.Event) {
	switch ev.Kind {
	case trace.KindAlloc, trace.KindGlobal:
		if ev.Addr != 0 {
			x.add(ev)
		}
	case trace.KindFree:
		x.drop(ev.Addr)
	case trace.KindRealloc:
		x.resize(ev)
	case trace.KindUnmap:
		x.take(ev, true)
	case trace.KindCall, trace.KindReturn, trace.KindLine, trace.KindThreadExit:
		x.call(ev)
	}
}

// take notes that memory has become something else. What that ends is looked for
// later, for many at once.
func (x *Blocks) take(ev *trace.Event, unmapped bool) {
	if len(x.taken) > max(maxTaken, len(x.blocks)/4) {
		x.Sorted()
	}
	x.seq++
	x.taken = append(x.taken, taken{x.seq, ev.Addr, ev.Addr + trace.Addr(max(ev.Size, 1)), unmapped})
}

func (x *Blocks) add(ev *trace.Event) {
	x.drop(ev.Addr)
	if ev.Kind != trace.KindGlobal {
		x.take(ev, false)
	}
	kind := ev.Kind
	if kind == trace.KindRealloc {
		kind = trace.KindAlloc
	}
	b := block{kind: kind, size: ev.Size, wall: ev.Wall, pc: ev.PC, thread: ev.Thread, name: ev.Name, stack: x.share(ev.Stack), seq: x.seq}
	if ev.Kind == trace.KindGlobal {
		b.aux = ev.Aux
	}
	x.blocks[ev.Addr] = b
}

// resize follows a realloc: in place the block stays what it was.
func (x *Blocks) resize(ev *trace.Event) {
	if b, ok := x.blocks[ev.Addr]; ok && uint64(ev.Addr) == ev.Aux {
		x.take(ev, false)
		b.size, b.seq = ev.Size, x.seq
		x.blocks[ev.Addr] = b
		return
	}
	x.drop(trace.Addr(ev.Aux))
	if ev.Addr != 0 {
		x.add(ev)
	}
}

func (x *Blocks) drop(a trace.Addr) {
	b, ok := x.blocks[a]
	if !ok {
		return
	}
	delete(x.blocks, a)
	if s := b.stack; s != nil {
		if s.refs--; s.refs == 0 {
			delete(x.stacks, s.key)
		}
	}
}

func (x *Blocks) share(addrs []trace.Addr) *sharedStack {
	if len(addrs) == 0 {
		return nil
	}
	x.key = x.key[:0]
	for _, a := range addrs {
		for i := range 8 {
			x.key = append(x.key, byte(a>>(8*i)))
		}
	}
	s, ok := x.stacks[string(x.key)]
	if !ok {
		s = &sharedStack{key: string(x.key), addrs: slices.Clone(addrs)}
		x.stacks[s.key] = s
	}
	s.refs++
	return s
}

// call follows the calls of watched functions.
func (x *Blocks) call(ev *trace.Event) {
	open := x.threads[ev.Thread]
	switch ev.Kind {
	case trace.KindThreadExit:
		delete(x.threads, ev.Thread)
		return
	case trace.KindCall:
		open = append(open, openCall{kind: ev.Kind, aux: ev.Aux, pc: ev.PC, sp: ev.SP, args: slices.Clone(ev.Args), wall: ev.Wall})
	case trace.KindReturn:
		for i := len(open) - 1; i >= 0; i-- {
			if c := &open[i]; c.kind == trace.KindCall && c.aux == ev.Aux && c.sp == ev.SP {
				open = open[:i]
				break
			}
		}
	case trace.KindLine:
		if ev.Aux == 0 || ev.Aux > uint64(len(x.prog.Points)) {
			return
		}
		switch p := &x.prog.Points[ev.Aux-1]; p.Kind {
		case "inline-entry":
			open = append(x.left(open, p.Func, ev.SP), openCall{kind: ev.Kind, aux: ev.Aux, pc: ev.PC, sp: ev.SP, wall: ev.Wall})
		case "inline-exit":
			open = x.left(open, p.Func, ev.SP)
		}
	}
	if len(open) > maxOpen { // their returns were not seen
		open = slices.Delete(open, 0, len(open)-maxOpen)
	}
	x.threads[ev.Thread] = open
}

// left drops the innermost inlined instance of a function in a frame.
func (x *Blocks) left(open []openCall, fn trace.FuncID, sp trace.Addr) []openCall {
	for i := len(open) - 1; i >= 0; i-- {
		if c := &open[i]; c.kind == trace.KindLine && c.sp == sp && x.prog.Points[c.aux-1].Func == fn {
			return slices.Delete(open, i, i+1)
		}
	}
	return open
}

// Size is that of the block that begins at an address, bytes; 0: none does.
func (x *Blocks) Size(a trace.Addr) uint64 { return x.blocks[a].size }

// Sorted lists the live blocks by address.
func (x *Blocks) Sorted() []trace.Addr {
	list := make([]trace.Addr, 0, len(x.blocks))
	for a := range x.blocks {
		list = append(list, a)
	}
	slices.Sort(list)
	for i := range x.taken {
		x.end(&x.taken[i], list)
	}
	x.taken = x.taken[:0]
	return slices.DeleteFunc(list, func(a trace.Addr) bool { _, ok := x.blocks[a]; return !ok })
}

// end drops the blocks in a range that is taken. list has all blocks by address,
// and some that were dropped.
func (x *Blocks) end(u *taken, list []trace.Addr) {
	first, _ := slices.BinarySearch(list, u.lo)
	for i := first; i < len(list) && list[i] < u.hi; i++ {
		b, ok := x.blocks[list[i]]
		if ok && b.kind == trace.KindAlloc && b.seq < u.seq && (!u.unmapped || list[i]+trace.Addr(b.size) <= u.hi) {
			x.drop(list[i])
		}
	}
	if u.unmapped {
		return
	}
	// One that begins before: those that were there then did not overlap, so only
	// the nearest can reach into the range.
	for i := first - 1; i >= 0; i-- {
		b, ok := x.blocks[list[i]]
		if !ok || b.seq >= u.seq || b.kind != trace.KindAlloc {
			continue
		}
		if list[i]+trace.Addr(b.size) > u.lo {
			x.drop(list[i])
		}
		return
	}
}

// EachBlock gives the blocks as events until f says that it is enough, and returns
// how many it has not given.
func (x *Blocks) EachBlock(f func(*trace.Event) bool) (left uint64) {
	list := x.Sorted()
	for i, a := range list {
		b := x.blocks[a]
		ev := trace.Event{Kind: b.kind, Flags: trace.FlagBefore, Thread: b.thread, Wall: b.wall, PC: b.pc, Addr: a, Size: b.size, Aux: b.aux, Name: b.name}
		if b.stack != nil {
			ev.Stack = b.stack.addrs
		}
		if !f(&ev) {
			return uint64(len(list) - i - 1)
		}
	}
	return 0
}

// EachCall gives the open calls as events, of each thread the outermost first.
func (x *Blocks) EachCall(f func(*trace.Event) bool) {
	var threads []trace.ThreadID
	for t := range x.threads {
		threads = append(threads, t)
	}
	slices.SortFunc(threads, cmp.Compare[trace.ThreadID])
	for _, t := range threads {
		for _, c := range x.threads[t] {
			if !f(&trace.Event{Kind: c.kind, Flags: trace.FlagBefore, Thread: t, Wall: c.wall, PC: c.pc, SP: c.sp, Aux: c.aux, Args: c.args}) {
				return
			}
		}
	}
}

// Snapshot implements trace.Snapshot. The calls come first: there are few.
func (x *Blocks) Snapshot(emit func(*trace.Event) bool) (left uint64) {
	x.EachCall(emit)
	return x.EachBlock(emit)
}
