package replay

import (
	"math/bits"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// General registers, by their numbers.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
)

func mask(v uint64, size int) uint64 {
	if size >= 8 {
		return v
	}
	return v & (1<<(8*size) - 1)
}

func signed(v uint64, size int) int64 { return int64(v<<(64-8*size)) >> (64 - 8*size) }

// set writes an operand.
func (c *cpu) set(in *inst, i int, v uint64) {
	switch c.editing {
	case Number:
		v += c.call.Edit.By
	case Zero:
		v = 0
	}
	if i == 0 && c.call.Sites && c.foreign == 0 {
		c.sites[c.pc].Made = v
	}
	if i > 0 || c.call.Brief || c.call.Valueless {
		c.write(in, i, v)
		return
	}
	o := c.origin(in)
	c.write(in, i, v)
	c.keep(in, o)
}

func (c *cpu) write(in *inst, i int, v uint64) {
	switch o := &in.ops[i]; o.kind {
	case opReg:
		n, size := o.n&15, int(o.size)
		if !o.high && size >= 4 && n != rsp && n != rbp && in.Op != x86asm.POP {
			v = c.alter(mask(v, size), size)
		}
		switch {
		case o.high:
			c.reg[n] = c.reg[n]&^0xff00 | v&0xff<<8
		case size == 8:
			c.reg[n] = v
		case size == 4: // the upper half becomes 0 (SDM volume 1, 3.4.1.1)
			c.reg[n] = v & 0xffff_ffff
		default:
			c.reg[n] = c.reg[n]&^(1<<(8*size)-1) | mask(v, size)
		}
	case opMem:
		c.storeInt(c.address(o), in.MemBytes, v)
	default:
		c.unknown(in)
	}
}

// result sets the flags that tell of a result.
func (c *cpu) result(v uint64, size int) uint64 {
	v = mask(v, size)
	c.flags = c.pc
	c.zf, c.sf = v == 0, signed(v, size) < 0
	c.pf = bits.OnesCount8(uint8(v))%2 == 0
	return v
}

func (c *cpu) add(a, b, carry uint64, size int) uint64 {
	v := c.result(a+b+carry, size)
	c.cf = v < a || carry == 1 && v == a
	c.of = signed((a^v)&(b^v), size) < 0
	return v
}

func (c *cpu) sub(a, b, borrow uint64, size int) uint64 {
	v := c.result(a-b-borrow, size)
	c.cf = a < b || borrow == 1 && a == b
	c.of = signed((a^b)&(a^v), size) < 0
	return v
}

func (c *cpu) logic(v uint64, size int) uint64 {
	c.cf, c.of = false, false
	return c.result(v, size)
}

// holds evaluates a condition (SDM volume 2, appendix B, table B-10).
func (c *cpu) holds(cond int8) (yes bool) {
	switch cond >> 1 {
	case 0:
		yes = c.of
	case 1:
		yes = c.cf
	case 2:
		yes = c.zf
	case 3:
		yes = c.cf || c.zf
	case 4:
		yes = c.sf
	case 5:
		yes = c.pf
	case 6:
		yes = c.sf != c.of
	case 7:
		yes = c.zf || c.sf != c.of
	}
	return yes != (cond&1 == 1)
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// step executes one instruction.
func (c *cpu) step(in *inst) {
	if in.name != "" {
		c.library(in.name)
		return
	}
	if c.call.Sites && c.foreign == 0 {
		c.note(in)
	}
	if len(c.freed) > 0 && c.run.Stale == nil {
		c.stale(in)
	}
	if !c.call.Brief {
		c.led(in)
	}
	next := in.next
	if in.cond >= 0 {
		jumps := in.ops[0].kind == opRel
		yes := c.decide(c.holds(in.cond), jumps)
		switch {
		case jumps && yes:
			next += in.ops[0].number
		case jumps:
		case in.ops[1].kind == opNone:
			c.set(in, 0, flag(yes))
		case yes:
			c.set(in, 0, c.get(in, 1))
		default:
			c.set(in, 0, c.get(in, 0)) // a move of 4 bytes clears the rest in any case
		}
		c.pc = next
		return
	}
	switch in.Op {
	case x86asm.CALL:
		if c.editing == Skip {
			break
		}
		to := c.target(in)
		c.push(next)
		c.frames, c.calls = append(c.frames, next), nil
		if c.call.Sites && c.foreign == 0 {
			c.called(c.pc, to)
		}
		if len(c.frames) > maxDepth {
			c.fail(ErrEndless)
		}
		next = to
	case x86asm.RET:
		if c.call.Sites && c.foreign == 0 {
			c.returns()
		}
		next = c.pop()
		if n := len(c.frames); n > 0 {
			c.frames, c.calls = c.frames[:n-1], nil
			if n == c.foreign {
				c.foreign = 0
			}
		}
	case x86asm.JMP:
		next = c.target(in)
	default:
		if !c.integer(in) {
			c.vector(in)
		}
	}
	c.pc = next
}

// target is where a call or a jump leads.
func (c *cpu) target(in *inst) uint64 {
	if o := &in.ops[0]; o.kind == opRel {
		return in.next + o.number
	}
	return c.get(in, 0)
}

// integer executes an instruction of general registers; false: it is none.
func (c *cpu) integer(in *inst) bool {
	var a, b uint64
	size := int(in.ops[0].size)
	switch in.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.PREFETCHT0, x86asm.PREFETCHNTA, x86asm.PREFETCHW:
		return true
	case x86asm.MOV, x86asm.MOVZX:
		c.set(in, 0, c.get(in, 1))
		return true
	case x86asm.MOVSX, x86asm.MOVSXD:
		c.set(in, 0, uint64(signed(c.get(in, 1), int(in.ops[1].size))))
		return true
	case x86asm.LEA:
		c.set(in, 0, c.address(&in.ops[1]))
		return true
	case x86asm.PUSH:
		v := uint64(0)
		if i, ok := in.Args[0].(x86asm.Imm); ok {
			v = uint64(i)
		} else {
			v = c.get(in, 0)
		}
		c.push(v)
		if in.ops[0].kind == opReg && !c.call.Brief {
			c.kept[c.reg[rsp]] = c.from[in.ops[0].n]
		}
		return true
	case x86asm.POP:
		o := c.kept[c.reg[rsp]]
		c.set(in, 0, c.pop())
		if !c.call.Brief {
			c.keep(in, o)
		}
		return true
	case x86asm.LEAVE:
		c.reg[rsp] = c.reg[rbp]
		c.reg[rbp] = c.pop()
		return true
	case x86asm.CBW:
		c.reg[rax] = c.reg[rax]&^0xffff | uint64(signed(c.reg[rax], 1))&0xffff
		return true
	case x86asm.CWDE:
		c.reg[rax] = uint64(signed(c.reg[rax], 2)) & 0xffff_ffff
		return true
	case x86asm.CDQE:
		c.reg[rax] = uint64(signed(c.reg[rax], 4))
		return true
	case x86asm.CDQ:
		c.reg[rdx] = uint64(signed(c.reg[rax], 4)>>63) & 0xffff_ffff
		return true
	case x86asm.CQO:
		c.reg[rdx] = uint64(int64(c.reg[rax]) >> 63)
		return true
	case x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ, x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSQ:
		c.repeated(in)
		return true
	case x86asm.INC, x86asm.DEC:
		cf := c.cf
		if a = c.get(in, 0); in.Op == x86asm.INC {
			a = c.add(a, 1, 0, size)
		} else {
			a = c.sub(a, 1, 0, size)
		}
		c.cf = cf
		c.set(in, 0, a)
		return true
	case x86asm.NEG:
		c.set(in, 0, c.sub(0, c.get(in, 0), 0, size))
		return true
	case x86asm.NOT:
		c.set(in, 0, ^c.get(in, 0))
		return true
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV:
		c.wide(in, size)
		return true
	case x86asm.IMUL:
		c.multiply(in, size)
		return true
	case x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ROL, x86asm.ROR:
		c.shift(in, size)
		return true
	case x86asm.BSWAP:
		c.set(in, 0, bits.ReverseBytes64(c.get(in, 0))>>(64-8*size))
		return true
	case x86asm.BSF, x86asm.TZCNT:
		if b = c.get(in, 1); b != 0 {
			c.set(in, 0, uint64(bits.TrailingZeros64(b)))
		}
		c.zf = b == 0
		return true
	case x86asm.BSR:
		if b = c.get(in, 1); b != 0 {
			c.set(in, 0, uint64(bits.Len64(b)-1))
		}
		c.zf = b == 0
		return true
	case x86asm.BT, x86asm.BTS, x86asm.BTR, x86asm.BTC:
		return c.bit(in, size)
	case x86asm.XCHG:
		a, b = c.get(in, 0), c.get(in, 1)
		c.set(in, 0, b)
		c.set(in, 1, a)
		return true
	case x86asm.XADD:
		a, b = c.get(in, 0), c.get(in, 1)
		b = c.add(a, b, 0, size)
		c.set(in, 1, a)
		c.set(in, 0, b)
		return true
	case x86asm.CMPXCHG:
		if a, b = c.get(in, 0), mask(c.reg[rax], size); c.sub(b, a, 0, size) == 0 {
			c.set(in, 0, c.get(in, 1))
		} else if size < 4 {
			c.reg[rax] = c.reg[rax]&^(1<<(8*size)-1) | a
		} else {
			c.reg[rax] = a
		}
		return true
	case x86asm.ADD, x86asm.ADC, x86asm.SUB, x86asm.SBB, x86asm.CMP, x86asm.TEST, x86asm.AND, x86asm.OR, x86asm.XOR:
		a, b = c.get(in, 0), c.get(in, 1)
	default:
		return false
	}
	if in.vectors() {
		return false
	}
	switch in.Op {
	case x86asm.ADD:
		a = c.add(a, b, 0, size)
	case x86asm.ADC:
		a = c.add(a, b, flag(c.cf), size)
	case x86asm.SUB:
		a = c.sub(a, b, 0, size)
	case x86asm.SBB:
		a = c.sub(a, b, flag(c.cf), size)
	case x86asm.CMP:
		c.sub(a, b, 0, size)
		return true
	case x86asm.TEST:
		c.logic(a&b, size)
		return true
	case x86asm.AND:
		a = c.logic(a&b, size)
	case x86asm.OR:
		a = c.logic(a|b, size)
	case x86asm.XOR:
		a = c.logic(a^b, size)
	}
	c.set(in, 0, a)
	return true
}

// vectors says that an instruction has a vector register among its operands.
func (in *inst) vectors() bool {
	return slices.ContainsFunc(in.ops[:], func(o operand) bool { return o.kind == opVector })
}

// bit executes those that tell of a bit, and change it. In memory a number in a register may tell of one that lies elsewhere.
func (c *cpu) bit(in *inst, size int) bool {
	if in.ops[1].kind == opReg && in.memory(0) {
		return false
	}
	a, bit := c.get(in, 0), uint64(1)<<(c.get(in, 1)&uint64(8*size-1))
	c.cf = a&bit != 0
	switch in.Op {
	case x86asm.BTS:
		c.set(in, 0, a|bit)
	case x86asm.BTR:
		c.set(in, 0, a&^bit)
	case x86asm.BTC:
		c.set(in, 0, a^bit)
	}
	return true
}

// wide executes those with a result, or a dividend, in two registers.
func (c *cpu) wide(in *inst, size int) {
	b := c.get(in, 0)
	if size != 4 && size != 8 {
		c.unknown(in)
		return
	}
	lo, hi := mask(c.reg[rax], size), mask(c.reg[rdx], size)
	switch {
	case in.Op == x86asm.MUL && size == 8:
		c.reg[rdx], c.reg[rax] = bits.Mul64(lo, b)
		c.cf, c.of = c.reg[rdx] != 0, c.reg[rdx] != 0
	case in.Op == x86asm.MUL:
		v := lo * b
		c.reg[rax], c.reg[rdx] = v&0xffff_ffff, v>>32
		c.cf, c.of = v>>32 != 0, v>>32 != 0
	case b == 0:
		c.fail(ErrFault)
	case in.Op == x86asm.DIV && size == 8:
		if hi >= b {
			c.fail(ErrFault)
			return
		}
		c.reg[rax], c.reg[rdx] = bits.Div64(hi, lo, b)
	case in.Op == x86asm.DIV:
		v := hi<<32 | lo
		c.reg[rax], c.reg[rdx] = v/b&0xffff_ffff, v%b
	case size == 8: // the dividend's upper half is the sign, as compilers make it
		x, y := int64(lo), signed(b, 8)
		c.reg[rax], c.reg[rdx] = uint64(x/y), uint64(x%y)
	default:
		x, y := int64(hi<<32|lo), signed(b, 4)
		c.reg[rax], c.reg[rdx] = uint64(x/y)&0xffff_ffff, uint64(x%y)&0xffff_ffff
	}
}

func (c *cpu) multiply(in *inst, size int) {
	switch {
	case in.ops[1].kind == opNone:
		b := c.get(in, 0)
		hi, lo := bits.Mul64(c.reg[rax], b)
		if size != 8 {
			v := uint64(signed(c.reg[rax], 4) * signed(b, 4))
			c.reg[rax], c.reg[rdx] = v&0xffff_ffff, v>>32
			return
		}
		hi -= uint64(int64(c.reg[rax])>>63)&b + uint64(int64(b)>>63)&c.reg[rax]
		c.reg[rax], c.reg[rdx] = lo, hi
	case in.ops[2].kind == opNone:
		c.set(in, 0, c.get(in, 0)*c.get(in, 1))
	default:
		c.set(in, 0, c.get(in, 1)*c.get(in, 2))
	}
}

func (c *cpu) shift(in *inst, size int) {
	a, n := c.get(in, 0), uint64(1)
	if in.ops[1].kind != opNone {
		n = c.get(in, 1)
	}
	if n &= 31; size == 8 && in.ops[1].kind != opNone {
		n = c.get(in, 1) & 63
	}
	if n == 0 {
		c.set(in, 0, a)
		return
	}
	width := uint64(8 * size)
	switch in.Op {
	case x86asm.SHL:
		c.cf = n <= width && a>>(width-n)&1 == 1
		a = c.result(a<<n, size)
		c.of = (signed(a, size) < 0) != c.cf
	case x86asm.SHR:
		c.cf, c.of = a>>(n-1)&1 == 1, signed(a, size) < 0
		a = c.result(a>>n, size)
	case x86asm.SAR:
		s := signed(a, size)
		c.cf, c.of = s>>(n-1)&1 == 1, false
		a = c.result(uint64(s>>n), size)
	case x86asm.ROL:
		n %= width
		a = mask(a<<n|a>>(width-n), size)
	case x86asm.ROR:
		n %= width
		a = mask(a>>n|a<<(width-n), size)
	}
	c.set(in, 0, a)
}

// repeated executes string instructions, which go upwards (x86-64 psABI, 3.2.1).
func (c *cpu) repeated(in *inst) {
	size := map[x86asm.Op]int{x86asm.STOSB: 1, x86asm.STOSW: 2, x86asm.STOSD: 4, x86asm.STOSQ: 8, x86asm.MOVSB: 1, x86asm.MOVSW: 2, x86asm.MOVSQ: 8}[in.Op]
	n := uint64(1)
	for _, p := range in.Prefix {
		if p&0xff == x86asm.PrefixREP {
			n = c.reg[rcx]
			c.reg[rcx] = 0
		}
	}
	if n*uint64(size) > maxData {
		c.fail(ErrLibrary)
		return
	}
	c.run.Steps += int(n) // each is one
	moves := in.Op == x86asm.MOVSB || in.Op == x86asm.MOVSW || in.Op == x86asm.MOVSQ
	for range n {
		v := c.reg[rax]
		if moves {
			v = c.load(c.reg[rsi], size)
			c.reg[rsi] += uint64(size)
		}
		c.storeInt(c.reg[rdi], size, v)
		c.reg[rdi] += uint64(size)
	}
}
