package slice

// Recorded is the steps of a run in memory, for the algorithms that go through
// all of them backwards.
type Recorded struct {
	Program *Program
	Doubts  Doubts
	steps   []recordedStep
	mem     []Mem
	starts  []beginning
}

// beginning is that of a thread, after a step: it has its registers from its parent.
type beginning struct {
	after          StepID
	thread, parent uint32
}

type recordedStep struct {
	piece   uint32
	thread  uint32
	control StepID
	instant uint64
	mem     uint64 // where its accesses begin in mem; those of the next end it
	reads   uint32 // of a cause: how many of them are reads; they come last
}

// Record reads a run into memory.
func (p *Program) Record() (*Recorded, error) {
	r := &Recorded{Program: p}
	t := newTracker(p, r.step)
	start := func(thread, parent uint32) { r.starts = append(r.starts, beginning{r.Steps(), thread, parent}) }
	// While a handler runs, what the thread's registers had is another thread's.
	aside := func(handler uint64) uint32 { return uint32(handler) | 1<<31 }
	t.hooks = hooks{
		started:     start,
		interrupted: func(thread uint32, handler uint64) { start(aside(handler), thread) },
		resumed:     func(thread uint32, handler uint64) { start(thread, aside(handler)) },
	}
	if err := t.run(); err != nil {
		return nil, err
	}
	r.Doubts = t.doubts
	return r, nil
}

func (r *Recorded) step(s *Step) error {
	r.steps = append(r.steps, recordedStep{
		piece: s.Piece.ID, thread: s.Thread, control: s.Control, instant: s.Instant,
		mem: uint64(len(r.mem)), reads: uint32(len(s.Reads)),
	})
	r.mem = append(append(r.mem, s.Mem...), s.Reads...)
	return nil
}

// Steps is how many there are.
func (r *Recorded) Steps() StepID { return StepID(len(r.steps)) }

// Step fills s with a step. Its frame is not known.
func (r *Recorded) Step(id StepID, s *Step) {
	v := &r.steps[id-1]
	end := uint64(len(r.mem))
	if int(id) < len(r.steps) {
		end = r.steps[id].mem
	}
	mem := r.mem[v.mem:end]
	n := len(mem) - int(v.reads)
	*s = Step{ID: id, Instant: v.instant, Thread: v.thread, Piece: r.Program.Piece(v.piece), Mem: mem[:n], Reads: mem[n:], Control: v.control}
}

// insts calls f with the ops of each instruction of a step, the last instruction
// first, and the accesses that the bits of its ops mean. A cause is one instruction.
func (s *Step) insts(f func(first Node, ops []Op, mem []Mem)) {
	p := s.Piece
	if p.Code == nil {
		f(node(s.ID, 0), []Op{p.causeOp()}, nil)
		return
	}
	mem := len(s.Mem)
	op := len(p.ops)
	for i := int(p.From) + int(p.N) - 1; i >= int(p.From); i-- {
		in := &p.Code.Insts[i]
		mem -= int(in.Accesses)
		op -= len(in.Ops)
		f(node(s.ID, uint16(op)), in.Ops, s.Mem[mem:mem+int(in.Accesses)])
	}
}

// causeOp is the registers of what a cause did.
func (p *Piece) causeOp() Op {
	var o Op
	for _, g := range p.groups {
		o.Read[g.quad>>4] |= uint64(g.mask) << (g.quad & 15 * 4)
	}
	for _, u := range p.writes {
		o.Write.Add(u)
	}
	return o
}

// touched calls f with the memory that an op reads, or writes.
func (s *Step) touched(mask uint32, mem []Mem, cause []Mem, f func(lo, hi uint64)) {
	if s.Piece.Code == nil {
		for _, m := range cause {
			f(m.Addr, m.Addr+uint64(m.Size))
		}
		return
	}
	for i, m := range mem {
		if mask&(1<<i) != 0 && m.Size > 0 {
			f(m.Addr, m.Addr+uint64(m.Size))
		}
	}
}
