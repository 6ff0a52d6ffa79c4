package translate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// Env is what translations refer to.
type Env struct {
	Tables uint32 // address of the tables
	// Miss is the routine that looks a target up in the second table. It lies within
	// 2 GB of the translation.
	Miss uint64
	// Release gives the baton away and returns to the address in RCX. Acquire waits
	// for it and goes on at Cont of the thread block. They lie as near.
	Release, Acquire uint64
	// Note tells the hook routine of the site and phase in Noted of the thread block,
	// and returns to the address in RCX, whose value of the program is in SaveRCX. It
	// keeps all registers. It lies as near.
	Note uint64
	// Site says what is wanted at an instruction; nil: nothing anywhere. plain: if it
	// stores, the value can be recorded.
	Site func(pc uint64, plain bool) Site
	// Checked: the code may change unseen. Its translation looks whether it is as it was.
	Checked bool
}

// Stop says why an int3 of a translation is there.
type Stop uint8

// The stops.
const (
	StopExit    Stop = 1 + iota // the exit leads nowhere yet
	StopFull                    // no room for a record
	StopBefore                  // a system call is about to be made
	StopAfter                   // it was made
	StopRefused                 // the instruction can not be translated
	StopSite                    // an instruction that the tracer wants to see is about to be executed
	StopChanged                 // the block's code is not what was translated
)

// Exit is a jump to another block.
type Exit struct {
	At     int // of the jump's displacement in the code
	Target uint64
	Stub   int // where it leads until Target has a translation
}

// Trap is an int3.
type Trap struct {
	Off  int
	Stop Stop
	Exit int // StopExit: index of the exit
	Next int // StopFull: where to go on, with the cursor in register Cursor
}

// Code is the translation of a block.
type Code struct {
	Layout
	Bytes []byte
	Entry int // for who comes by a jump; 0 is for who comes with a computed target
	Exits []Exit
	Traps []Trap
	// Cursor is the register that holds the cursor.
	Cursor x86.Reg
	Why    string // StopRefused
	marks  []mark
}

// Goes says where the program is to go on from a place in a translation.
type Goes uint8

// The ways.
const (
	AtInst    Goes = iota // at instruction N
	AtAddr                // at Addr
	AtTarget              // at the address in Target of the thread block
	AtBranch              // as the conditional jump decides that comes next
	AtNothing             // let it execute the instruction and look again
)

// mark is what holds before an instruction of a translation.
type mark struct {
	off int
	Mark
}

// Mark is what holds at a place of a translation.
type Mark struct {
	N         int  // so many of the block's instructions have executed
	Committed bool // the record is whole, and counted
	Goes      Goes
	Addr      uint64 // AtAddr; AtBranch: if it is taken
	Else      uint64 // AtBranch: if not
	Cond      byte   // AtBranch
	// Where the program's value of a register is kept, if not in itself.
	B, T, A, C bool // SaveB, SaveT, SaveRAX, SaveRCX
	RegB, RegT x86.Reg
	// Program: it is an instruction of the program, number N, and faults as that.
	Program bool
	// Noted: what is about to be executed was told of already: it is to be executed
	// before a signal is delivered.
	Noted bool
	// Notes: it was told of, or is about to be, and will be told of again when it has
	// executed. A signal waits until then.
	Notes bool
	// Undo: the record that was counted last is of what has not executed.
	Undo bool
	// Log: it touches the log.
	Log bool
}

// Where says what holds at an offset of the code, if an instruction begins there.
func (c *Code) Where(off int) (Mark, bool) {
	for i := range c.marks {
		if c.marks[i].off == off {
			return c.marks[i].Mark, true
		}
	}
	return Mark{}, false
}

// errFar: what an instruction refers to can not be reached from its translation.
var errFar = errors.New("translate: an operand is more than 2 GB away from the translation")

type emitter struct {
	asm
	env   *Env
	bl    *block
	code  *Code
	state Mark
}

// Translate translates the block at start, of which code are the bytes as far as
// they are known. The translation will lie at address at; id is what its records
// begin with.
func Translate(start uint64, code []byte, id uint32, at uint64, env *Env) (*Code, error) {
	bl, err := form(start, code, env.Site)
	if err != nil {
		return nil, err
	}
	bl.Checked = env.Checked
	e := &emitter{asm: asm{addr: at}, env: env, bl: bl}
	e.code = &Code{Layout: bl.Layout, Cursor: bl.b, Why: bl.why}
	e.state.RegB, e.state.RegT = bl.b, bl.t
	if err := e.emit(id); err != nil {
		return nil, err
	}
	e.code.Bytes = e.buf
	return e.code, nil
}

// m notes what holds before the next instruction.
func (e *emitter) m() {
	e.state.Noted = e.state.Noted && e.state.N == 0
	e.code.marks = append(e.code.marks, mark{e.off(), e.state})
}

func (e *emitter) emit(id uint32) error {
	bl := e.bl
	e.preamble()
	e.code.Entry = e.off()
	if bl.Checked {
		e.check()
	}
	if bl.first.Stop {
		e.trap(Trap{Stop: StopSite})
	}
	if bl.first.Note != 0 {
		e.note(layout.PhaseBefore)
		e.state.Notes = bl.first.After
		// A string instruction may take long; it can be told of again.
		e.state.Noted = !bl.first.After && bl.kind != system && !bl.repeats()
	}
	switch bl.kind {
	case refused:
		e.trap(Trap{Stop: StopRefused})
		return nil
	case system:
		e.system(id)
		e.stubs()
		return nil
	}
	e.begin(id)
	if bl.kind == opaque {
		e.commit()
		e.state.N, e.state.Goes, e.state.Undo = 0, AtInst, true
		if err := e.copy(0); err != nil {
			return err
		}
		e.state.N, e.state.Undo = 1, false
		e.noteBehind()
		e.exit(bl.PC(1))
		e.stubs()
		return nil
	}
	for i := range bl.insts {
		e.state.N = i
		e.parts(i, false)
		if i == len(bl.insts)-1 && bl.kind != toNext {
			break
		}
		if err := e.copy(i); err != nil {
			return err
		}
		e.state.N = i + 1
		e.parts(i, true)
	}
	if err := e.end(); err != nil {
		return err
	}
	e.stubs()
	return nil
}

// preamble is where control comes with a computed target in RCX, which may be
// another one. RAX and RCX of the program are in the thread block.
func (e *emitter) preamble() {
	s := e.state
	e.state.Goes, e.state.A, e.state.C = AtTarget, true, true
	e.state.Committed = true
	e.m()
	e.leaRIP(x86.RAX, e.bl.Start)
	e.m()
	if e.bl.free {
		e.bytes(0x48, 0x39, 0xc1) // cmp rcx, rax
		e.m()
		e.jcc(5, e.env.Miss) // jne
	} else {
		e.bytes(0x48, 0xf7, 0xd0) // not rax
		e.m()
		e.lea(x86.RCX, mem{base: x86.RCX, index: x86.RAX, scale: 1, disp: 1})
		e.m()
		e.bytes(0xe3, 5) // jrcxz over the jump
		e.m()
		e.jump(e.env.Miss)
	}
	e.m()
	e.load(x86.RAX, slot(SaveRAX))
	e.state.A = false
	e.m()
	e.load(x86.RCX, slot(SaveRCX))
	e.state = s
	e.state.Committed = true // nothing is begun
}

// check emits a look at the block's code: a word that is not as it was leads to a stop.
// It changes no flags: RCX is the difference of the two.
func (e *emitter) check() {
	bl := e.bl
	e.m()
	e.store(slot(SaveRAX), x86.RAX)
	e.m()
	e.store(slot(SaveRCX), x86.RCX)
	e.state.A, e.state.C = true, true
	code := bl.Code
	for at := 0; at < len(code); {
		n := 8
		for n > len(code)-at {
			n >>= 1
		}
		var word [8]byte
		copy(word[:], code[at:at+n])
		e.m()
		e.leaRIP(x86.RCX, bl.Start+uint64(at))
		e.m()
		switch from := (mem{base: x86.RCX, index: x86.NoReg}); n {
		case 1:
			e.op(0x0fb6, false, x86.RCX, from) // movzx
		case 2:
			e.op(0x0fb7, false, x86.RCX, from)
		case 4:
			e.op(0x8b, false, x86.RCX, from)
		default:
			e.load(x86.RCX, from)
		}
		e.m()
		e.loadImm(x86.RAX, -binary.LittleEndian.Uint64(word[:]))
		e.m()
		e.lea(x86.RCX, mem{base: x86.RCX, index: x86.RAX, scale: 1})
		e.m()
		e.bytes(0xe3, 1) // jrcxz
		e.trap(Trap{Stop: StopChanged})
		at += n
	}
	e.m()
	e.load(x86.RAX, slot(SaveRAX))
	e.state.A = false
	e.m()
	e.load(x86.RCX, slot(SaveRCX))
	e.state.C = false
}

// begin borrows the registers and begins the record.
func (e *emitter) begin(id uint32) {
	bl := e.bl
	e.m()
	e.store(slot(SaveB), bl.b)
	e.state.B = true
	if bl.needT {
		e.m()
		e.store(slot(SaveT), bl.t)
		e.state.T = true
	}
	reload := e.off()
	e.m()
	e.load(bl.b, slot(Cursor))
	e.m()
	if bl.free {
		e.op(0x3b, true, bl.b, slot(Limit)) // cmp b, limit
		e.m()
		e.code.Traps = append(e.code.Traps, Trap{Stop: StopFull, Off: -e.off(), Next: reload})
		e.jcc(7, e.here()) // ja, to the stub
	}
	e.state.Log = true
	e.m()
	e.storeImm32(at(bl.b, 0), id)
	e.state.Log = false
	e.state.Committed = false
}

// parts emits the recording of what instruction i adds to the record.
func (e *emitter) parts(i int, after bool) {
	for k := range e.bl.parts {
		if p := &e.bl.parts[k]; p.inst == i && p.after == after && !p.rest {
			e.part(k)
		}
	}
}

// part emits the recording of part i.
func (e *emitter) part(i int) {
	p := &e.bl.parts[i]
	if p.vector != 0 {
		e.state.Log = true
		e.m()
		e.storeVector(e.bl.b, partsAt+partSize*i, p.vector-1, p.size)
		e.state.Log = false
		return
	}
	from := p.from
	switch {
	case p.flags:
		// PUSHFQ needs a stack, and the program's may have its red zone there.
		e.m()
		e.store(slot(SavedSP), x86.RSP)
		e.m()
		e.load(x86.RSP, slot(layout.HookSP))
		s := e.state
		e.state.Goes = AtNothing
		e.m()
		e.bytes(0x9c) // pushfq
		from = e.bl.t
		e.m()
		if from >= 8 {
			e.bytes(0x41)
		}
		e.bytes(0x58 | byte(from&7)) // pop
		e.m()
		e.load(x86.RSP, slot(SavedSP))
		e.state = s
	case p.width != 0:
		from = e.bl.t
		m := at(from, 0)
		if p.mem != nil {
			m = *p.mem
		} else {
			e.m()
			e.leaRIP(from, p.value)
		}
		e.m()
		switch p.width {
		case 1:
			e.op(0x0fb6, false, from, m) // movzx
		case 2:
			e.op(0x0fb7, false, from, m)
		case 4:
			e.op(0x8b, false, from, m)
		default:
			e.load(from, m)
		}
	case p.mask != 0:
		e.m()
		from = e.bl.t
		e.kmov(from, p.mask, p.wide)
	case p.mem != nil:
		e.m()
		from = e.bl.t
		e.op(0x8d, true, from, *p.mem)
	}
	e.state.Log = true
	e.m()
	e.store(at(e.bl.b, partsAt+partSize*i), from)
	e.state.Log = false
}

// copy emits instruction i as it is, but for its distance to what it refers to.
func (e *emitter) copy(i int) error {
	bl := e.bl
	in := &bl.insts[i]
	off := int(bl.Insts[i].Off)
	code := bl.Code[off : off+in.Len]
	e.state.Program = true
	e.m()
	e.state.Program = false
	begin := e.off()
	e.bytes(code...)
	m, ok := in.Operand()
	if !ok || !m.RIPRelative {
		return nil
	}
	dispAt, size := in.DispAt()
	to := bl.PC(i) + uint64(in.Len) + uint64(m.Disp)
	disp := int64(to - (e.addr + uint64(begin+in.Len)))
	if size != 4 || disp != int64(int32(disp)) {
		return fmt.Errorf("%w: at %#x", errFar, bl.PC(i))
	}
	for k := range 4 {
		e.buf[begin+dispAt+k] = byte(disp >> (8 * k))
	}
	return nil
}

// commit counts the record and gives the registers back.
func (e *emitter) commit() {
	bl := e.bl
	e.m()
	e.lea(bl.b, at(bl.b, bl.Size()))
	e.m()
	e.store(slot(Cursor), bl.b)
	e.state.Committed = true
	e.m()
	e.load(bl.b, slot(SaveB))
	e.state.B = false
	if bl.needT {
		e.m()
		e.load(bl.t, slot(SaveT))
		e.state.T = false
	}
}
