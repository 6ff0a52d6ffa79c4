package replay

import (
	"fmt"
	"math/bits"

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

// place of a general register: its number, its width in bytes, and whether it is bits 8 to 15.
func general(r x86asm.Reg) (n, size int, high, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, false, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, true, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + rsp, 1, false, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, false, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, false, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, false, true
	}
	return 0, 0, false, false
}

// address of a memory operand.
func (c *cpu) address(in *inst, x x86asm.Mem) uint64 {
	if x.Segment == x86asm.FS || x.Segment == x86asm.GS {
		// The canary of the stack protector lies there (x86-64 psABI, glibc tls.h): any number will do.
		return stackTop - 512
	}
	a := uint64(x.Disp)
	if a>>32 == 0 {
		a = uint64(int64(int32(a))) // 32 bits are signed (SDM volume 2, 2.2.1.3), which x86asm does not heed
	}
	if x.Base == x86asm.RIP {
		a += in.next
	} else if n, _, _, ok := general(x.Base); ok {
		a += c.reg[c.read(n)]
	}
	if n, _, _, ok := general(x.Index); ok {
		a += c.reg[n] * uint64(x.Scale)
	}
	if c.edited(Place) {
		a += c.call.Edit.By
	}
	return a
}

func mask(v uint64, size int) uint64 {
	if size >= 8 {
		return v
	}
	return v & (1<<(8*size) - 1)
}

func signed(v uint64, size int) int64 { return int64(v<<(64-8*size)) >> (64 - 8*size) }

// width of an operand in bytes.
func (in *inst) width(i int) int {
	switch a := in.Args[i].(type) {
	case x86asm.Reg:
		if _, n, _, ok := general(a); ok {
			return n
		}
		return 16
	case x86asm.Mem:
		return in.MemBytes
	}
	if i > 0 {
		return in.width(0)
	}
	return 8
}

// get reads an operand; numbers that the instruction holds are as wide as its first one.
func (c *cpu) get(in *inst, i int) uint64 {
	switch a := in.Args[i].(type) {
	case x86asm.Reg:
		n, size, high, ok := general(a)
		if !ok {
			c.fail(fmt.Errorf("%w: %v", ErrCode, in.Inst))
		}
		if high {
			return c.reg[n] >> 8 & 0xff
		}
		return mask(c.reg[c.read(n)], size)
	case x86asm.Mem:
		return c.load(c.address(in, a), in.MemBytes)
	case x86asm.Imm:
		return mask(uint64(a), in.width(0))
	}
	c.fail(fmt.Errorf("%w: %v", ErrCode, in.Inst))
	return 0
}

// set writes an operand.
func (c *cpu) set(in *inst, i int, v uint64) {
	switch {
	case c.edited(Number):
		v += c.call.Edit.By
	case c.edited(Zero):
		v = 0
	}
	if i == 0 && c.call.Sites {
		c.sites[c.pc].Made = v
	}
	if i == 0 {
		o := c.origin(in)
		defer c.keep(in, o)
	}
	switch a := in.Args[i].(type) {
	case x86asm.Reg:
		n, size, high, ok := general(a)
		if ok && !high && size >= 4 && n != rsp && n != rbp && in.Op != x86asm.POP {
			v = c.alter(mask(v, size), size)
		}
		switch {
		case !ok:
			c.fail(fmt.Errorf("%w: %v", ErrCode, in.Inst))
		case high:
			c.reg[n] = c.reg[n]&^0xff00 | v&0xff<<8
		case size == 8:
			c.reg[n] = v
		case size == 4: // the upper half becomes 0 (SDM volume 1, 3.4.1.1)
			c.reg[n] = v & 0xffff_ffff
		default:
			c.reg[n] = c.reg[n]&^(1<<(8*size)-1) | mask(v, size)
		}
	case x86asm.Mem:
		c.storeInt(c.address(in, a), in.MemBytes, v)
	default:
		c.fail(fmt.Errorf("%w: %v", ErrCode, in.Inst))
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
	if c.call.Sites {
		c.note(in)
	}
	if len(c.freed) > 0 && c.run.Stale == nil {
		c.stale(in)
	}
	next := in.next
	if in.cond >= 0 {
		rel, jumps := in.Args[0].(x86asm.Rel)
		yes := c.decide(c.holds(in.cond), jumps)
		switch {
		case jumps && yes:
			next += uint64(rel)
		case jumps:
		case in.Args[1] == nil:
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
		if c.edited(Skip) {
			break
		}
		to := c.target(in)
		c.push(next)
		c.frames, c.calls = append(c.frames, next), nil
		if len(c.frames) > maxDepth {
			c.fail(ErrEndless)
		}
		next = to
	case x86asm.RET:
		next = c.pop()
		if n := len(c.frames); n > 0 {
			c.frames, c.calls = c.frames[:n-1], nil
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
	if rel, ok := in.Args[0].(x86asm.Rel); ok {
		return in.next + uint64(rel)
	}
	return c.get(in, 0)
}

// integer executes an instruction of general registers; false: it is none.
func (c *cpu) integer(in *inst) bool {
	var a, b uint64
	size := in.width(0)
	switch in.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.PREFETCHT0, x86asm.PREFETCHNTA, x86asm.PREFETCHW:
		return true
	case x86asm.MOV, x86asm.MOVZX:
		c.set(in, 0, c.get(in, 1))
		return true
	case x86asm.MOVSX, x86asm.MOVSXD:
		c.set(in, 0, uint64(signed(c.get(in, 1), in.width(1))))
		return true
	case x86asm.LEA:
		c.set(in, 0, c.address(in, in.Args[1].(x86asm.Mem)))
		return true
	case x86asm.PUSH:
		v := uint64(0)
		if i, ok := in.Args[0].(x86asm.Imm); ok {
			v = uint64(i)
		} else {
			v = c.get(in, 0)
		}
		c.push(v)
		if r, ok := in.Args[0].(x86asm.Reg); ok && !c.call.Brief {
			n, _, _, _ := general(r)
			c.kept[c.reg[rsp]] = c.from[n]
		}
		return true
	case x86asm.POP:
		o := c.kept[c.reg[rsp]]
		c.set(in, 0, c.pop())
		c.keep(in, o)
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
	for _, a := range in.Args {
		if r, ok := a.(x86asm.Reg); ok && r >= x86asm.X0 && r <= x86asm.X15 {
			return true
		}
	}
	return false
}

// bit executes those that tell of a bit, and change it. In memory a number in a register may tell of one that lies elsewhere.
func (c *cpu) bit(in *inst, size int) bool {
	if _, far := in.Args[1].(x86asm.Reg); far && in.memory(0) {
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
		c.fail(fmt.Errorf("%w: %v", ErrCode, in.Inst))
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
	case in.Args[1] == nil:
		b := c.get(in, 0)
		hi, lo := bits.Mul64(c.reg[rax], b)
		if size != 8 {
			v := uint64(signed(c.reg[rax], 4) * signed(b, 4))
			c.reg[rax], c.reg[rdx] = v&0xffff_ffff, v>>32
			return
		}
		hi -= uint64(int64(c.reg[rax])>>63)&b + uint64(int64(b)>>63)&c.reg[rax]
		c.reg[rax], c.reg[rdx] = lo, hi
	case in.Args[2] == nil:
		c.set(in, 0, c.get(in, 0)*c.get(in, 1))
	default:
		c.set(in, 0, c.get(in, 1)*c.get(in, 2))
	}
}

func (c *cpu) shift(in *inst, size int) {
	a, n := c.get(in, 0), uint64(1)
	if in.Args[1] != nil {
		n = c.get(in, 1)
	}
	if n &= 31; size == 8 && in.Args[1] != nil {
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
