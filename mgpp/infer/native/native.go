package native

import (
	"encoding/binary"
	"slices"

	"mgtrace/flow"
	"mgtrace/mgpp/infer"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Options say what a feed can not know by itself.
type Options struct {
	// Heap says what is a heap address. It must not be nil.
	Heap func(trace.Addr) bool
	// Own says whose instructions are steps: the program's. It must not be nil.
	Own func(trace.Addr) bool
	// Static says what is an address of static memory; what is neither that nor of
	// the heap is a stack's. Nil: nothing is.
	Static func(trace.Addr) bool
	// StackAt is told an address of each thread's stack. Nil: nobody wants to know.
	StackAt func(trace.Addr)
	// Allocators are functions whose instructions, and all that they call, are left
	// out, by their entries. Empty: the allocator may be anywhere in the program.
	Allocators map[trace.Addr]Role
}

// Role says what an allocator's function does. One that gives and takes moves a block, as
// realloc does.
type Role struct {
	Gives bool // a block, whose address it returns
	Takes int  // the block that its N-th argument points to; 0: none
}

// Span is a range of instants, both ends included.
type Span struct{ First, Last trace.Instant }

// Feed follows one program.
type Feed struct {
	o       Options
	g       *infer.Graph
	blocks  []*block
	threads map[trace.ThreadID]*thread
	memory  map[uint64]value // by address of 8 aligned bytes: what was stored and is known
	stores  []trace.Event    // of the record that comes next
	spans   []Span
	t       *thread // whose instruction is executed
	now     trace.Instant
}

// New returns a feed of an empty graph.
func New(o Options) *Feed {
	f := &Feed{o: o, threads: map[trace.ThreadID]*thread{}, memory: map[uint64]value{}}
	f.g = infer.New(infer.Options{Allocator: len(o.Allocators) == 0, Heap: o.Heap, Stack: f.stack})
	return f
}

// Graph is what has been built.
func (f *Feed) Graph() *infer.Graph { return f.g }

// Inside returns when allocators were executed, in order.
func (f *Feed) Inside() []Span { return f.spans }

// maxStack is how many return addresses a node has.
const maxStack = 32

func (f *Feed) stack() []trace.Addr {
	if f.t == nil {
		return nil
	}
	return f.t.calls.Stack(maxStack)
}

// thread is what a thread's registers hold, and where it is.
type thread struct {
	general [16]value
	vector  [32][8]value // words
	args    [6]value     // of the call by which the program left its own code
	calls   flow.Calls
	inside  int    // how many calls are open up to the allocator that it is in; 0: in none
	role    Role   // of that allocator
	taken   uint64 // the block that it was given and gives back moved; 0: none
	seen    bool   // an address of its stack was told
	own     bool   // its last instruction was the program's
}

// arguments are the registers of a call's arguments (x86-64 psABI 3.2.3).
var arguments = [6]x86.Reg{x86.RDI, x86.RSI, x86.RDX, x86.RCX, 8, 9} // read-only

// Has says whether a block was told.
func (f *Feed) Has(id flow.BlockID) bool { return int(id) < len(f.blocks) && f.blocks[id] != nil }

// Event takes an event of the program, before the record of its instant: stores tell
// what was stored; what a library wrote for the program is an access of its call.
func (f *Feed) Event(ev *trace.Event) {
	switch ev.Kind {
	case trace.KindStore:
		if len(ev.Data) >= 8 {
			f.stores = append(f.stores, trace.Event{Instant: ev.Instant, Addr: ev.Addr, Data: slices.Clone(ev.Data)})
		}
	case trace.KindBulk, trace.KindSyscall:
		f.wrote(ev)
	}
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// wrote takes a write of a library or the kernel for the program.
func (f *Feed) wrote(ev *trace.Event) {
	t := f.threads[ev.Thread]
	if t == nil || t.own || t.inside > 0 || ev.Size == 0 || !f.o.Heap(ev.Addr) {
		return
	}
	f.t = t
	f.g.Present(ev.Instant, ev.Thread)
	base := ev.Base
	if base == 0 {
		base = ev.Addr
	}
	for i := range t.args {
		v := resolve(&t.args[i])
		r, ok := v.rootOf()
		if root := trace.Addr(r); ok && v.known && trace.Addr(v.v) == base && f.o.Heap(root) && root != ev.Addr {
			f.g.Offset(ev.PC, root, ev.Addr, ev.Size)
			return
		}
	}
	f.g.Touch(ev.PC, ev.Addr, ev.Size)
}

// Record takes the next record.
func (f *Feed) Record(r *flow.Record) {
	t := f.threads[r.Thread]
	if t == nil {
		t = &thread{}
		f.threads[r.Thread] = t
	}
	f.t, f.now = t, r.Instant
	switch r.Kind {
	case flow.Exec:
		f.exec(t, r)
	case flow.Define, flow.Unmap:
		for _, m := range r.Mem {
			f.forget(m)
		}
	case flow.End:
		delete(f.threads, r.Thread)
	case flow.Gap:
		f.threads, f.memory = map[trace.ThreadID]*thread{}, map[uint64]value{}
	}
	f.stores = f.stores[:0]
}

func (f *Feed) exec(t *thread, r *flow.Record) {
	b := f.blocks[r.Block]
	if role, ok := f.o.Allocators[b.start]; ok && r.From == 0 && t.inside == 0 && len(t.calls) > 0 {
		f.enter(t, r.Thread, role)
	}
	own := b.own && t.inside == 0
	switch {
	case own && !t.own: // what a library returns is a pointer: its own base
		if v := &t.general[x86.RAX]; v.born == nil {
			*v = f.returned(*v, &birth{})
		}
	case !own && t.own:
		for i, reg := range arguments {
			t.args[i] = t.general[reg]
		}
	}
	t.own = own
	if t.inside > 0 {
		f.span(r.Instant, int(r.N))
	}
	ops := b.ops[r.From : r.From+r.N]
	for i := range ops {
		o := &ops[i]
		mems := r.Mem[o.first-ops[0].first:]
		f.g.Present(f.now, r.Thread)
		f.step(t, o, mems, own)
		if o.control != plain && len(o.mems) > 0 {
			f.transfer(t, r.Thread, o, mems)
		}
		f.now++
	}
}

// span notes that instructions were an allocator's.
func (f *Feed) span(at trace.Instant, n int) {
	last := at + trace.Instant(max(n, 1)-1)
	if k := len(f.spans) - 1; k >= 0 && f.spans[k].Last+1 >= at {
		f.spans[k].Last = max(f.spans[k].Last, last)
		return
	}
	f.spans = append(f.spans, Span{at, last})
}

// enter begins a call of an allocator.
func (f *Feed) enter(t *thread, id trace.ThreadID, role Role) {
	t.inside, t.role, t.taken = len(t.calls), role, 0
	if role.Takes == 0 {
		return
	}
	switch v := resolve(&t.general[arguments[role.Takes-1]]); {
	case !v.known:
	case role.Gives:
		t.taken = v.v
	default:
		f.g.Present(f.now, id)
		f.g.End(t.calls[len(t.calls)-1].Ret, trace.Addr(v.v))
	}
}

// transfer keeps the stack of calls. What an allocator returns is the first address of
// a block.
func (f *Feed) transfer(t *thread, id trace.ThreadID, o *op, mems []flow.Mem) {
	slot := uint64(mems[len(o.mems)-1].Addr)
	if !t.seen && f.o.StackAt != nil {
		t.seen = true
		f.o.StackAt(trace.Addr(slot))
	}
	if o.control == calls {
		t.inside = max(0, t.inside-t.calls.Open(slot, o.next))
		return
	}
	stack := []trace.Addr(nil)
	if t.inside > 0 {
		stack = t.calls[:t.inside].Stack(maxStack)
	}
	t.calls.Return(slot)
	if t.inside <= len(t.calls) {
		return
	}
	t.inside = 0
	if t.role.Gives {
		at := infer.Moment{Instant: f.now, Thread: id, PC: stack[0], Stack: stack}
		t.general[x86.RAX] = f.returned(resolve(&t.general[x86.RAX]), &birth{at: at, given: true, moved: t.taken})
	}
}
