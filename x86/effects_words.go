package x86

// word is a bit of what the table says of an instruction besides operands.
type word uint16

const (
	wordZero     word = 1 << iota // with both sources alike the result is always the same
	wordConstant                  // and with 0, or with all ones
	wordTernary                   // vpternlog, whose immediate may make it a constant
	wordCount                     // shifts by the immediate
	wordKeep                      // the rest of the destination's low 16 bytes is left alone
	wordMasked                    // memory is accessed under a mask that is a vector
	wordSelect                    // the mask selects a source, and does not merge
	wordElement                   // memory is accessed densely: disp8 counts elements
	wordDwords                    // what is broadcast has 4 bytes or 8, and not the 2 of its map
)

// wordBits are the words that change how operands are understood.
var wordBits = map[string]word{
	"zero": wordZero, "constant": wordConstant, "ternary": wordTernary, "count": wordCount, "keep": wordKeep,
	"masked": wordMasked, "select": wordSelect, "element": wordElement, "dwords": wordDwords,
}

// action is a word that does something by itself, in its place among the operands.
type action uint8

const (
	noAction action = iota
	doUnknown
	doOther
	doSegment
	doCond
	doPush
	doCall
	doPop
	doRet
	doEnter
	doLeave
	doFlags
	doPopf
	doString
	doXlat
	doLoop
	doCountZero
	doBit
	doCmpxchg
	doCmpxchg8
	doCompareAdd
	doInterrupt
	doSyscall
	doCpuid
	doRdpkru
	doWrpkru
	doRdbase
	doWrbase
	doMovdir
	doMaskmove
	doGather
	doScatter
	doVzero
	doIntersect
	doU
	doUl
	doMmx
	doFp
	doLdmxcsr
	doStmxcsr
	doFpu
	doFpuload
	doFpustore
	doFpuenv
	doFpuclear
	doFpucontrol
	doFpucw
	doFpusw
	doFxsave
	doFxrstor
	doXsave
	doXrstor
)

var actions = map[string]action{
	"unknown":     doUnknown,
	"other":       doOther,
	"segment":     doSegment,
	"cond":        doCond,
	"push":        doPush,
	"call":        doCall,
	"pop":         doPop,
	"ret":         doRet,
	"enter":       doEnter,
	"leave":       doLeave,
	"flags":       doFlags,
	"popf":        doPopf,
	"string":      doString,
	"xlat":        doXlat,
	"loop":        doLoop,
	"count-zero":  doCountZero,
	"bit":         doBit,
	"cmpxchg":     doCmpxchg,
	"cmpxchg8":    doCmpxchg8,
	"compare-add": doCompareAdd,
	"interrupt":   doInterrupt,
	"syscall":     doSyscall,
	"cpuid":       doCpuid,
	"rdpkru":      doRdpkru,
	"wrpkru":      doWrpkru,
	"rdbase":      doRdbase,
	"wrbase":      doWrbase,
	"movdir":      doMovdir,
	"maskmove":    doMaskmove,
	"gather":      doGather,
	"scatter":     doScatter,
	"vzero":       doVzero,
	"intersect":   doIntersect,
	"u":           doU,
	"ul":          doUl,
	"mmx":         doMmx,
	"fp":          doFp,
	"ldmxcsr":     doLdmxcsr,
	"stmxcsr":     doStmxcsr,
	"fpu":         doFpu,
	"fpuload":     doFpuload,
	"fpustore":    doFpustore,
	"fpuenv":      doFpuenv,
	"fpuclear":    doFpuclear,
	"fpucontrol":  doFpucontrol,
	"fpucw":       doFpucw,
	"fpusw":       doFpusw,
	"fxsave":      doFxsave,
	"fxrstor":     doFxrstor,
	"xsave":       doXsave,
	"xrstor":      doXrstor,
}

// do is a switch and no table of functions: through those the deriver would escape.
func (d *deriver) do(a action) {
	switch a {
	case doUnknown:
		d.e.Unknown = true
	case doOther:
		d.data.Add(UnitOther)
	case doSegment:
		d.e.Write.Add(UnitOther)
	case doCond:
		d.condition()
	case doPush:
		d.push()
	case doCall:
		d.pushBytes(8) // also with 66, which Intel ignores
	case doPop:
		d.pop()
	case doRet:
		d.ret()
	case doEnter:
		d.enter()
	case doLeave:
		d.leave()
	case doFlags:
		d.data[3] |= allFlags
	case doPopf:
		d.popf()
	case doString:
		d.str()
	case doXlat:
		d.xlat()
	case doLoop:
		d.general(accBoth, RCX, 0, d.addrLen())
	case doCountZero:
		d.general(accRead, RCX, 0, d.addrLen())
	case doBit:
		d.bit()
	case doCmpxchg:
		d.cmpxchg()
	case doCmpxchg8:
		d.cmpxchg8()
	case doCompareAdd: // memory is added to only if the condition holds
		m := d.rm(wide(d.in.w))
		m.Read, m.Write, m.MayKeep = true, true, true
		d.access(m)
	case doInterrupt:
		d.interrupt()
	case doSyscall:
		d.syscall()
	case doCpuid:
		d.cpuid()
	case doRdpkru:
		d.rdpkru()
	case doWrpkru:
		d.wrpkru()
	case doRdbase:
		d.general(accWrite, Reg(d.in.place('E')), 0, wide(d.in.w))
		d.data.Add(d.base())
	case doWrbase:
		d.wrbase()
	case doMovdir:
		d.movdir()
	case doMaskmove:
		d.maskmove()
	case doGather:
		d.sparse(false)
	case doScatter:
		d.sparse(true)
	case doIntersect: // a pair of opmasks
		d.kill(Mask(d.in.place('K') &^ 1).Or(Mask(d.in.place('K') | 1)))
	case doVzero:
		d.vzero()
	case doU:
		d.rest()
	case doUl:
		d.low()
	case doMmx:
		d.e.Write.Add(UnitX87) // every MMX instruction sets the tags (SDM volume 1, 9.6.2)
	case doFp:
		d.fp()
	case doLdmxcsr:
		d.kill(mxcsr)
	case doStmxcsr:
		d.data = d.data.Or(mxcsr)
	case doFpu:
		d.fpu()
	case doFpuload:
		d.kill(x87)
	case doFpustore:
		d.fpustore()
	case doFpuenv: // the registers stay, and are called empty or not
		d.e.Write.Add(UnitX87)
		d.kill(UnitX87Status.set().Or(UnitX87Control.set()))
	case doFpuclear:
		d.e.Write.Add(UnitX87Status)
	case doFpucontrol:
		d.kill(UnitX87Control.set())
	case doFpucw:
		d.data.Add(UnitX87Control)
	case doFpusw:
		d.data.Add(UnitX87Status)
		d.data.Add(UnitX87)
	case doFxsave:
		d.fxsave()
	case doFxrstor:
		d.fxrstor()
	case doXsave:
		d.xsave()
	case doXrstor:
		d.xrstor()
	}
}

// flag sets, as in the fourth word of a RegSet.
const (
	arithmeticFlags = 0x3f // CF to OF
	allFlags        = 0xff
)

var (
	mxcsr = UnitMXCSR.set().Or(UnitMXCSRStatus.set())
	x87   = UnitX87.set().Or(UnitX87Status.set()).Or(UnitX87Control.set())
)

func (d *deriver) kill(s RegSet) {
	d.e.Write, d.e.Kill = d.e.Write.Or(s), d.e.Kill.Or(s)
}

// condition reads the flags of a condition code (SDM volume 1, appendix B).
func (d *deriver) condition() {
	const c, p, z, s, o = 1, 2, 8, 16, 32
	d.data[3] |= [8]uint64{o, c, z, c | z, s, p, s | o, z | s | o}[d.in.op>>1&7]
}

// addrLen is the width of registers that are addresses or counts.
func (d *deriver) addrLen() int {
	if d.in.addr32 {
		return 4
	}
	return 8
}

// step moves a pointer on.
func (d *deriver) step(r Reg, n int) {
	s := GPR(r, 0, n)
	d.e.Step = d.e.Step.Or(s)
	d.addr = d.addr.Or(s)
	d.general(accWrite, r, 0, n)
}

func (d *deriver) push() {
	_, n := d.in.span('p' | widthLetter)
	d.pushBytes(n)
}

func (d *deriver) pushBytes(n int) {
	d.access(MemAccess{Operand: Operand{Base: RSP, Index: NoReg, Disp: -int64(n)}, Value: NoReg, Size: n, Write: true})
	d.step(RSP, 8)
}

// pop leaves RSP moved on; the operand that follows may be RSP, or use it.
func (d *deriver) pop() {
	_, n := d.in.span('p' | widthLetter)
	d.access(MemAccess{Operand: Operand{Base: RSP, Index: NoReg}, Value: NoReg, Size: n, Read: true})
	switch {
	case d.in.opmap == map1B && d.in.op&0xf8 == 0x58 && d.in.place('Z') == int(RSP), d.in.op == 0x8f && d.in.mod == 3 && d.in.place('E') == int(RSP):
		// pop rsp: what is popped is the new value. A 16-bit one moves the rest on.
		if n == 2 {
			d.general(accBoth, RSP, 0, 8)
		}
	default:
		d.step(RSP, 8)
	}
	d.up = n // an operand's address is computed after RSP has grown (SDM, POP)
}

func (d *deriver) ret() {
	d.access(MemAccess{Operand: Operand{Base: RSP, Index: NoReg}, Value: NoReg, Size: 8, Read: true})
	d.step(RSP, 8)
}

// enter with level 0: push rbp; mov rbp, rsp; sub rsp, imm.
func (d *deriver) enter() {
	if d.in.level&31 != 0 || d.in.opsize {
		d.e.Unknown = true
		return
	}
	d.general(accRead, RSP, 0, 8)
	d.general(accRead, RBP, 0, 8)
	d.access(MemAccess{Operand: Operand{Base: RSP, Index: NoReg, Disp: -8}, Value: NoReg, Size: 8, Write: true})
	d.general(accWrite, RSP, 0, 8)
	d.general(accWrite, RBP, 0, 8)
}

// leave: mov rsp, rbp; pop rbp.
func (d *deriver) leave() {
	if d.in.opsize {
		d.e.Unknown = true
		return
	}
	d.general(accRead, RBP, 0, 8)
	d.access(MemAccess{Operand: Operand{Base: RBP, Index: NoReg}, Value: NoReg, Size: 8, Read: true})
	d.general(accWrite, RSP, 0, 8)
	d.general(accWrite, RBP, 0, 8)
}

// popf: some of the other flags can not be changed.
func (d *deriver) popf() {
	d.e.Write[3] |= allFlags
	d.e.Kill[3] |= arithmeticFlags | 1<<(UnitDF-UnitCF)
}

// str: the string instructions (SDM volume 1, 7.3.9). The source may have a segment,
// the destination has not.
func (d *deriver) str() {
	in, rep := d.in, d.in.rep || d.in.repne
	size := in.sizeByte()
	source := MemAccess{Operand: Operand{Base: RSI, Index: NoReg, Segment: in.segment, Addr32: in.addr32}, Value: NoReg, Size: size, Shape: MemString, Rep: rep, Read: true}
	dest := source
	dest.Base, dest.Segment = RDI, 0
	d.addr.Add(UnitDF)
	if rep {
		d.general(accRead, RCX, 0, d.addrLen())
		d.advance(RCX, true)
	}
	load := byte(accWrite)
	if rep {
		load = accOr
	}
	switch in.op &^ 1 {
	case 0xa4: // movs
		dest.Read, dest.Write = false, true
		d.stringAt(source)
		d.stringAt(dest)
	case 0xa6: // cmps
		d.stringAt(source)
		d.stringAt(dest)
		d.compare(rep)
	case 0xaa: // stos
		dest.Read, dest.Write = false, true
		d.general(accRead, RAX, 0, size)
		d.stringAt(dest)
	case 0xac: // lods
		d.stringAt(source)
		d.general(load, RAX, 0, size)
	case 0xae: // scas
		d.general(accRead, RAX, 0, size)
		d.stringAt(dest)
		d.compare(rep)
	}
}

func (d *deriver) stringAt(m MemAccess) {
	d.access(m)
	d.e.Step = d.e.Step.Or(GPR(m.Base, 0, d.addrLen()))
	d.advance(m.Base, m.Rep)
}

// advance writes a pointer or a count. With 32-bit addresses a repetition of nothing
// does not even clear the upper half.
func (d *deriver) advance(r Reg, rep bool) {
	d.general(accWrite, r, 0, d.addrLen())
	if rep && d.in.addr32 {
		d.e.Kill = d.e.Kill.AndNot(GPR(r, 4, 4))
	}
}

// compare: a repeated comparison of nothing leaves the flags alone.
func (d *deriver) compare(rep bool) {
	d.e.Write[3] |= arithmeticFlags
	if !rep {
		d.e.Kill[3] |= arithmeticFlags
	}
}

func (d *deriver) xlat() {
	d.access(MemAccess{Operand: Operand{Base: 3, Index: NoReg, Segment: d.in.segment, Addr32: d.in.addr32}, Value: NoReg, Size: 1, Shape: MemXlat, Read: true})
	d.addr = d.addr.Or(GPR(RAX, 0, 1))
	d.general(accWrite, RAX, 0, 1)
}

// bit: bt, bts, btr, btc of a bit that may lie beyond the operand.
func (d *deriver) bit() {
	n := d.in.size()
	r := Reg(d.in.place('G'))
	m := d.rm(n)
	m.Shape, m.Value, m.Read, m.Write = MemBit, r, true, d.in.op != 0xa3
	d.general(accRead, r, 0, n)
	d.access(m)
}

// cmpxchg leaves either the destination or the accumulator alone.
func (d *deriver) cmpxchg() {
	in := d.in
	_, n := in.span('s' | widthLetter)
	d.operand(&effectStep{access: accRead, place: 'G', width: 's' | widthLetter})
	d.general(accRead, RAX, 0, n)
	d.general(accOr, RAX, 0, n)
	d.kill(RegSet{3: arithmeticFlags})
	if in.mem() {
		m := d.rm(n)
		m.Read, m.Write, m.MayKeep = true, true, true
		d.access(m)
		return
	}
	d.operand(&effectStep{access: accRead, place: 'E', width: 's' | widthLetter})
	d.operand(&effectStep{access: accOr, place: 'E', width: 's' | widthLetter})
}

func (d *deriver) cmpxchg8() {
	n := wide(d.in.w)
	for _, r := range [4]Reg{RAX, RDX, RCX, 3} {
		d.general(accRead, r, 0, n)
	}
	d.general(accOr, RAX, 0, n)
	d.general(accOr, RDX, 0, n)
	d.kill(UnitZF.set())
	m := d.rm(2 * n)
	m.Read, m.Write, m.MayKeep = true, true, true
	d.access(m)
}

// syscall: what the kernel does to memory is not the instruction's effect (Linux:
// entry_SYSCALL_64 in arch/x86/entry/entry_64.S).
func (d *deriver) syscall() {
	for _, r := range [7]Reg{RAX, RDI, RSI, RDX, 10, 8, 9} {
		d.general(accRead, r, 0, 8)
	}
	d.data[3] |= allFlags // to R11
	d.data.Add(UnitOther)
	d.general(accWrite, RAX, 0, 8)
	d.general(accWrite, RCX, 0, 8)
	d.general(accWrite, 11, 0, 8)
}

// interrupt: int 0x80 is the system call of 32-bit programs.
func (d *deriver) interrupt() {
	if byte(d.in.imm) != 0x80 {
		d.e.Unknown = true
		return
	}
	for _, r := range [7]Reg{RAX, 3, RCX, RDX, RSI, RDI, RBP} {
		d.general(accRead, r, 0, 4)
	}
	d.data.Add(UnitOther)
	d.general(accWrite, RAX, 0, 8)
	for r := Reg(8); r < 12; r++ { // zeroed by older kernels
		d.general(accOr, r, 0, 8)
	}
}

func (d *deriver) cpuid() {
	d.general(accRead, RAX, 0, 4)
	d.general(accRead, RCX, 0, 4)
	d.data.Add(UnitOther)
	for r := RAX; r <= 3; r++ {
		d.general(accWrite, r, 0, 4)
	}
}

func (d *deriver) rdpkru() {
	d.data.Add(UnitPKRU)
	d.general(accRead, RCX, 0, 4)
	d.general(accWrite, RAX, 0, 4)
	d.general(accWrite, RDX, 0, 4)
}

func (d *deriver) wrpkru() {
	for _, r := range [3]Reg{RAX, RCX, RDX} {
		d.general(accRead, r, 0, 4)
	}
	d.kill(UnitPKRU.set())
}

// base is that of FS or GS, by ModRM.reg of 0F AE.
func (d *deriver) base() Unit {
	if d.in.reg&1 == 0 {
		return UnitFSBase
	}
	return UnitGSBase
}

func (d *deriver) wrbase() {
	d.general(accRead, Reg(d.in.place('E')), 0, wide(d.in.w))
	d.kill(d.base().set())
}

// movdir: 64 bytes from the operand to the address in ModRM.reg.
func (d *deriver) movdir() {
	m := d.rm(64)
	m.Read = true
	d.access(m)
	d.access(MemAccess{Operand: Operand{Base: Reg(d.in.place('G')), Index: NoReg, Addr32: d.in.addr32}, Value: NoReg, Size: 64, Write: true})
}

// maskmove: the bytes of the first register whose bits 7 in the second are set.
func (d *deriver) maskmove() {
	m := MemAccess{Operand: Operand{Base: RDI, Index: NoReg, Segment: d.in.segment, Addr32: d.in.addr32}, Value: NoReg, Size: 16, Shape: MemMasked, Write: true, MayKeep: true}
	if d.in.prefix() == 0 && !d.in.vex {
		m.Size = 8
		d.data.Add(UnitX87)
		d.e.Write.Add(UnitX87)
	} else {
		d.vector(accRead, d.in.place('V'), 0, 16)
		d.vector(accRead, d.in.place('W'), 0, 16)
		m.Signs, m.Element = uint8(d.in.place('W'))+1, 1
	}
	d.access(m)
}

// sparse: gathers and scatters. The mask (a vector register, or with EVEX an opmask) is
// cleared; elements outside it are merged.
func (d *deriver) sparse(store bool) {
	in := d.in
	size, index := wide(in.w), 4+4*int(in.op&1)
	count := in.vectorLen() / max(size, index)
	m := d.rm(size)
	m.Index, m.Shape, m.Vector, m.VectorWidth, m.Count = NoReg, MemVector, in.vindex, uint8(index), count
	m.Read, m.Write, m.MayKeep = !store, store, store
	d.addr = d.addr.Or(Vector(int(in.vindex), 0, count*index))
	v := in.place('V')
	if store {
		d.vector(accRead, v, 0, count*size)
	} else {
		d.vector(accWrite, v, 0, count*size)
		for u := range Vector(v, 0, count*size).All() {
			d.e.Kill.Remove(u)
		}
	}
	m.Element = uint8(size)
	if in.evex {
		d.kill(Mask(int(in.aaa)))
		m.Mask = in.aaa
	} else {
		d.vector(accBoth, in.place('H'), 0, count*size)
		m.Signs = uint8(in.place('H')) + 1
	}
	d.access(m)
}

func (d *deriver) vzero() {
	for v := range 16 {
		if d.in.vl == 1 {
			d.kill(Vector(v, 0, 64))
		} else {
			d.kill(Vector(v, 16, 48))
		}
	}
}

// rest: a scalar instruction with VEX takes the rest of its low 16 bytes from vvvv.
func (d *deriver) rest() {
	if !d.in.vex && !d.in.evex {
		return
	}
	_, n := d.in.span(d.row.steps[0].width)
	if n < 16 {
		d.vector(accRead, d.in.place('H'), n, 16-n)
	}
}

// low: movhps and its like take the low 8 bytes from vvvv.
func (d *deriver) low() {
	if d.in.vex || d.in.evex {
		d.vector(accRead, d.in.place('H'), 0, 8)
	}
}

// fp: rounding and masks are read; exceptions are added to those that have been.
func (d *deriver) fp() {
	d.data.Add(UnitMXCSR)
	d.e.Write.Add(UnitMXCSRStatus)
}

// fpu: the stack is one unit, of which an instruction changes a part.
func (d *deriver) fpu() {
	d.data.Add(UnitX87)
	d.data.Add(UnitX87Control)
	d.e.Write.Add(UnitX87)
	d.e.Write.Add(UnitX87Status)
}

// fpustore: fnstenv masks all exceptions when it has stored; fnsave initialises.
func (d *deriver) fpustore() {
	d.data = d.data.Or(x87)
	d.e.Write.Add(UnitX87Control)
}

// fxState: what fxsave stores: x87, MXCSR, XMM0 to XMM15.
func fxState() RegSet {
	s := x87.Or(mxcsr)
	for v := range 16 {
		s = s.Or(Vector(v, 0, 16))
	}
	return s
}

// xState: what xsave may store: all vector and opmask registers and PKRU too.
func xState() RegSet {
	return RegSet{0, ^uint64(0), ^uint64(0), 0xff << (UnitK0 - 192)}.Or(x87).Or(mxcsr).Or(UnitPKRU.set())
}

func (d *deriver) state(size int, store bool) {
	m := d.rm(size)
	m.Read, m.Write, m.MayKeep = true, store, store
	if size == 0 {
		m.Shape = MemState
	}
	d.access(m)
}

// fxsave leaves the reserved part of its 512 bytes alone.
func (d *deriver) fxsave() {
	d.state(512, true)
	d.data = d.data.Or(fxState())
	d.e.Mem[0].Read = false
}

func (d *deriver) fxrstor() {
	d.state(512, false)
	d.kill(fxState())
}

// xsave: which parts are stored is in EDX:EAX and XCR0; the header is read and written.
func (d *deriver) xsave() {
	d.state(0, true)
	d.e.Mem[0].Read = d.in.op == 0xae // xsavec makes the header anew
	d.data = d.data.Or(xState())
	d.data.Add(UnitOther)
	d.general(accRead, RAX, 0, 4)
	d.general(accRead, RDX, 0, 4)
}

func (d *deriver) xrstor() {
	d.state(0, false)
	d.e.Write = d.e.Write.Or(xState())
	d.data.Add(UnitOther)
	d.general(accRead, RAX, 0, 4)
	d.general(accRead, RDX, 0, 4)
}
