package slice

import "mgtrace/slice/cfg"

// StepID is the number of a step, in the one order of all threads; from 1. 0 is what was
// before the recording. A step is as many pieces as a thread executed one after the other,
// of at most maxStepOps ops.
type StepID uint64

// Part is the execution of a piece, a part of a step or all of it.
type Part struct {
	First   Node   // its first op
	Instant uint64 // of its first instruction; of a cause, of the instruction after it
	Thread  uint32
	Piece   *Piece
	Mem     []Mem // of its accesses; of a cause: what it wrote
	Reads   []Mem // of a cause: what it read

	// Control is the op that decided that this one is executed: a branch, or an indirect
	// call; 0: none is known.
	Control Node
	// Frame is the activation that it is in: a number that is never used again.
	Frame uint64
}

// Doubts counts where the order of calls and returns was not as expected.
type Doubts struct {
	Unwound  uint64 // frames left without a return: exceptions, longjmp, signal handlers
	Returns  uint64 // returns without a call: to frames from before the recording, or on another stack
	Lost     uint64 // gaps
	Unknown  int    // ways of control into code that is not known
	Partial  int    // jump tables of which there may be more targets than were seen
	Endless  int    // loops without a way out
	Bypassed uint64 // loads of saved registers that were bypassed
}

// tracker follows control: it turns events into steps (Xin and Zhang, "Efficient
// Online Detection of Dynamic Control Dependence", ISSTA 2007).
type tracker struct {
	p       *Program
	threads map[uint32]*thread
	cur     *thread
	part    Part
	known   stretches
	last    StepID   // that of the part in hand
	stretch *stretch // that it is of, as far as it goes
	until   uint64   // the instant after it
	frames  uint64
	doubts  Doubts
	sink    func(*Part) error
	hooks   hooks
}

// hooks tell where a thread has its registers from, and until when; and that memory has
// another address. A function may be nil.
type hooks struct {
	started     func(thread, parent uint32)
	ended       func(thread uint32)
	interrupted func(thread uint32, handler uint64) // frame
	resumed     func(thread uint32, handler uint64)
	moved       func(to, from Mem)
}

// thread is what is open in a thread.
type thread struct {
	id     uint32
	frames []frame
	// A call or return that the last step ended with.
	pending cfg.Kind
	slot    uint64 // where its return address lies; 0: not known
	via     Node   // of a call: what its callee depends on
	last    Node   // where its last step decided to go
	begun   Node   // what it depends on as a whole: the system call that began it
}

// frame is an activation of a function.
type frame struct {
	serial uint64
	fn     *cfg.Func
	slot   uint64 // address of the return address; 0: not known
	via    Node   // what it depends on as a whole
	open   []open

	handler bool // of a signal
}

// open is a branch whose ways have not met again.
type open struct {
	join   uint64
	branch Node
}

func newTracker(p *Program, sink func(*Part) error) *tracker {
	return &tracker{p: p, threads: map[uint32]*thread{}, sink: sink, known: stretches{most: p.limits.stretches}}
}

// run reads the run and gives its parts to sink. A part is valid until that returns.
func (t *tracker) run() error {
	if err := t.p.source.Scan(t.event); err != nil {
		return err
	}
	for _, f := range t.p.funcs {
		t.doubts.Unknown += f.Unknown
		t.doubts.Partial += f.Partial
		t.doubts.Endless += f.Endless
	}
	return nil
}

func (t *tracker) thread(id uint32) *thread {
	if t.cur != nil && t.cur.id == id {
		return t.cur
	}
	th := t.threads[id]
	if th == nil {
		th = &thread{id: id}
		t.threads[id] = th
	}
	t.cur = th
	return th
}

func (t *tracker) event(e *Event) error {
	th := t.thread(e.Thread)
	switch e.Kind {
	case Executed:
		return t.executed(th, e)
	case Defined:
		return t.caused(th, e, t.p.cause(e.Cause, e.Regs, e.Writes))
	case Lost:
		t.doubts.Lost++
		for _, o := range t.threads {
			if e.Thread == 0 || o == th {
				o.frames, o.pending = nil, cfg.Next
			}
		}
		return t.caused(th, e, t.p.cause(Cause{Kind: Gap}, Regs{}, Regs{}))
	case Faulted:
		return t.faulted(th, e)
	case Interrupted:
		f := t.push(th, t.p.function(e.Handler), 0, 0)
		f.handler = true
		th.pending = cfg.Next
		if t.hooks.interrupted != nil {
			t.hooks.interrupted(th.id, f.serial)
		}
	case Resumed:
		t.resumed(th)
	case Moved:
		if t.hooks.moved != nil {
			t.hooks.moved(e.Mem[0], e.Mem[1])
		}
	case Started:
		*th = thread{id: e.Thread}
		if o := t.threads[e.Parent]; o != nil && o != th {
			th.begun = o.last
		}
		if t.hooks.started != nil {
			t.hooks.started(e.Thread, e.Parent)
		}
	case Ended:
		delete(t.threads, e.Thread)
		t.cur = nil
		if t.hooks.ended != nil {
			t.hooks.ended(e.Thread)
		}
	}
	return nil
}

// resumed ends the innermost signal handler of a thread.
func (t *tracker) resumed(th *thread) {
	th.pending = cfg.Next
	for i := len(th.frames) - 1; i >= 0; i-- {
		if f := &th.frames[i]; f.handler {
			if t.hooks.resumed != nil {
				t.hooks.resumed(th.id, f.serial)
			}
			th.frames = th.frames[:i]
			return
		}
	}
}

func (t *tracker) caused(th *thread, e *Event, p *Piece) error {
	s := &t.part
	*s = Part{First: t.place(e.Thread, e.Instant, p), Instant: e.Instant, Thread: e.Thread, Piece: p, Mem: e.Mem, Reads: e.Reads}
	if n := len(th.frames); n > 0 {
		s.Control, s.Frame = th.frames[n-1].control(), th.frames[n-1].serial
	}
	return t.sink(s)
}

// faulted: the instruction that was not executed is where control had come to, which
// may be another function. Nothing of it is known, so the call is taken back.
func (t *tracker) faulted(th *thread, e *Event) error {
	called := th.pending == cfg.Call
	if th.pending == cfg.Return {
		t.popTo(th)
	}
	th.pending = cfg.Next
	if called {
		t.push(th, t.p.function(e.Cause.PC), th.slot, th.via)
	}
	err := t.caused(th, e, t.p.cause(e.Cause, e.Regs, Regs{}))
	if called {
		th.frames = th.frames[:len(th.frames)-1]
	}
	return err
}

func (t *tracker) executed(th *thread, e *Event) error {
	instant, mem := e.Instant, e.Mem
	for _, p := range t.p.of(e.Code, e.From, e.N) {
		f := t.enter(th, p)
		for n := len(f.open); n > 0 && f.open[n-1].join == p.start; n-- {
			f.open = f.open[:n-1]
		}
		s := &t.part
		first := t.place(th.id, instant, p)
		th.last = p.decides(first)
		s.First, s.Instant, s.Thread, s.Piece = first, instant, th.id, p
		s.Mem, s.Reads = mem[:len(p.accesses)], nil
		s.Control, s.Frame = f.control(), f.serial
		if err := t.sink(s); err != nil {
			return err
		}
		t.leave(th, f, s)
		instant += uint64(p.N)
		mem = mem[len(p.accesses):]
	}
	return nil
}

// place returns the first op of a piece that is executed: in the step in hand, or in the
// next one.
func (t *tracker) place(thread uint32, instant uint64, p *Piece) Node {
	var w *stretch
	if t.stretch != nil && t.part.Thread == thread && t.until == instant {
		w = t.known.with(t.stretch, p)
	}
	op := 0
	if w != nil {
		op = t.stretch.ops
	} else {
		t.last++
		w = t.known.of(p)
	}
	t.stretch, t.until = w, instant+uint64(p.N)
	return node(t.last, uint16(op))
}

// control is the branch that decided that the frame goes where it goes.
func (f *frame) control() Node {
	if n := len(f.open); n > 0 {
		return f.open[n-1].branch
	}
	return f.via
}

func (t *tracker) push(th *thread, fn *cfg.Func, slot uint64, via Node) *frame {
	t.frames++
	n := len(th.frames)
	if n < cap(th.frames) {
		th.frames = th.frames[:n+1] // its list of open branches is used again
	} else {
		th.frames = append(th.frames, frame{})
	}
	f := &th.frames[n]
	*f = frame{serial: t.frames, fn: fn, slot: slot, via: via, open: f.open[:0]}
	return f
}

// enter finds the frame in which a piece is executed.
func (t *tracker) enter(th *thread, p *Piece) *frame {
	pending := th.pending
	th.pending = cfg.Next
	switch pending {
	case cfg.Call:
		f := t.push(th, t.p.function(p.start), th.slot, th.via)
		p.met(f.fn)
		return f
	case cfg.Return:
		t.popTo(th)
	}
	if len(th.frames) == 0 {
		return t.push(th, t.p.function(p.start), 0, th.begun)
	}
	f := &th.frames[len(th.frames)-1]
	if p.fn == f.fn {
		return f
	}
	if f.fn.Contains(p.start) {
		p.met(f.fn)
		return f
	}
	return t.elsewhere(th, p)
}

// popTo ends the frame whose return address was used, and those in it.
func (t *tracker) popTo(th *thread) {
	n := len(th.frames)
	if th.slot == 0 {
		if n > 0 {
			th.frames = th.frames[:n-1]
		}
		return
	}
	for i := n - 1; i >= 0; i-- {
		if th.frames[i].slot == th.slot {
			t.doubts.Unwound += uint64(n - 1 - i)
			th.frames = th.frames[:i]
			return
		}
	}
	t.doubts.Returns++
}

// elsewhere: control is where the frame's function is not. It has jumped to
// another function (a tail call), or back to a frame further out (an exception,
// longjmp, the end of a signal handler), or returned to where no call was seen.
func (t *tracker) elsewhere(th *thread, p *Piece) *frame {
	n := len(th.frames)
	top := &th.frames[n-1]
	if !(code{t.p}).Entry(p.start) {
		for i := n - 2; i >= 0; i-- {
			if f := &th.frames[i]; f.fn.Contains(p.start) {
				t.doubts.Unwound += uint64(n - 1 - i)
				th.frames = th.frames[:i+1]
				p.met(f.fn)
				return f
			}
		}
	}
	// Its caller and its return address stay, and the branches that led to the jump.
	top.fn = t.p.function(p.start)
	for i := range top.open {
		top.open[i].join = cfg.Exit
	}
	p.met(top.fn)
	return top
}

// met remembers what the piece's end is in a function.
func (p *Piece) met(f *cfg.Func) {
	p.fn = f
	p.join, p.parts = f.Join(p.endPC)
	p.parts = p.parts && p.Code != nil
}

// leave takes down the branch, call or return that a part ends with.
func (t *tracker) leave(th *thread, f *frame, s *Part) {
	p := s.Piece
	switch p.end {
	case cfg.Next, cfg.Jump, cfg.Link:
		return
	case cfg.Cond, cfg.Indirect:
		if p.fn != f.fn {
			p.met(f.fn)
		}
		join := p.join
		switch {
		case p.parts:
		case p.end == cfg.Indirect && !p.direct:
			join = cfg.Exit // a tail call: the function that it goes to depends on it
		default:
			return
		}
		if n := len(f.open); n > 0 && f.open[n-1].join == join {
			f.open[n-1].branch = p.decides(s.First) // the next round of a loop, or the second half of a condition
			return
		}
		f.open = append(f.open, open{join, p.decides(s.First)})
	case cfg.Call:
		th.via = f.control()
		if !p.direct {
			th.via = p.decides(s.First)
		}
		th.pending, th.slot = cfg.Call, slotOf(s)
	case cfg.Return:
		th.pending, th.slot = cfg.Return, slotOf(s)
	}
}

func slotOf(s *Part) uint64 {
	if i := s.Piece.slot; i >= 0 && i < len(s.Mem) {
		return s.Mem[i].Addr
	}
	return 0
}
