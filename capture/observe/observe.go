package observe

import (
	"mgtrace/capture"
	"mgtrace/capture/syscalls"
	"mgtrace/probe"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Image is where a file of the plan is mapped.
type Image struct {
	Mapped bool
	Bias   uint64
	Code   [2]uint64   // its executable mappings, half-open
	Data   [][2]uint64 // its writable segments
}

// Images says where the files of a plan are, in a process with these mappings.
func Images(plan *probe.Plan, maps []mem.Map) []Image {
	images := make([]Image, len(plan.Images))
	for i, im := range plan.Images {
		out := &images[i]
		for _, m := range maps {
			if !m.File() || m.Path != im.Path {
				continue
			}
			if !out.Mapped {
				if out.Bias, out.Mapped = im.File.Bias(m.Lo, m.Offset, m.Size(), m.Exec); !out.Mapped {
					continue
				}
			}
			if m.Exec {
				if out.Code[0] == 0 {
					out.Code[0] = m.Lo
				}
				out.Code[1] = max(out.Code[1], m.Hi)
			}
		}
		if !out.Mapped {
			continue
		}
		for _, s := range im.File.WritableSegments() {
			out.Data = append(out.Data, [2]uint64{out.Bias + s[0], out.Bias + s[1]})
		}
	}
	return images
}

// Options of an observer; zero values stand for the defaults.
type Options struct {
	Stack   int    // bytes of stack captured at allocator calls; 0: none
	MaxData int    // bytes read of one write; default 1 MB
	Static  bool   // report stores to static data too
	Break   uint64 // the program break; 0: unknown
}

// Observer turns instructions into hits. It is not safe for concurrent use.
type Observer struct {
	plan     *probe.Plan
	sites    []capture.Site
	opts     Options
	memory   mem.Memory
	take     func(*capture.Hit) error
	images   []Image
	funcs    []function // by index in Plan.Funcs
	at       map[uint64]*place
	frames   bool        // stores to stacks are wanted: some variables there are nodes
	static   [][2]uint64 // data whose stores are not wanted
	syscalls map[uint32]syscalls.Desc
	brk      uint64
	threads  map[trace.ThreadID]*thread
	last     *thread
	hit      capture.Hit
	err      error

	Filtered uint64 // stores that are not wanted
}

// place is a site in the process.
type place struct {
	index         int
	site          *capture.Site
	flags         placeFlags
	alloc, writer int // indices in Plan.Funcs; -1: none
}

type placeFlags uint8

const (
	stops placeFlags = 1 << iota
	withStack
	entersAlloc
	leavesAlloc
	leavesWriter
	returns
)

// function is what the plan says of a function, with addresses of the process.
type function struct {
	*probe.Func
	skip   [2]uint64 // writer: calls from this code are its library's own
	traced bool      // stores of its file are recorded
	hides  bool      // what it stores is its own book-keeping
}

// thread is what is open in a thread.
type thread struct {
	id      trace.ThreadID
	stack   [2]uint64
	alloc   allocCall // sp 0: none
	writers []writerCall
	store   pending // of the instruction that is about to execute
	call    uint64  // its system call
	calls   bool
}

type allocCall struct {
	sp, pc, ptr uint64
	size        uint64 // bytes asked of a declared allocator, else 0
	fn          int
	tail        bool // it jumped to what is to return in its place
}

type writerCall struct {
	sp, pc, dst, len, count uint64
	old                     uint64 // append: length of the string before; line, split: the pointer before
	window                  uint64
	format                  pointers
	fn                      int
}

// pending is a store that is about to execute.
type pending struct {
	on         bool
	index      int
	pc, sp     uint64
	addr, size uint64
	base       uint64
	old        []byte // masked, conditional: bytes before
}

// New returns an observer that gives hits to take, whose error ends the observing.
func New(plan *probe.Plan, sites []capture.Site, images []Image, memory mem.Memory, o Options, take func(*capture.Hit) error) *Observer {
	if o.MaxData == 0 {
		o.MaxData = 1 << 20
	}
	v := &Observer{
		plan: plan, sites: sites, opts: o, memory: memory, take: take, brk: o.Break,
		syscalls: syscalls.Writing(), threads: map[trace.ThreadID]*thread{},
	}
	v.Mapped(images)
	return v
}

// Mapped tells where the files of the plan are now.
func (v *Observer) Mapped(images []Image) {
	v.images = images
	v.funcs = make([]function, len(v.plan.Funcs))
	for i := range v.plan.Funcs {
		f := &v.plan.Funcs[i]
		im := &images[f.Entry.Image]
		fn := function{Func: f, traced: v.plan.Images[f.Entry.Image].Traced}
		if !fn.traced {
			fn.skip = im.Code
		}
		switch f.Role {
		case probe.RoleWriter, probe.RoleWatch, probe.RoleWait, probe.RoleFrame:
		default:
			fn.hides = fn.traced && !f.Declared && !v.plan.Inside
		}
		v.funcs[i] = fn
	}
	v.at = make(map[uint64]*place, len(v.sites))
	for i := range v.sites {
		s := &v.sites[i]
		if im := &images[s.Image]; im.Mapped {
			v.at[im.Bias+s.Addr] = v.place(i)
		}
	}
	v.frames = v.plan.Frames()
	v.static = nil
	if !v.opts.Static {
		var data [][2]uint64
		for i := range images {
			if images[i].Mapped {
				data = append(data, images[i].Data...)
			}
		}
		v.static = v.plan.Unwanted(data, images[0].Bias)
	}
}

// Unwanted is data whose stores are not wanted.
func (v *Observer) Unwanted() [][2]uint64 { return v.static }

// place says what happens at a site. A function that is both an allocator and a
// writer is an allocator.
func (v *Observer) place(i int) *place {
	s := &v.sites[i]
	p := &place{index: i, site: s, alloc: -1, writer: -1}
	if len(s.Points) > 0 || s.Landing {
		p.flags |= stops
	}
	if s.Stack {
		p.flags |= stops | withStack
	}
	for _, f := range s.Enter {
		switch v.plan.Funcs[f].Role {
		case probe.RoleWatch, probe.RoleFrame:
			p.flags |= stops
		case probe.RoleWriter:
			p.writer = f
		default:
			p.flags |= stops | withStack | entersAlloc
			p.alloc = f
		}
	}
	for _, f := range s.Leave {
		switch v.plan.Funcs[f].Role {
		case probe.RoleWatch, probe.RoleFrame:
			p.flags |= stops
		case probe.RoleWriter:
			p.flags |= leavesWriter
		case probe.RoleWait:
		default:
			p.flags |= stops | leavesAlloc
		}
	}
	if len(s.Leave) > 0 && !s.Tail {
		p.flags |= returns
	}
	return p
}

// Thread tells of a thread and its stack, half-open; zeros: not known.
func (v *Observer) Thread(id trace.ThreadID, stack [2]uint64) {
	v.thread(id).stack = stack
}

// Ended forgets a thread.
func (v *Observer) Ended(id trace.ThreadID) {
	delete(v.threads, id)
	v.last = nil
}

func (v *Observer) thread(id trace.ThreadID) *thread {
	if v.last != nil && v.last.id == id {
		return v.last
	}
	t := v.threads[id]
	if t == nil {
		t = &thread{id: id}
		v.threads[id] = t
	}
	v.last = t
	return t
}

// Before tells that a thread is about to execute the instruction at r.RIP.
func (v *Observer) Before(id trace.ThreadID, r *mem.Regs) error {
	p := v.at[r.RIP]
	if p == nil {
		return v.err
	}
	t := v.thread(id)
	v.prune(t, r.RSP)
	v.functions(t, r, p)
	if p.site.Store >= 0 {
		v.beforeStore(t, r, p.site.Store)
	}
	return v.err
}

// After tells that the thread has executed the instruction of Before.
func (v *Observer) After(id trace.ThreadID, r *mem.Regs) error {
	if t := v.thread(id); t.store.on {
		v.afterStore(t, r)
	}
	return v.err
}

// Cancel tells that the instruction of Before has not been executed. done: a string
// instruction was executed in part, and these are the thread's registers.
func (v *Observer) Cancel(id trace.ThreadID, r *mem.Regs) error {
	t := v.thread(id)
	s := &t.store
	if s.on && v.plan.Stores[s.index].Effect.Shape == x86.ShapeString && r != nil && r.RDI != s.base {
		// What has been written so far, from RDI then and now.
		if r.RDI > s.base {
			s.size = r.RDI - s.base
		} else {
			n := s.base - r.RDI
			s.addr, s.size = s.addr+s.size-n, n
		}
		v.afterStore(t, r)
	}
	s.on = false
	t.calls = false
	return v.err
}

func (v *Observer) send() {
	if v.err == nil {
		v.err = v.take(&v.hit)
	}
}

// begin makes a new hit.
func (v *Observer) begin(op capture.Op, t *thread, pc, sp uint64) *capture.Hit {
	v.hit = capture.Hit{Op: op, Thread: t.id, PC: pc, SP: sp, Data: v.hit.Data[:0], Stack: nil}
	return &v.hit
}

// word is the word of memory at addr; 0 if there is none.
func (v *Observer) word(addr uint64) uint64 {
	x, err := mem.ReadUint64(v.memory, addr)
	if err != nil {
		return 0
	}
	return x
}

// length is strlen(3).
func (v *Observer) length(addr uint64) (n uint64) {
	var buf [256]byte
	for {
		k, _ := v.memory.ReadMemory(buf[:], addr+n) // k tells
		for i, c := range buf[:k] {
			if c == 0 {
				return n + uint64(i)
			}
		}
		if n += uint64(k); k < len(buf) {
			return n
		}
	}
}

// argument n of a function call, from 1.
func argument(r *mem.Regs, n int) uint64 {
	switch n {
	case 1:
		return r.RDI
	case 2:
		return r.RSI
	case 3:
		return r.RDX
	case 4:
		return r.RCX
	case 5:
		return r.R8
	case 6:
		return r.R9
	}
	return 0
}

// General is general register n by its number in instructions.
func General(r *mem.Regs, n x86.Reg) uint64 {
	switch n {
	case 0:
		return r.RAX
	case 1:
		return r.RCX
	case 2:
		return r.RDX
	case 3:
		return r.RBX
	case 4:
		return r.RSP
	case 5:
		return r.RBP
	case 6:
		return r.RSI
	case 7:
		return r.RDI
	case 8:
		return r.R8
	case 9:
		return r.R9
	case 10:
		return r.R10
	case 11:
		return r.R11
	case 12:
		return r.R12
	case 13:
		return r.R13
	case 14:
		return r.R14
	case 15:
		return r.R15
	}
	return 0
}
