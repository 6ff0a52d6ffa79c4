package slice

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"mgtrace/slice/cfg"
)

// The machine of the tests: 14 registers of 8 bytes, a stack pointer, 64 KB of
// memory. It is the outside judge: it computes values, knows nothing of
// dependences, and can run again with one result changed.

type opcode uint8

const (
	mConst opcode = iota // dst = imm
	mMix                 // dst = a hash of a and b: it changes when either does
	mCopy                // dst = a
	mByte                // the low byte of dst = that of a: the rest stays
	mLoad                // dst = size bytes at imm + (a&7)*8, if a is a register, as a number
	mStore               // … = dst
	mIf                  // if the low bits of a are not 0, go to target
	mJump
	mSwitch // to target + (a&3)*step
	mCall
	mCallBy // to one of two functions, by a
	mTailBy // the same as the last thing that a function does: a jump
	mRet
	mPush
	mPop
	mInput // dst = an input; nothing is read
	mNop
	mEnd
)

type minst struct {
	op     opcode
	dst    int
	a, b   int // registers; -1: none
	imm    uint64
	size   int
	target int
	other  int
}

const (
	mBase  = 0x1000
	mStack = 14 // the register
	mTop   = 0xf000
)

func mPC(i int) uint64 { return mBase + uint64(i)*4 }

// machine runs a program.
type machine struct {
	prog    []minst
	regs    [16]uint64
	mem     [1 << 16]byte
	codes   map[int]*Code
	all     []*Code
	entries map[int]bool

	pc      int
	instant uint64
	thread  uint32

	// What an instruction computed, by instant; and one that shall be changed.
	change   map[uint64]uint64 // instant → xor
	ways     map[uint64]int    // instant of a transfer → where it went; forced, if not nil
	places   map[uint64]uint64 // instant of a store → address; forced, if it has it
	results  map[uint64]uint64
	went     map[uint64]int
	stored   map[uint64]uint64
	executed []int
}

func newMachine(prog []minst) *machine {
	m := &machine{prog: prog, codes: map[int]*Code{}, entries: map[int]bool{}, instant: 1, thread: 1,
		results: map[uint64]uint64{}, went: map[uint64]int{}, stored: map[uint64]uint64{}}
	r := rand.New(rand.NewPCG(7, 7))
	for i := range m.mem {
		m.mem[i] = byte(r.Uint32())
	}
	for i := range m.regs {
		m.regs[i] = r.Uint64()
	}
	m.regs[mStack] = mTop
	for _, in := range prog {
		if in.op == mCall || in.op == mCallBy || in.op == mTailBy {
			m.entries[in.target] = true
			if in.op != mCall {
				m.entries[in.other] = true
			}
		}
	}
	return m
}

func whole(r int) (s Regs) {
	for i := range uint8(4) {
		s.Add(uint8(r*4) + i)
	}
	return s
}

// low is the low byte of a register: all that addresses and branches look at.
func low(r int) (s Regs) {
	if r >= 0 {
		s.Add(uint8(r * 4))
	}
	return s
}

func join(rs ...int) (s Regs) {
	for _, r := range rs {
		if r >= 0 {
			w := whole(r)
			s.Or(&w)
		}
	}
	return s
}

// describe is what package slice gets to know of an instruction.
func (in *minst) describe(i int) Inst {
	out := Inst{PC: mPC(i), Slot: -1}
	var o Op
	one := func() { out.Ops = []Op{o} }
	switch in.op {
	case mConst, mInput:
		o.Write = whole(in.dst)
		one()
	case mCopy:
		o.Read, o.Write = join(in.a), whole(in.dst)
		one()
	case mMix:
		o.Read, o.Write = join(in.a, in.b), whole(in.dst)
		one()
	case mByte:
		o.Read.Add(uint8(in.a * 4))
		o.Write.Add(uint8(in.dst * 4))
		one()
	case mLoad, mStore:
		o.Addr = low(in.a)
		o.Read = o.Addr
		out.Accesses = 1
		if in.op == mLoad {
			o.MemRead, o.Write = 1, whole(in.dst)
		} else {
			o.MemWrite = 1
			v := whole(in.dst)
			if in.size < 8 { // size bytes: units 0, 1, 2 (2 bytes), 3 (4 bytes)
				v = Regs{}
				for u := range uint8(map[int]int{1: 1, 2: 2, 4: 3}[in.size]) {
					v.Add(uint8(in.dst*4) + u)
				}
			}
			o.Read.Or(&v)
			o.Addr.AndNot(&v)
		}
		one()
	case mIf, mSwitch, mTailBy:
		out.End = cfg.Cond
		out.Target = mPC(in.target)
		if in.op != mIf {
			out.End = cfg.Indirect
		}
		o.Read = low(in.a)
		one()
	case mJump:
		out.End, out.Target = cfg.Jump, mPC(in.target)
		one()
	case mCall, mCallBy:
		out.End, out.Direct, out.Slot, out.Accesses = cfg.Call, in.op == mCall, 0, 1
		sp := whole(mStack)
		out.Ops = []Op{{Read: low(in.a)}, {Read: sp, Addr: sp, MemWrite: 1}, {Read: sp, Write: sp}}
	case mRet:
		out.End, out.Slot, out.Accesses = cfg.Return, 0, 1
		sp := whole(mStack)
		out.Ops = []Op{{Read: sp, Addr: sp, MemRead: 1}, {Read: sp, Write: sp}}
	case mPush, mPop:
		out.Accesses = 1
		sp, r := whole(mStack), whole(in.dst)
		if in.op == mPush {
			read := sp
			read.Or(&r)
			out.Ops = []Op{{Read: read, Addr: sp, MemWrite: 1}, {Read: sp, Write: sp}}
			out.Save = uint8(in.dst) + 1
		} else {
			out.Ops = []Op{{Read: sp, Addr: sp, MemRead: 1, Write: r}, {Read: sp, Write: sp}}
			out.Load = uint8(in.dst) + 1
		}
	case mNop:
		one()
	case mEnd:
		out.End = cfg.Stop
		one()
	}
	return out
}

func (in *minst) ends() bool {
	switch in.op {
	case mIf, mJump, mSwitch, mCall, mCallBy, mTailBy, mRet, mEnd:
		return true
	}
	return false
}

func (m *machine) code(pc int) *Code {
	c := m.codes[pc]
	if c == nil {
		c = &Code{ID: uint32(len(m.all) + 1)}
		for i := pc; ; i++ {
			c.Insts = append(c.Insts, m.prog[i].describe(i))
			if m.prog[i].ends() || len(c.Insts) == 40 {
				break
			}
		}
		m.codes[pc] = c
		m.all = append(m.all, c)
	}
	return c
}

func hash(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ (b+0x632be59bd9b4e019)*0xd6e8feb86659fd93
	x ^= x >> 29
	return x*0xbf58476d1ce4e5b9 + a>>7
}

func (m *machine) read(addr uint64, size int) uint64 {
	var b [8]byte
	copy(b[:size], m.mem[addr:])
	return binary.LittleEndian.Uint64(b[:])
}

func (m *machine) write(addr uint64, size int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(m.mem[addr:], b[:size])
}

// stepOne executes one instruction; the memory that it touched.
func (m *machine) stepOne() (mem []Mem) {
	in := &m.prog[m.pc]
	t := m.instant
	m.instant++
	m.executed = append(m.executed, m.pc)
	flip := m.change[t]
	reg := func(r int) uint64 {
		if r < 0 {
			return 0
		}
		return m.regs[r]
	}
	next := m.pc + 1
	set := func(v uint64) {
		v ^= flip
		m.regs[in.dst] = v
		m.results[t] = v
	}
	address := func(a uint64) uint64 {
		if p, ok := m.places[t]; ok {
			a = p
		}
		m.stored[t] = a
		return a
	}
	way := func(to int) {
		if flip != 0 {
			switch in.op {
			case mIf:
				to = in.target + m.pc + 1 - to
			case mSwitch:
				to = in.target + int(flip&3)*in.other
			case mCallBy, mTailBy:
				to = in.target + in.other - to
			}
		}
		m.results[t] = uint64(to)
		if w, ok := m.ways[t]; ok {
			to = w
		}
		m.went[t] = to
		next = to
	}
	push := func(v uint64) {
		m.regs[mStack] -= 8
		m.write(m.regs[mStack], 8, v)
		mem = append(mem, Mem{m.regs[mStack], 8})
	}
	switch in.op {
	case mConst:
		set(in.imm)
	case mInput:
		set(hash(in.imm, t))
	case mMix:
		set(hash(reg(in.a), reg(in.b)))
	case mCopy:
		if in.b == -2 { // counting down
			set(reg(in.a) - 1)
			break
		}
		set(reg(in.a))
	case mByte:
		m.regs[in.dst] = reg(in.dst)&^0xff | (reg(in.a)^flip)&0xff // its other bytes are not its result
		m.results[t] = m.regs[in.dst]
	case mLoad:
		a := address(in.imm + reg(in.a)&7*8)
		mem = append(mem, Mem{a, uint32(in.size)})
		set(m.read(a, in.size))
	case mStore:
		a := address(in.imm + reg(in.a)&7*8)
		mem = append(mem, Mem{a, uint32(in.size)})
		m.results[t] = reg(in.dst) ^ flip
		m.write(a, in.size, reg(in.dst)^flip)
	case mIf:
		if reg(in.a)&3 != 0 || in.b == -2 && reg(in.a) != 0 { // -2: until nothing is left
			next = in.target
		}
		way(next)
	case mSwitch:
		way(in.target + int(reg(in.a)&3)*in.other)
	case mJump:
		next = in.target
	case mCall:
		push(mPC(next))
		next = in.target
	case mCallBy, mTailBy:
		if in.op == mCallBy {
			push(mPC(next))
		}
		to := in.target
		if reg(in.a)&1 != 0 {
			to = in.other
		}
		way(to)
	case mRet:
		mem = append(mem, Mem{m.regs[mStack], 8})
		next = int(m.read(m.regs[mStack], 8)-mBase) / 4
		m.regs[mStack] += 8
	case mPush:
		m.results[t] = reg(in.dst) ^ flip
		push(reg(in.dst) ^ flip)
	case mPop:
		mem = append(mem, Mem{m.regs[mStack], 8})
		set(m.read(m.regs[mStack], 8))
		m.regs[mStack] += 8
	case mEnd:
		next = -1
	}
	m.pc = next
	return mem
}

// run executes the program, at most n instructions, and gives its events to f.
func (m *machine) run(n uint64, f func(*Event) error) error {
	for m.pc >= 0 && m.instant <= n {
		c := m.code(m.pc)
		e := Event{Kind: Executed, Instant: m.instant, Thread: m.thread, Code: c}
		for m.pc >= 0 && m.instant <= n && int(e.N) < len(c.Insts) {
			e.Mem = append(e.Mem, m.stepOne()...)
			e.N++
		}
		if f != nil {
			if err := f(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// toy is a run of the machine, as a Source.
type toy struct {
	m      *machine
	events []Event
}

func record(prog []minst, most uint64) (*toy, error) {
	t := &toy{m: newMachine(prog)}
	err := t.m.run(most, func(e *Event) error {
		t.events = append(t.events, *e)
		return nil
	})
	if err == nil && t.m.pc >= 0 {
		err = fmt.Errorf("the program did not end")
	}
	return t, err
}

func (t *toy) Scan(f func(*Event) error) error {
	for i := range t.events {
		if err := f(&t.events[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *toy) Code(id uint32) *Code {
	if id == 0 || int(id) > len(t.m.all) {
		return nil
	}
	return t.m.all[id-1]
}

func (t *toy) Static() cfg.Code { return toyCode{t.m} }

type toyCode struct{ m *machine }

func (c toyCode) At(pc uint64) (cfg.Inst, bool) {
	i := int(pc-mBase) / 4
	if i < 0 || i >= len(c.m.prog) {
		return cfg.Inst{}, false
	}
	in := c.m.prog[i].describe(i)
	return cfg.Inst{Len: 4, Kind: in.End, Target: in.Target}, true
}

func (c toyCode) Entry(pc uint64) bool { return c.m.entries[int(pc-mBase)/4] }

func (c toyCode) Targets(uint64) ([]uint64, bool) { return nil, false }
