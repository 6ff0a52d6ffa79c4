package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/x86"
)

// World is the program as it was when the call began.
type World interface {
	// Read fills what is known of [addr, addr+len(data)).
	Read(addr uint64, data []byte, known []bool)
	// Code returns the bytes of the instruction at an address, and of what follows; nil if there are none.
	Code(pc uint64) []byte
	// Import names the library function that an address leads to, its own or that of a stub; "" if there is none.
	Import(pc uint64) string
	// Function is where the code of a library function lies that may be executed. It is asked for what is not known here.
	Function(name string) (pc uint64, ok bool)
}

// Call is what is executed.
type Call struct {
	Entry    uint64
	Args     []uint64 // integer arguments, six at most
	Floats   []uint64 // floating-point arguments as they lie in memory, eight at most
	Begun    *Begun   // of one that is inlined: how it began. Args do not count then. Nil: it is none
	MaxSteps int      // instructions
	// Flip says that decision n, from 0, goes the other way: that of the instruction at pc. Nil: none does.
	Flip func(n int, pc uint64) bool
	// Alter returns what value n, from 0, is to be instead: one that the instruction at pc computed. Nil: all stay.
	Alter func(n int, pc, value uint64) uint64
	// Results is what a library function returns, the n-th time from 0, of which no memory tells, as rand; of a clock it is the seconds. Nil: such a call ends the run.
	Results func(n int) uint64
	// Written is what was recorded that a library function wrote there, which only the kernel knows. Nil, or not of that size: nothing.
	Written func(addr, size uint64) []byte
	// Fraction is what clocks tell beside seconds.
	Fraction uint64
	// Stored is what the store that is effect n is to write instead; none: nothing. Nil, or not ok: what it writes.
	Stored func(n int) (instead []byte, ok bool)
	// Edit is an instruction that is another one.
	Edit Edit
	// Beside is a call that the run makes beside.
	Beside Beside
	// Same is how many instructions are those of the call of which there is a trail.
	Same int
	// Brief: the run need not say which decisions and values there were.
	Brief bool
	// Valueless: nor which values there were, and where those come from that it stored.
	Valueless bool
	// Sites: the run says which instructions were executed. It is not brief then.
	Sites bool
	// Size is that of a block that there was before the call. Not nil: the run says what it accesses of what it has freed, and nothing
	// of decisions and values; it is not brief then.
	Size func(addr uint64) uint64
	// Crash is where the program died. PC not 0: the run says what the address depends on where it dies itself; it is not brief then.
	Crash Crash
	// Resize is where a block at an address lies once realloc, call n of it from 0, has given it a size, and how large it was. Nil, or
	// not ok: that is not known, and ends the run.
	Resize func(n int, addr, size uint64) (at, was uint64, ok bool)
	// Until is a moment in the call at which the run ends, if it comes there.
	Until Moment
	// Place is where allocation n, from 0, of size bytes lies; 0: anywhere. Nil: all do.
	Place func(n int, size uint64) uint64
	// Left is what lies in new blocks, by the number of the allocation, from 0, beside what was left there as far as that is known.
	Left map[int][]Left
}

// Left are bits of a byte that a new block has.
type Left struct {
	Off        uint64
	Mask, Bits byte
}

// Moment is one in a call: before an instruction is executed, or, if that is where a function begins, when this has returned.
// PC 0: there is none.
type Moment struct {
	PC    uint64
	Back  bool // when the function that begins there has returned
	Times int  // the which time, from 1; 0: the run does not end there, but says when it came there
}

// Kind of an effect.
type Kind uint8

// The kinds.
const (
	Store Kind = iota
	Bulk       // by a library function
	Alloc
	Free
	Resize // of a block, which may lie elsewhere then
)

// Effect is one thing that a run did to memory other than its own stack.
type Effect struct {
	Kind   Kind
	PC     uint64 // of the instruction; of a library function's, the call's return address
	Addr   uint64
	Size   uint64
	Data   []byte   // Store, Bulk; Resize: what was carried to where the block lies now
	From   uint64   // Bulk: where the data was copied from, 0 if it was not; Resize: where the block lay
	Zeroed bool     // Alloc: as by calloc
	Given  bool     // Bulk: it is what the program has read
	Stack  []uint64 // return addresses, innermost first; of Store and Bulk only if the run is not brief
	Origin *Origin  // Store: of the value; nil: not known
	Name   string   // Bulk, Alloc, Free, Resize
}

// Decision is one conditional instruction: a jump, a move, or a number that is made of a condition.
type Decision struct {
	PC    uint64
	Taken bool
	Step  int    // how many instructions there were before it
	Jump  bool   // by a jump
	Flags uint64 // the instruction that compared
	// Effects is how many there were before it.
	Effects int
	// Calls are the return addresses of the calls in which it was made, innermost first: shared, read-only.
	Calls []uint64
}

// Value is one that an instruction computed, or that it kept on the stack.
type Value struct {
	PC      uint64
	Value   uint64
	Size    int // bytes
	Effects int // how many there were before it
	Step    int // and how many instructions
	Calls   []uint64
}

// Unset is memory that was read, of which no byte is known.
type Unset struct {
	PC      uint64 // of the instruction
	Addr    uint64
	Size    int
	Value   uint64 // for which it was taken
	Effects int    // how many there were before it
}

// maxUnset bounds how many of these a run tells.
const maxUnset = 16

// Run is what came of it.
type Run struct {
	Effects   []Effect
	Values    []Value
	Decisions []Decision
	Stale     *Stale   // nil: there was none
	Leads     []Lead   // of a run that is not brief
	Reads     []Read   // on what the address depends where no memory is, the nearest first
	Sites     []*Site  // in the order in which they were executed first
	Called    []Called // with those
	Met       []int    // how many effects there were each time it came to Call.Until; of a run that is not brief
	Steps     int
	Result    uint64 // of the call
	Results   int    // of library functions of which no memory tells, as many
	// Guessed is how often a value was taken for 0 that nobody knows.
	Guessed int
	// Unset are the first of those, of a run that is not brief, each place once.
	Unset []Unset
	Err   error  // why it ended before the call returned
	PC    uint64 // the last instruction; of one that was a library function, before the return address of its call
}

// Why a run ends early.
var (
	ErrEndless = errors.New("too many instructions")
	ErrCode    = errors.New("instruction not known")
	ErrLibrary = errors.New("library function not known")
	ErrFault   = errors.New("no memory there")
	ErrEnded   = errors.New("the program ended itself")
)

// Machine executes calls in a world. What it has learnt of the code and of memory it keeps.
type Machine struct {
	world World
	code  map[uint64]*inst
	base  map[uint64]*page // memory as it was
	marks []*cpu           // of the trail, in order

	effects []Effect // of the last brief run
}

// New makes one.
func New(w World) *Machine {
	return &Machine{world: w, code: map[uint64]*inst{}, base: map[uint64]*page{}}
}

// Knows makes a machine for the same code know what another one has learnt of it.
func (m *Machine) Knows(other *Machine) { m.code = other.code }

// inst is a decoded instruction.
type inst struct {
	x86asm.Inst
	next  uint64
	then  *inst      // the instruction at next, once it was looked up
	to    uint64     // where it has led to, if not there
	there *inst      // the instruction at that
	cond  int8       // its condition, as in the opcode; -1: none
	name  string     // the import that a jump leads to
	ops   [4]operand // as in Args
	// liked is the instruction, 0: none, of which an edit was asked last whether this one is such a one elsewhere, and like what it said.
	liked uint64
	like  bool
}

const (
	stackTop = 0x7ffe_f000_0000 // of the run's own stack
	stackLen = 1 << 20
	outside  = stackTop - 64 // a return address: of the call that is executed
	// inLibrary is another one: of what a library function has called.
	inLibrary = outside + 1
	heapBase  = 0x6100_0000_0000 // of blocks that have no place
	maxData   = 1 << 16          // bytes that a library function writes, at most
	maxDepth  = 1 << 10
)

// cpu is one run.
type cpu struct {
	m                 *Machine
	call              *Call
	pages             map[uint64]*page // that it has written
	under             map[uint64]*page // and those of the run from which it goes on
	near              [nearPages]nearPage
	reg               [16]uint64
	xmm               [16][2]uint64
	pc                uint64
	last              *inst    // that was executed
	editing           EditKind // of the present instruction
	cf, zf            bool
	sf, of            bool
	pf                bool
	flags             uint64 // the instruction that set them
	allocs            int
	resizes           int
	values, decisions int // how many there were
	heap              uint64
	outer             uint64             // of the stack nothing is known from here on; 0: all is
	from              [16]*Origin        // of what registers hold
	kept              map[uint64]*Origin // of what lies on the stack
	frames            []uint64           // return addresses, innermost last
	met               int                // how often it came to call.Until
	inside            []int              // so many frames there are in each call of the function that begins there
	foreign           int                // so many frames there are at least in a library function that is executed; 0: none is
	calls             []uint64           // frames, innermost first, for decisions: made anew when these change
	sites             map[uint64]*Site
	aside             *parting     // nil: none is executed
	aided             bool         // it is over
	open              []openCalled // with sites
	freed             []freed
	sources           *sources // nil: the run need not say what a crash depends on
	bytesLeft         []byte   // of a piece for effects
	originsLeft       []Origin // and of one for origins
	run               Run
}

// Run executes a call. The effects of a brief run are there until the next one.
func (m *Machine) Run(call Call) *Run {
	c := m.resume(&call)
	if c == nil {
		c = m.begin(&call)
	}
	if call.Sites {
		c.called(0, call.Entry)
	}
	if call.Brief {
		c.run.Effects = append(m.effects[:0], c.run.Effects...)
	}
	for c.run.Err == nil {
		if call.Beside.Entry != 0 {
			c.beside()
		}
		if c.over() || c.arrived() {
			break
		}
		c.go1()
	}
	c.run.Result = c.reg[rax]
	if call.Brief {
		m.effects = c.run.Effects
	}
	return &c.run
}

// begin is a call of which nothing was executed yet.
func (m *Machine) begin(call *Call) *cpu {
	c := &cpu{m: m, call: call, pages: map[uint64]*page{}, heap: heapBase, kept: map[uint64]*Origin{}, sites: map[uint64]*Site{}}
	if call.Crash.PC != 0 && !call.Brief {
		c.sources = &sources{kept: map[uint64]*source{}}
	}
	for i, v := range call.Floats[:min(len(call.Floats), 8)] {
		c.xmm[i][0] = v
	}
	c.pc = call.Entry
	if call.Begun != nil {
		c.began(call.Begun)
		return c
	}
	for i, r := range wholeArgs {
		if i < len(call.Args) {
			c.give(r, call.Args[i])
		}
	}
	c.reg[rsp] = stackTop - 4096
	c.reg[rbp] = stackTop - 2048
	c.push(outside)
	return c
}

// give has a register hold what the call is given.
func (c *cpu) give(r int, v uint64) {
	c.reg[r], c.from[r] = v, &Origin{Given: true}
	if c.sources != nil && v != 0 && !stack(v) {
		c.sources.reg[r] = &source{given: v}
	}
}

// arrived: the run has come to where it is to end.
func (c *cpu) arrived() bool {
	u, n := &c.call.Until, len(c.inside)
	switch {
	case u.PC == 0:
		return false
	case n > 0 && len(c.frames) < c.inside[n-1]:
		c.inside = c.inside[:n-1]
	case c.pc != u.PC:
		return false
	case u.Back:
		if len(c.frames) > 0 { // else it is the call itself
			c.inside = append(c.inside, len(c.frames))
		}
		return false
	}
	if c.met++; !c.call.Brief {
		c.run.Met = append(c.run.Met, len(c.run.Effects))
	}
	return c.met == u.Times
}

// go1 executes the next instruction.
func (c *cpu) go1() {
	if c.run.Steps++; c.run.Steps > c.call.MaxSteps {
		c.run.Err = ErrEndless
		return
	}
	if c.last = c.m.follow(c.last, c.pc); c.last == nil {
		if c.run.Err = fmt.Errorf("%w at %#x", ErrCode, c.pc); nowhere(c.pc) {
			c.run.Err = ErrFault // called by a pointer that is NULL, or is taken for it
			if c.sources != nil {
				c.run.Reads = reads([]*source{c.sources.called})
			}
		}
		return
	}
	c.run.PC = c.pc
	c.editing = c.call.Edit.edited(c.last, c.pc)
	if c.sources != nil {
		c.traced(c.last)
		return
	}
	c.step(c.last)
}

// follow returns the instruction at pc, behind another one: mostly the next, or that to which it has led before.
func (m *Machine) follow(in *inst, pc uint64) *inst {
	switch {
	case in == nil:
		return m.decode(pc)
	case in.next != pc:
		if in.there == nil || in.to != pc {
			in.to, in.there = pc, m.decode(pc)
		}
		return in.there
	case in.then == nil:
		in.then = m.decode(pc)
	}
	return in.then
}

// decode returns the instruction at pc, nil if it is not known.
func (m *Machine) decode(pc uint64) *inst {
	in, ok := m.code[pc]
	if !ok {
		in = m.read(pc)
		m.code[pc] = in
	}
	return in
}

func (m *Machine) read(pc uint64) *inst {
	text := m.world.Code(pc)
	if text == nil {
		if name := m.world.Import(pc); name != "" {
			return &inst{cond: -1, name: name}
		}
		return nil
	}
	x, err := x86.Disassembled(text)
	if err != nil {
		return nil
	}
	in := &inst{Inst: x, next: pc + uint64(x.Len), cond: -1, name: m.world.Import(pc)}
	switch first, second := x.Opcode>>24, x.Opcode>>16&0xff; {
	case first&0xf0 == 0x70:
		in.cond = int8(first & 15)
	case first == 0x0f && (second&0xf0 == 0x40 || second&0xf0 == 0x80 || second&0xf0 == 0x90):
		in.cond = int8(second & 15)
	}
	in.describeOperands()
	return in
}

// fail ends the run.
func (c *cpu) fail(err error) {
	if c.run.Err == nil {
		c.run.Err = err
	}
}

// store writes bytes by an instruction.
func (c *cpu) store(addr uint64, data []byte) {
	if c.editing == Skip {
		return
	}
	if c.call.Stored != nil && !stack(addr) {
		if instead, ok := c.call.Stored(len(c.run.Effects)); ok {
			c.instead(addr, data, instead)
			return
		}
	}
	c.wrote(addr, data)
}

// instead has a store write other bytes, or none: what there was stays there, and is an effect all the same, so that those
// behind it have their numbers.
func (c *cpu) instead(addr uint64, data, instead []byte) {
	is := make([]byte, len(data))
	for i := range is {
		is[i] = byte(c.peek(addr+uint64(i), 1))
	}
	copy(is, instead)
	c.wrote(addr, is)
}

func (c *cpu) wrote(addr uint64, data []byte) {
	c.put(addr, data)
	if !stack(addr) {
		e := Effect{Kind: Store, PC: c.pc, Addr: addr, Size: uint64(len(data)), Data: c.dup(data)}
		if !c.call.Brief {
			e.Stack = c.around()
		}
		c.run.Effects = append(c.run.Effects, e)
	}
}

// dup is a copy of some bytes. Many are taken from one piece.
func (c *cpu) dup(data []byte) []byte {
	if len(c.bytesLeft) < len(data) {
		c.bytesLeft = make([]byte, max(512, len(data)))
	}
	n := copy(c.bytesLeft, data)
	out := c.bytesLeft[:n:n]
	c.bytesLeft = c.bytesLeft[n:]
	return out
}

func (c *cpu) storeInt(addr uint64, size int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	c.store(addr, b[:size])
}

func (c *cpu) push(v uint64) {
	c.reg[rsp] -= 8
	if !stack(c.reg[rsp]) {
		c.fail(ErrFault)
		return
	}
	c.storeInt(c.reg[rsp], 8, v)
}

func (c *cpu) pop() uint64 {
	v := c.load(c.reg[rsp], 8)
	c.reg[rsp] += 8
	return v
}

// alter is a value that the present instruction has computed, or what it is to be instead.
func (c *cpu) alter(v uint64, size int) uint64 {
	if c.foreign > 0 {
		return v
	}
	if c.call.Alter != nil {
		v = mask(c.call.Alter(c.values, c.pc, v), size)
	}
	if c.values++; c.call.Brief || c.call.Valueless || c.call.Size != nil {
		return v
	}
	c.run.Values = append(roomy(c.run.Values), Value{c.pc, v, size, len(c.run.Effects), c.run.Steps - 1, c.around()})
	return v
}

// decide is the outcome of a condition, unless it is to go the other way.
func (c *cpu) decide(cond, jump bool) bool {
	if c.foreign > 0 {
		return cond
	}
	if c.call.Flip != nil && c.call.Flip(c.decisions, c.pc) {
		cond = !cond
	}
	if c.zf && c.editing == Equal || c.editing == Negate {
		cond = !cond
	}
	if c.decisions++; c.call.Brief || c.call.Size != nil {
		return cond
	}
	c.run.Decisions = append(roomy(c.run.Decisions), Decision{PC: c.pc, Taken: cond, Step: c.run.Steps - 1, Jump: jump, Flags: c.flags, Effects: len(c.run.Effects), Calls: c.around()})
	return cond
}

// roomy is a list with room for one more: there are thousands of what a run tells, and each time that it grew by a quarter all were copied.
func roomy[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(64, len(list)))
	}
	return list
}

// around are the return addresses of the calls around the present instruction, innermost first: shared, read-only.
func (c *cpu) around() []uint64 {
	if c.calls == nil {
		c.calls = c.stackOf(0)
	}
	return c.calls
}

// stackOf lists return addresses, innermost first, behind one more if that is not 0.
func (c *cpu) stackOf(first uint64) []uint64 {
	out := make([]uint64, 0, len(c.frames)+1)
	if first != 0 {
		out = append(out, first)
	}
	for i := len(c.frames) - 1; i >= 0; i-- {
		out = append(out, c.frames[i])
	}
	return out
}
