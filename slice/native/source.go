package native

import (
	"errors"

	"mgtrace/flow"
	"mgtrace/slice"
	"mgtrace/slice/cfg"
	"mgtrace/x86"
)

// Files is the program as it lies in its files.
type Files interface {
	// Code returns up to n bytes of code at an address; nil if no file has it.
	Code(pc uint64, n int) []byte
	// Function returns the entry of the function that has the address, and whether it
	// ever returns; false if no symbol says.
	Function(pc uint64) (entry uint64, returns, ok bool)
	// Linker says that the dynamic linker's code is at the address.
	Linker(pc uint64) bool
}

// Source is a flow as slice.Source.
type Source struct {
	r     *flow.Reader
	files Files
	codes []*slice.Code // by block, made when needed
	at    map[uint64]place
	fns   map[uint64]function
	mem   []slice.Mem

	// Damage is why the flow ends early, after a Scan; nil if it is whole.
	Damage error
	// Unknown counts instructions that the table of effects does not have.
	Unknown int
}

// place is an instruction of a block.
type place struct {
	block flow.BlockID
	inst  uint16
}

type function struct {
	entry   uint64
	returns bool
	ok      bool
}

// New makes a source of a flow. Of files may be nil.
func New(r *flow.Reader, files Files) *Source {
	s := &Source{r: r, files: files, codes: make([]*slice.Code, r.Blocks()+1), at: map[uint64]place{}, fns: map[uint64]function{}}
	for id := flow.BlockID(1); int(id) <= r.Blocks(); id++ {
		b := r.Block(id)
		for i := range b.Insts {
			s.at[uint64(b.PC(i))] = place{id, uint16(i)} // the newest, if code changed
		}
	}
	return s
}

// Code implements slice.Source.
func (s *Source) Code(id uint32) *slice.Code {
	if id == 0 || int(id) >= len(s.codes) {
		return nil
	}
	c := s.codes[id]
	if c == nil {
		var unknown int
		c, unknown = describe(id, s.r.Block(flow.BlockID(id)))
		s.Unknown += unknown
		if last := &c.Insts[len(c.Insts)-1]; last.End == cfg.Indirect && s.files != nil && s.files.Linker(last.PC) {
			last.Direct = true // to the function that was looked up, when it is called for the first time; or to the program
		}
		s.codes[id] = c
	}
	return c
}

// Static implements slice.Source.
func (s *Source) Static() cfg.Code { return static{s} }

// Scan implements slice.Source. A flow that was cut off is what it has.
func (s *Source) Scan(f func(*slice.Event) error) error {
	var e slice.Event
	var failed error
	s.Damage = s.r.Scan(1, func(r *flow.Record) error {
		if failed = s.event(r, &e, f); failed != nil {
			return flow.ErrStop
		}
		return nil
	})
	if failed == nil && s.Damage != nil && !errors.Is(s.Damage, flow.ErrTruncated) && !errors.Is(s.Damage, flow.ErrCorrupt) {
		return s.Damage
	}
	return failed
}

// event turns a record into an event for f.
func (s *Source) event(r *flow.Record, e *slice.Event, f func(*slice.Event) error) error {
	s.mem = s.mem[:0]
	for _, m := range r.Mem {
		s.mem = append(s.mem, slice.Mem{Addr: uint64(m.Addr), Size: m.Size})
	}
	if to, from, ok := r.Moved(); ok {
		size := min(to.Size, from.Size)
		moved := []slice.Mem{{Addr: uint64(to.Addr), Size: size}, {Addr: uint64(from.Addr), Size: size}}
		if err := f(&slice.Event{Kind: slice.Moved, Instant: uint64(r.Instant), Thread: uint32(r.Thread), Mem: moved}); err != nil || to.Size == size {
			return err
		}
		s.mem = append(s.mem[:0], slice.Mem{Addr: uint64(to.Addr) + uint64(size), Size: to.Size - size})
	}
	*e = slice.Event{Instant: uint64(r.Instant), Thread: uint32(r.Thread), Mem: s.mem}
	switch r.Kind {
	case flow.Exec:
		if r.N == 0 {
			return nil
		}
		e.Kind, e.Code, e.From, e.N = slice.Executed, s.Code(uint32(r.Block)), r.From, r.N
	case flow.Define:
		e.Kind = slice.Defined
		e.Cause.Number = int64(r.Number)
		switch r.Cause {
		case flow.BySyscall:
			if r.Number == sigreturn {
				e.Kind = slice.Resumed
				break
			}
			if len(s.mem) == 0 {
				return nil
			}
			e.Cause.Kind, e.Cause.PC = slice.Syscall, uint64(r.PC)
			if r.Number != execve {
				e.Regs = arguments
			}
		case flow.BySignal:
			e.Cause.Kind = slice.SignalFrame
		}
	case flow.Gap:
		e.Kind, e.Mem = slice.Lost, nil
	case flow.Start:
		e.Kind, e.Parent = slice.Started, uint32(r.Number)
	case flow.End:
		e.Kind = slice.Ended
	case flow.Signal:
		faults := s.faults(r)
		e.Kind, e.Cause = slice.Faulted, slice.Cause{Kind: slice.Fault, Number: int64(r.Number), PC: uint64(r.PC)}
		if faults {
			e.Regs = s.reads(uint64(r.PC))
		}
		e.Reads, e.Mem = s.mem, nil
		if r.Handler == 0 {
			break
		}
		if faults {
			if err := f(e); err != nil {
				return err
			}
		}
		*e = slice.Event{Kind: slice.Interrupted, Instant: e.Instant, Thread: e.Thread, Handler: uint64(r.Handler), Mem: s.mem}
	default:
		return nil
	}
	return f(e)
}

// sigreturn is the number of the system call that ends a signal handler, execve of the one
// that begins a program, whose arguments were another's.
const (
	sigreturn = 15
	execve    = 59
)

// arguments are the registers of a system call when it has been made: its number
// is where its result is, which depends on it.
var arguments = func() (r slice.Regs) { // read-only
	for _, g := range []x86.Reg{x86.RAX, x86.RDI, x86.RSI, x86.RDX, 10, 8, 9} {
		for u := range uint8(4) {
			r.Add(uint8(g)*4 + u)
		}
	}
	return r
}()

// static is the program for control-flow graphs.
type static struct{ s *Source }

// At implements cfg.Code.
func (c static) At(pc uint64) (cfg.Inst, bool) {
	in, ok := c.s.inst(pc)
	if !ok {
		return cfg.Inst{}, false
	}
	kind, _ := end(&in)
	out := cfg.Inst{Len: uint8(in.Len), Kind: kind, Target: in.Target}
	if kind == cfg.Call && in.Direct && !c.s.function(in.Target).returns {
		out.Kind = cfg.Stop
	}
	return out, true
}

func (s *Source) function(pc uint64) function {
	f, ok := s.fns[pc]
	if !ok {
		f.returns = true
		if s.files != nil {
			if f.entry, f.returns, f.ok = s.files.Function(pc); !f.ok {
				f.returns = true
			}
		}
		s.fns[pc] = f
	}
	return f
}

// Entry implements cfg.Code.
func (c static) Entry(pc uint64) bool {
	f := c.s.function(pc)
	return f.ok && f.entry == pc
}

// Targets implements cfg.Code: what the run shows is all that is known.
func (c static) Targets(uint64) ([]uint64, bool) { return nil, false }

// faults: a signal came of the instruction before which it came, and was not sent by a
// system call that had just been made.
func (s *Source) faults(r *flow.Record) bool {
	switch r.Number {
	case sigILL, sigBUS, sigFPE, sigSEGV:
		return string(s.code(uint64(r.PC)-uint64(syscallLen), syscallLen)) != syscallCode
	}
	return false
}

// The signals of x86-64 that faults raise (asm/signal.h).
const (
	sigILL  = 4
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
)

// syscallCode is the instruction SYSCALL.
const (
	syscallCode = "\x0f\x05"
	syscallLen  = len(syscallCode)
)

// reads returns the registers that the instruction at an address reads but for the
// stack pointer; none if its bytes are not known.
func (s *Source) reads(pc uint64) (regs slice.Regs) {
	in, ok := s.inst(pc)
	if !ok {
		return regs
	}
	var e x86.Effects
	in.Effects(&e)
	regs = slice.Regs(e.Read)
	regs.AndNot(&stack)
	return regs
}

// inst is the instruction at an address, as it was executed or as it lies in a file.
func (s *Source) inst(pc uint64) (x86.Inst, bool) {
	in, err := x86.Decode(s.code(pc, x86.MaxLen), pc)
	return in, err == nil
}

// code is that of an instruction, or up to n bytes of a file.
func (s *Source) code(pc uint64, n int) []byte {
	if p, ok := s.at[pc]; ok {
		return s.r.Block(p.block).Bytes(int(p.inst))
	}
	if s.files != nil {
		return s.files.Code(pc, n)
	}
	return nil
}
