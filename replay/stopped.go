package replay

import (
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/x86"
)

// A call that can not be executed again tells nothing of what came before the program died. The thread's registers and stack do, as far as its
// code leads there in one way only: back from the instruction, each is what the last one left that wrote it, and the result of a call what
// that function's code left before its return.

// Stopped is a thread before an instruction, or in what that calls.
type Stopped struct {
	PC    uint64     // of a byte of the instruction
	Regs  [16]uint64 // by their DWARF numbers (System V ABI for x86-64, figure 3.36)
	Known uint32     // a bit for each of which that is known
	// Stack is what lies on its stack from Base on.
	Stack []byte
	Base  uint64
	// Lo and Hi are where the function's code lies in which that is, and Cold where a compiler has put other parts of it, half-open.
	Lo, Hi uint64
	Cold   [][2]uint64
	// Fault is where it found no memory, 0 if that is not known.
	Fault uint64
	// Astray: the instruction called what is no code.
	Astray bool
	// Divides: it could not divide by what it was given.
	Divides bool
	// Ends: it called what ended the program, because of a condition that was asked before that, as assert does.
	Ends bool
	// NoReturn: the function is declared to have no return.
	NoReturn bool
}

// Read fills b with what lay on the stack, or says that it can not.
func (s *Stopped) Read(addr uint64, b []byte) bool {
	off := addr - s.Base
	if size := uint64(len(s.Stack)); off >= size || size-off < uint64(len(b)) {
		return false
	}
	copy(b, s.Stack[off:])
	return true
}

// register is what one held, if that is known.
func (s *Stopped) register(r x86.Reg) (v uint64, ok bool) {
	n := r.DWARF()
	return s.Regs[n], s.Known>>n&1 != 0
}

// Limits of what is followed back.
const (
	maxFunction  = 1 << 16 // bytes of code
	maxReturning = 1 << 8  // of a function whose result is followed
	maxFrame     = 1 << 12 // bytes of the stack of such a one
	maxBack      = 1 << 9  // instructions
	maxWhence    = 64      // depth of what depends on what
	maxAsked     = 1 << 12 // registers that are asked for, in all
)

// Led is the memory on which the address depends that a stopped thread's instruction could not reach, the nearest first: that where a call
// or jump leads, or of the arguments of a call those that lead there, or what the condition asked by which the program ended itself. Of what
// nothing is known it tells nothing. calls is the thread in the function, and then in those around it, as each was when it made its call.
func Led(w World, calls []Stopped) []Read {
	b := innermost(w, calls)
	if b == nil {
		return nil
	}
	return reads(b.followed())
}

// Argument is the first argument of the call before which a stopped thread is, if that is known, and the memory on which it depends, the
// nearest first.
func Argument(w World, calls []Stopped) (value uint64, known bool, led []Read) {
	b := innermost(w, calls)
	if b == nil || b.back[0].Kind != x86.KindCall {
		return 0, false, nil
	}
	x := b.register(x86.RDI, 0)
	return x.value, x.known, reads([]*source{x.source})
}

// innermost is the way back from where a thread is stopped, nil if there is none.
func innermost(w World, calls []Stopped) *backward {
	var frames []*backward
	memory, asked := map[uint64]*source{}, 0
	for i := range calls {
		b := &backward{w: w, s: &calls[i], reads: memory, asked: &asked}
		b.ends = calls[i].Ends && (i == 0 || calls[i-1].NoReturn)
		if !b.way() {
			break
		}
		if i > 0 {
			if in := b.back[0]; in.Direct && in.Target == calls[i-1].Lo {
				frames[i-1].outer = b
			} else if !calls[0].Ends {
				break // that function jumped here at its end
			}
			frames[i-1].around = b
		}
		frames = append(frames, b)
	}
	if len(frames) == 0 {
		return nil
	}
	return frames[0]
}

// coded is an instruction of the function.
type coded struct {
	x86.Inst
	pc      uint64
	from    int // the last instruction that jumps here, and how many do
	sources int
	written uint16 // the general registers that it changes
	behind  bool   // nothing leads on to the next one, as from a jump, or from what fills up the room behind that
}

// backward follows a way back.
type backward struct {
	w     World
	s     *Stopped
	back  []*coded           // from the present instruction on, those executed before it
	reads map[uint64]*source // shared by the calls' ways, as asked is
	depth int
	asked *int // how many registers were asked for
	// entered: back begins where the function was entered. outer is the function that called it, nil if that is not known, by instruction
	// call of its way. around is the next one on the stack, which may have called one that jumped here at its end.
	entered bool
	outer   *backward
	around  *backward
	call    int
	// kept are the general registers that the function writes nowhere before the last condition of the way: they hold what they did when it
	// was entered, whichever way led on from there.
	kept uint16
	// ends: what the present instruction calls does not come back, wherever it is called.
	ends bool
	// final: the function has no return. loops: it may come to an instruction again.
	final, loops bool
	// gone: the function has returned, and what lay below this address of the stack was its own; 0: it has not.
	gone uint64
}

// whence is what a register or a word of memory held, and where it had that from.
type whence struct {
	value uint64
	known bool
	*source
}

// way finds the instructions that were executed last, as far as there is one way to each.
func (b *backward) way() bool {
	s := b.s
	var list []coded
	at := map[uint64]int{}
	for _, part := range append([][2]uint64{{s.Lo, s.Hi}}, s.Cold...) {
		if part[1]-part[0] > maxFunction {
			return false
		}
		for pc := part[0]; pc < part[1]; {
			in, err := x86.Decode(b.w.Code(pc), pc)
			if err != nil {
				break // what lies behind it jumps into what is known as well, or nowhere
			}
			at[pc] = len(list)
			list = append(list, coded{Inst: in, pc: pc, written: changes(&in)})
			pc += uint64(in.Len)
		}
		if n := len(list); n > 0 {
			list[n-1].behind = true
		}
	}
	for i := range list {
		if in := &list[i]; in.Direct && in.Kind != x86.KindCall {
			if to, ok := at[in.Target]; ok {
				list[to].sources++
				list[to].from = i
			}
		}
	}
	i := slices.IndexFunc(list, func(in coded) bool { return s.PC-in.pc < uint64(in.Len) })
	if i < 0 {
		return false
	}
	for k := range list {
		in := &list[k]
		in.behind = in.behind || in.Kind == x86.KindJmp || in.Kind == x86.KindRet || k > 0 && list[k-1].behind && in.sources == 0 ||
			b.ends && in.Kind == x86.KindCall && in.Direct && list[i].Direct && in.Target == list[i].Target
	}
	b.loops = loops(list, at, i)
	for len(b.back) < maxBack {
		in := &list[i]
		b.back = append(b.back, in)
		falls := i > 0 && !list[i-1].behind
		switch {
		case in.sources == 0 && falls:
			i--
		case in.sources == 1 && !falls:
			i = in.from
		default:
			b.entered = i == 0 && in.sources == 0
			b.keep(list, at)
			return true
		}
	}
	return true
}

// loops reports whether a function's code leads back to where it was, but for what lies behind the present instruction, which has not been left.
func loops(list []coded, at map[uint64]int, present int) bool {
	state := make([]uint8, len(list)) // 1: on the way, 2: left
	var enter func(i int) bool
	enter = func(i int) bool {
		if i >= len(list) || state[i] == 2 || i == present {
			return false
		}
		if state[i] == 1 {
			return true
		}
		state[i] = 1
		in := &list[i]
		if to, ok := at[in.Target]; ok && in.Direct && in.Kind != x86.KindCall && enter(to) || !in.behind && enter(i+1) {
			return true
		}
		state[i] = 2
		return false
	}
	return enter(0)
}

// keep finds the registers that are kept, and whether the function returns.
func (b *backward) keep(list []coded, at map[uint64]int) {
	var once []*coded // executed after the condition alone: who ends the program does not come back
	if k := b.condition(); b.s.Ends && k > 0 {
		once = b.back[:k]
	}
	written := uint16(0)
	b.final = true
	for i := range list {
		in := &list[i]
		_, within := at[in.Target]
		b.final = b.final && in.Kind != x86.KindRet && (in.Kind != x86.KindJmp || in.Direct && within)
		if !slices.Contains(once, in) {
			written |= in.written
		}
	}
	b.kept = ^written
}

// condition is where the last conditional jump of the way is, 0 if it has none.
func (b *backward) condition() int {
	return max(slices.IndexFunc(b.back, func(in *coded) bool { return in.Kind == x86.KindJcc }), 0)
}

// compared is where that comes from which the last condition compared.
func (b *backward) compared() (place []*source) {
	if k := b.condition(); k > 0 {
		return b.flags(k)
	}
	return nil
}

// flags is where that comes from by which the flags were set that instruction k of the way finds.
func (b *backward) flags(k int) (place []*source) {
	for k++; k < len(b.back); k++ {
		in, err := x86.Disassembled(b.w.Code(b.back[k].pc))
		switch {
		case err != nil:
			return nil
		case in.Op == x86asm.MOV, in.Op == x86asm.MOVZX, in.Op == x86asm.MOVSX, in.Op == x86asm.MOVSXD, in.Op == x86asm.LEA:
			continue // flags stay (SDM volume 1, appendix A)
		case in.Op != x86asm.CMP && in.Op != x86asm.TEST:
			return nil
		}
		for _, arg := range in.Args[:2] {
			if x, _ := b.operand(&in, arg, k); x.source != nil && !slices.Contains(place, x.source) {
				place = append(place, x.source)
			}
		}
		return place
	}
	return nil
}

// operand is what an operand of instruction k of the way held, and how many bytes of that are meant.
func (b *backward) operand(in *x86asm.Inst, arg x86asm.Arg, k int) (x whence, size int) {
	switch arg := arg.(type) {
	case x86asm.Reg:
		if n, size, high, ok := general(arg); ok && !high {
			return b.register(x86.Reg(n), k), size
		}
	case x86asm.Mem:
		o, _ := b.back[k].Operand()
		if at, known, where := b.address(&o, k); known {
			return b.load(at, in.MemBytes, where, k), in.MemBytes
		}
	}
	return x, 0
}

// followed is where that comes from what the instruction needed.
func (b *backward) followed() (place []*source) {
	in := b.back[0]
	var e x86.Effects
	in.Effects(&e)
	switch {
	case b.s.Divides:
		return b.divisor()
	case b.s.Ends:
		b = b.decided()
		for b.condition() == 0 { // the program's own abort
			if !b.entered && (!b.final || b.loops) || b.outer == nil {
				return nil
			}
			b = b.outer
		}
		return b.compared()
	case b.s.Astray:
		if o, mem := in.Operand(); mem {
			if at, known, where := b.address(&o, 0); known {
				place = append(place, b.load(at, 8, where, 0).source)
			}
		} else if r, ok := in.GoesThrough(); ok {
			place = append(place, b.register(r, 0).source)
		}
		return place
	case in.Kind == x86.KindCall:
		if o, mem := in.Operand(); mem && b.s.Fault == 0 {
			// It could read where it was to go on, and that is no address.
			if at, known, where := b.address(&o, 0); known && !nowhere(at) {
				if to := b.load(at, 8, where, 0); !to.known || nowhere(to.value) {
					return []*source{to.source}
				}
			}
		}
		for _, r := range [...]x86.Reg{x86.RDI, x86.RSI, x86.RDX} {
			if x := b.register(r, 0); x.known && b.here(x.value) {
				place = append(place, x.source)
			}
		}
		return place
	}
	for i := range e.Mem[:e.NMem] {
		if at, known, where := b.address(&e.Mem[i].Operand, 0); known && b.here(at) {
			place = append(place, where...)
		}
	}
	return place
}

// decided is the function in which it was decided that the program ends: one that is declared to have no return, and does nothing time and
// again, as the loop of a server does, ends it whatever it asks, and whatever those ask that it calls to do so.
func (b *backward) decided() *backward {
	by := b
	for x := b; x != nil && x.final; x = x.around {
		if x.s.NoReturn && !x.loops && x.outer != nil {
			by = x.outer
		}
	}
	return by
}

// divisor is where that comes from by which the instruction divides.
func (b *backward) divisor() []*source {
	d, err := x86.Disassembled(b.w.Code(b.back[0].pc))
	if err != nil || d.Op != x86asm.DIV && d.Op != x86asm.IDIV {
		return nil
	}
	if r, ok := d.Args[0].(x86asm.Reg); ok {
		n, _, _, ok := general(r)
		if !ok {
			return nil
		}
		return []*source{b.register(x86.Reg(n), 0).source}
	}
	o, _ := b.back[0].Operand()
	at, known, where := b.address(&o, 0)
	if !known {
		return nil
	}
	return []*source{b.load(at, d.MemBytes, where, 0).source}
}

// here: an address may be the one at which there was no memory.
func (b *backward) here(addr uint64) bool {
	if b.s.Fault == 0 {
		return nowhere(addr) // of an address that is none (SDM volume 1, 3.3.7.1) the kernel tells 0
	}
	return max(addr, b.s.Fault)-min(addr, b.s.Fault) < pageSize
}

// address is where an operand of instruction k of the way lies, and where that comes from.
func (b *backward) address(o *x86.Operand, k int) (at uint64, known bool, where []*source) {
	known = o.Segment == 0 && !o.Addr32
	at = uint64(o.Disp)
	if o.RIPRelative {
		at += b.back[k].pc + uint64(b.back[k].Len)
	}
	for i, r := range [2]x86.Reg{o.Base, o.Index} {
		if r == x86.NoReg {
			continue
		}
		x := b.register(r, k)
		if x.source != nil {
			where = append(where, x.source)
		}
		known = known && x.known
		if i == 1 {
			x.value *= uint64(o.Scale)
		}
		at += x.value
	}
	return at, known, where
}

// register is what one held before instruction k of the way.
func (b *backward) register(r x86.Reg, k int) (x whence) {
	if b.depth >= maxWhence || *b.asked >= maxAsked {
		return x
	}
	*b.asked++
	b.depth++
	defer func() { b.depth-- }()
	writes := func(in *coded) bool { return in.written>>r&1 != 0 }
	stays := !slices.ContainsFunc(b.back[1:k+1], writes)
	is, known := b.s.register(r)
	if r == x86.RSP && stays && known {
		return whence{value: is, known: true}
	}
	d := k + 1
	for d < len(b.back) && !writes(b.back[d]) {
		d++
	}
	switch {
	case d < len(b.back):
		x = b.result(r, d)
	case (b.entered || b.kept>>r&1 != 0 && r != x86.RSP) && b.outer != nil:
		if x = b.outer.register(r, b.call); r == x86.RSP {
			x.value -= 8 // the return address
		}
	}
	switch {
	case !stays || !known:
		return x
	case !x.known || x.value == is:
		return whence{is, true, x.source}
	}
	return whence{value: is, known: true} // it came in another way, or what it was read from is not any more what it was
}

// changes are the general registers that an instruction changes. A function that is called has put the stack back, and what is the
// caller's (x86-64 psABI, 3.2.1).
func changes(in *x86.Inst) (set uint16) {
	if in.Kind == x86.KindCall {
		return 1<<x86.RAX | 1<<x86.RCX | 1<<x86.RDX | 1<<x86.RSI | 1<<x86.RDI | 0xf<<8
	}
	var e x86.Effects
	in.Effects(&e)
	for r := range x86.Reg(16) {
		if e.Write.Intersects(x86.GPR(r, 0, 8)) {
			set |= 1 << r
		}
	}
	return set
}

// result is what instruction d of the way left in a register.
func (b *backward) result(r x86.Reg, d int) (x whence) {
	in := b.back[d]
	if in.Kind == x86.KindCall {
		if r == x86.RAX && in.Direct {
			return b.returned(d)
		}
		return x
	}
	var how x86.Derived
	in.Derive(&how)
	switch {
	case how.How == x86.HowCopy && how.N == 1 && how.Words[0][0] == (x86.Place{Kind: x86.InGeneral, Reg: uint8(r)}):
		return b.place(how.Words[0][1], 8, d)
	case how.How == x86.HowAdd && how.To == (x86.Place{Kind: x86.InGeneral, Reg: uint8(r)}):
		p, q := b.place(how.A, how.Width, d), b.place(how.B, how.Width, d)
		x.value = p.value + q.value*uint64(how.Scale) + uint64(how.Const)
		x.known = (how.A.Kind == x86.NoPlace || p.known) && (how.B.Kind == x86.NoPlace || q.known) && (how.Width == 8 || x.value < 1<<31)
		x.source = joined(p.source, q.source)
		return x
	case how.How == x86.HowSub && how.To == (x86.Place{Kind: x86.InGeneral, Reg: uint8(r)}):
		p, q := b.place(how.A, how.Width, d), b.place(how.B, how.Width, d)
		return whence{p.value - q.value, p.known && q.known && how.Width == 8, joined(p.source, q.source)}
	}
	return b.plain(r, d)
}

// plain is what instructions leave of which no derivation is told: a number, a narrow one that is made wide, what is shifted to the left (so numbers of elements become
// offsets), and the stack pointer beside what is pushed and popped.
func (b *backward) plain(r x86.Reg, d int) (x whence) {
	in, err := x86.Disassembled(b.w.Code(b.back[d].pc))
	to, isReg := in.Args[0].(x86asm.Reg)
	n, size, _, ok := general(to)
	if err != nil || !isReg || !ok {
		return x
	}
	if r == x86.RSP && n != int(r) && in.DataSize != 16 {
		by := map[x86asm.Op]uint64{x86asm.PUSH: ^uint64(7), x86asm.POP: 8}[in.Op]
		if by == 0 {
			return x
		}
		p := b.register(r, d)
		return whence{value: p.value + by, known: p.known}
	}
	if n != int(r) {
		return x
	}
	if how := b.flagged(in.Op, d); how != nil {
		return whence{source: how}
	}
	if in.Op == x86asm.MOVZX || in.Op == x86asm.MOVSX { // 4 bytes to 8 are derived
		p, from := b.operand(&in, in.Args[1], d)
		return whence{extended(p.value, from, size, in.Op == x86asm.MOVSX), p.known && size >= 4, p.source}
	}
	imm, is := in.Args[1].(x86asm.Imm)
	if !is {
		return x
	}
	switch {
	case in.Op == x86asm.SHL && size == 8:
		p := b.register(r, d)
		return whence{p.value << uint64(imm), p.known, p.source}
	case in.Op == x86asm.SAR && size == 8: // a difference of pointers becomes a number of elements
		p := b.register(r, d)
		return whence{uint64(int64(p.value) >> uint64(imm)), p.known, p.source}
	case in.Op == x86asm.XOR && imm == 1: // what was asked is denied
		p := b.register(r, d)
		return whence{p.value ^ 1, p.known && size >= 4, p.source}
	case in.Op == x86asm.MOV && size == 8:
		return whence{value: uint64(imm), known: true}
	case in.Op == x86asm.MOV && size == 4:
		return whence{value: uint64(uint32(imm)), known: true}
	}
	return x
}

// flagged is where that comes from what instruction d of the way makes of flags, nil if it makes nothing of them.
func (b *backward) flagged(op x86asm.Op, d int) (s *source) {
	switch op {
	case x86asm.SETA, x86asm.SETAE, x86asm.SETB, x86asm.SETBE, x86asm.SETE, x86asm.SETG, x86asm.SETGE, x86asm.SETL, x86asm.SETLE, x86asm.SETNE, x86asm.SETNS, x86asm.SETS:
		for _, p := range b.flags(d) {
			s = joined(s, p)
		}
	}
	return s
}

// extended is a number of from bytes in a register of which size are written.
func extended(v uint64, from, size int, signed bool) uint64 {
	out := 64 - 8*from
	if v <<= out; signed {
		v = uint64(int64(v) >> out)
	} else {
		v >>= out
	}
	if size == 4 {
		v = uint64(uint32(v))
	}
	return v
}

// returned is what the function that instruction d of the way calls has returned, as one that leads to a member does, if there is one way
// to its end.
func (b *backward) returned(d int) (x whence) {
	entry := b.back[d].Target
	end, ok := b.end(entry)
	if !ok {
		return x
	}
	sp := b.register(x86.RSP, d)
	if !sp.known || sp.value == 0 {
		return x
	}
	s := &Stopped{PC: end, Lo: entry, Hi: end + 1, Stack: b.s.Stack, Base: b.s.Base}
	f := &backward{w: b.w, s: s, reads: b.reads, asked: b.asked, outer: b, call: d, gone: sp.value}
	if !f.way() {
		return x
	}
	return f.register(x86.RAX, 0)
}

// end is where the only return of a small function lies.
func (b *backward) end(entry uint64) (pc uint64, ok bool) {
	far := entry
	for pc = entry; pc-entry < maxReturning; {
		in, err := x86.Decode(b.w.Code(pc), pc)
		switch {
		case err != nil:
			return 0, false
		case in.Kind == x86.KindRet:
			return pc, far <= pc
		case in.Kind == x86.KindCall:
		case in.Direct && in.Target >= entry:
			far = max(far, in.Target)
		case in.Direct || in.Kind == x86.KindJmp || in.Kind == x86.KindStop:
			return 0, false
		}
		pc += uint64(in.Len)
	}
	return 0, false
}

// joined is where a value comes from that is computed of two.
func joined(p, q *source) *source {
	switch {
	case p == nil:
		return q
	case q == nil:
		return p
	}
	return &source{values: []*source{p, q}}
}

// place is what a place held before instruction d of the way.
func (b *backward) place(p x86.Place, width, d int) (x whence) {
	switch p.Kind {
	case x86.InGeneral:
		return b.register(x86.Reg(p.Reg), d)
	case x86.InMemory:
		var e x86.Effects
		b.back[d].Effects(&e)
		if m := &e.Mem[p.Reg&1]; int(p.Reg) < e.NMem && m.Shape == x86.MemFixed {
			if at, known, where := b.address(&m.Operand, d); known {
				return b.load(at, width, where, d)
			}
		}
	}
	return x
}

// load is what was read at an address by instruction d of the way. What lies on the stack has been put there, and that may stand on the way;
// what a function had there that has returned is known only so.
func (b *backward) load(at uint64, width int, where []*source, d int) (x whence) {
	switch {
	case b.gone == 0:
	case at < b.gone && b.gone-at < maxFrame:
		return b.put(at, d)
	default:
		return b.outer.load(at, width, where, b.call)
	}
	var data [8]byte
	n := data[:min(width, 8)]
	if !b.s.Read(at, n) {
		known := make([]bool, len(n))
		b.w.Read(at, n, known)
		return whence{binary.LittleEndian.Uint64(data[:]), !slices.Contains(known, false), b.source(b.back[d].pc, at, width, where)}
	}
	x.value, x.known = binary.LittleEndian.Uint64(data[:]), true
	if was := b.put(at, d); was.known && was.value == x.value {
		x.source = was.source
	}
	return x
}

// source is the one of memory at an address: the same each time, also where several instructions read it.
func (b *backward) source(pc, at uint64, size int, where []*source) *source {
	if b.reads[at] == nil {
		b.reads[at] = &source{pc: pc, addr: at, size: size, place: where}
	}
	return b.reads[at]
}

// put is what the last instruction before d of the way put at an address of the stack.
func (b *backward) put(at uint64, d int) (x whence) {
	for k := d + 1; k < len(b.back); k++ {
		var e x86.Effects
		b.back[k].Effects(&e)
		if e.NMem == 0 || !e.Mem[0].Write || b.back[k].Kind == x86.KindCall {
			continue
		}
		to, known, _ := b.address(&e.Mem[0].Operand, k)
		if !known || to != at {
			continue
		}
		var how x86.Derived
		if b.back[k].Derive(&how); how.How == x86.HowCopy && how.N == 1 {
			return b.place(how.Words[0][1], 8, k)
		}
		return x
	}
	return x
}
