package x86

// How says how a value that an instruction writes comes from those that it reads, as
// far as it matters to one who follows addresses through a program.
type How uint8

// The ways.
const (
	HowOther  How = iota // in some other way, or not at all
	HowCopy              // words of 8 bytes are copied: Words
	HowAdd               // To = A + B×Scale + Const
	HowSub               // To = A − B
	HowNegate            // To = −A, or its complement −A−1
	HowAnd               // To = A & B, or A & Const
	HowMix               // To = A | B, A ^ B, or with Const
	HowSelect            // To = A, or stays as it is
	HowSwap              // To and A change places; with Add, To = To + A and A is the old To
	HowString            // memory to memory, or A to memory, as much as the accesses tell
)

// Place is where a value of 8 bytes is. Of memory and vectors it has a word.
type Place struct {
	Kind PlaceKind
	Reg  uint8 // general register, vector register, or index in Effects.Mem
	Word uint8 // of 8 bytes, from the lowest address or bits
}

// PlaceKind says what holds a value.
type PlaceKind uint8

// The kinds of place.
const (
	NoPlace PlaceKind = iota // a constant
	InGeneral
	InVector
	InMemory
)

// Derived is how the values that an instruction writes come about.
type Derived struct {
	How   How
	Width int // bytes of To, A and B: 4 or 8
	To    Place
	A, B  Place
	Scale uint8
	Const int64
	Add   bool // HowSwap

	Words [8][2]Place // HowCopy: to, from
	N     int
}

// Derive fills d. What is not told (HowOther) is the safe answer: something that
// depends on all that is read. Parts of registers below 4 bytes are never told.
func (in *Inst) Derive(d *Derived) {
	*d = Derived{}
	d.Width = in.size()
	switch {
	case in.vex || in.evex || in.opmap != map1B && in.opmap != map0F:
		in.deriveVector(d)
	case in.opmap == map1B:
		in.deriveOne(d)
	default:
		in.deriveTwo(d)
	}
	if d.How != HowOther && d.How != HowCopy && d.How != HowString && d.Width < 4 {
		*d = Derived{}
	}
}

// CountsBits says that the instruction gives a number of a bit, or how many are set (bsf, bsr,
// tzcnt, lzcnt, popcnt): at most 64, whatever it is computed from.
func (in *Inst) CountsBits() bool {
	return !in.vex && !in.evex && in.opmap == map0F && (in.op == 0xbc || in.op == 0xbd || in.op == 0xb8 && in.rep)
}

func general(r byte) Place { return Place{Kind: InGeneral, Reg: r} }

// e and g are the operands that ModRM names.
func (in *Inst) placeE() Place {
	if in.mem() {
		return Place{Kind: InMemory}
	}
	return general(in.rm | in.b)
}

func (in *Inst) placeG() Place { return general(in.reg | in.r) }

func (d *Derived) copyWord(to, from Place) {
	d.How = HowCopy
	d.Words[d.N] = [2]Place{to, from}
	d.N++
}

// deriveOne is for opcodes of one byte.
func (in *Inst) deriveOne(d *Derived) {
	op := in.op
	switch {
	case op < 0x38 && op&7 < 6:
		in.deriveALU(d, op>>3, op&7)
	case op == 0x81 || op == 0x83:
		d.To, d.A, d.Const = in.placeE(), in.placeE(), in.imm
		d.alu(in.reg)
	case op == 0x63: // movsxd
		d.copy48(in.placeG(), in.placeE(), 4)
	case op == 0x89:
		d.copy48(in.placeE(), in.placeG(), d.Width)
	case op == 0x8b:
		d.copy48(in.placeG(), in.placeE(), d.Width)
	case op == 0x8d && in.mem():
		d.How, d.To, d.Scale, d.Const = HowAdd, in.placeG(), max(in.scale, 1), int64(in.disp)
		if in.base != NoReg {
			d.A = general(byte(in.base))
		}
		if in.index != NoReg {
			d.B = general(byte(in.index))
		}
		if in.addr32 {
			d.How = HowOther
		}
	case op >= 0x50 && op <= 0x57:
		d.copyWord(Place{Kind: InMemory}, general(op&7|in.b))
	case op >= 0x58 && op <= 0x5f:
		d.copyWord(general(op&7|in.b), Place{Kind: InMemory})
	case op == 0x8f && in.reg == 0, op == 0xff && in.reg == 6:
		switch {
		case in.mem():
			d.copyWord(Place{Kind: InMemory, Reg: 1}, Place{Kind: InMemory})
		case op == 0x8f:
			d.copyWord(general(in.rm|in.b), Place{Kind: InMemory})
		default:
			d.copyWord(Place{Kind: InMemory}, general(in.rm|in.b))
		}
	case op == 0xc9: // leave: rsp is no address of the heap
		d.copyWord(general(byte(RBP)), Place{Kind: InMemory})
	case op > 0x90 && op <= 0x97, op == 0x90 && in.b != 0:
		d.How, d.To, d.A = HowSwap, general(op&7|in.b), general(0)
	case op == 0x87:
		d.How, d.To, d.A = HowSwap, in.placeE(), in.placeG()
	case op == 0x98: // cdqe: what it widens
		d.copy48(general(0), general(0), 4)
	case op == 0xf7 && (in.reg == 2 || in.reg == 3):
		d.How, d.To, d.A = HowNegate, in.placeE(), in.placeE()
	case op == 0xff && in.reg < 2: // inc, dec
		d.How, d.To, d.A, d.Scale, d.Const = HowAdd, in.placeE(), in.placeE(), 1, 1-2*int64(in.reg)
	case op == 0xa4 || op == 0xa5:
		d.How, d.To, d.A = HowString, Place{Kind: InMemory, Reg: 1}, Place{Kind: InMemory}
	case op == 0xab && in.w:
		d.How, d.To, d.A = HowString, Place{Kind: InMemory}, general(0)
	}
}

// copy48 is a copy of 8 bytes, or of 4 that are widened: the latter keeps what is
// told of differences, not of addresses, so it counts as an addition of nothing.
func (d *Derived) copy48(to, from Place, width int) {
	if width == 8 {
		d.copyWord(to, from)
		return
	}
	d.How, d.To, d.A, d.Scale, d.Width = HowAdd, to, from, 1, width
}

// deriveALU is for the eight operations in their six forms.
func (in *Inst) deriveALU(d *Derived, what, form byte) {
	switch form {
	case 1:
		d.To, d.A, d.B = in.placeE(), in.placeE(), in.placeG()
	case 3:
		d.To, d.A, d.B = in.placeG(), in.placeG(), in.placeE()
	case 5:
		d.To, d.A, d.Const = general(0), general(0), in.imm
	default:
		return
	}
	d.alu(what)
}

// alu is what the operation does: add, or, adc, sbb, and, sub, xor, cmp.
func (d *Derived) alu(what byte) {
	d.Scale = 1
	switch what {
	case 0:
		d.How = HowAdd
	case 1:
		d.How = HowMix
	case 6:
		if d.How = HowMix; d.A == d.B && d.A.Kind == InGeneral { // nothing is left
			d.How, d.A, d.B = HowAnd, Place{}, Place{}
		}
	case 4:
		d.How = HowAnd
	case 5:
		d.How = HowSub
		if d.B.Kind == NoPlace {
			d.How, d.Const = HowAdd, -d.Const
		}
	default:
		*d = Derived{Width: d.Width}
	}
}

// deriveTwo is for opcodes behind 0F.
func (in *Inst) deriveTwo(d *Derived) {
	op := in.op
	switch {
	case op >= 0x40 && op <= 0x4f:
		d.How, d.To, d.A = HowSelect, in.placeG(), in.placeE()
	case op == 0xc1: // xadd
		d.How, d.To, d.A, d.Add = HowSwap, in.placeE(), in.placeG(), true
	case op == 0xc3 && d.Width == 8: // movnti
		d.copyWord(in.placeE(), in.placeG())
	default:
		in.deriveVector(d)
	}
}

// deriveVector is for moves of vectors whose words of 8 bytes stay whole.
func (in *Inst) deriveVector(d *Derived) {
	if in.opmap == map3A {
		in.derivePick(d)
		return
	}
	if in.opmap != map0F || in.evex && (in.aaa != 0 || in.bcast) {
		return
	}
	vector := func(r int, word int) Place { return Place{Kind: InVector, Reg: uint8(r), Word: uint8(word)} }
	v, w := in.place('V'), in.place('W')
	src := func(word int) Place {
		if in.mem() {
			return Place{Kind: InMemory, Word: uint8(word)}
		}
		return vector(w, word)
	}
	h := v // the first source
	if in.vex || in.evex {
		h = in.place('H')
	}
	whole := func(load bool) {
		for i := range in.fullLen() / 8 {
			if load {
				d.copyWord(vector(v, i), src(i))
			} else {
				d.copyWord(src(i), vector(v, i))
			}
		}
	}
	low := func(a, b Place) { // the rest of the lower 16 bytes is as Effects says
		d.copyWord(vector(v, 0), a)
		if b.Kind != NoPlace {
			d.copyWord(vector(v, 1), b)
		}
	}
	short := in.fullLen() == 16
	switch p66, pf3, pf2 := in.opsize && !in.rep && !in.repne, in.rep, in.repne; in.op {
	case 0x6f:
		if p66 || pf3 || in.evex {
			whole(true)
		}
	case 0x7f:
		if p66 || pf3 || in.evex {
			whole(false)
		}
	case 0x10, 0x28:
		switch {
		case !pf3 && !pf2:
			whole(true)
		case pf2 && in.op == 0x10 && in.mem():
			low(src(0), Place{})
		case pf2 && in.op == 0x10:
			low(src(0), vector(h, 1))
		}
	case 0x11, 0x29:
		switch {
		case !pf3 && !pf2:
			whole(false)
		case pf2 && in.op == 0x11 && in.mem():
			d.copyWord(src(0), vector(v, 0))
		}
	case 0xe7, 0x2b:
		if p66 && in.op == 0xe7 || !pf3 && !pf2 && in.op == 0x2b {
			whole(false)
		}
	case 0xf0:
		if pf2 {
			whole(true)
		}
	case 0x6e:
		if p66 && in.w {
			low(in.placeE(), Place{})
		}
	case 0x7e:
		switch {
		case p66 && in.w:
			d.copyWord(in.placeE(), vector(v, 0))
		case pf3:
			low(src(0), Place{})
		}
	case 0xd6:
		if p66 {
			d.copyWord(src(0), vector(v, 0))
		}
	case 0x12:
		switch {
		case pf2 && short: // movddup
			low(src(0), src(0))
		case !pf3 && !pf2 && in.mem():
			low(src(0), vector(h, 1))
		case !pf3 && !pf2:
			low(src(1), vector(h, 1))
		}
	case 0x16:
		if !pf3 && !pf2 {
			low(vector(h, 0), src(0))
		}
	case 0x13:
		d.copyWord(src(0), vector(v, 0))
	case 0x17:
		d.copyWord(src(0), vector(v, 1))
	case 0x14, 0x6c:
		if p66 && short {
			low(vector(h, 0), src(0))
		}
	case 0x15, 0x6d:
		if p66 && short {
			low(vector(h, 1), src(1))
		}
	case 0xc6:
		if p66 && short {
			low(vector(h, int(in.imm)&1), src(int(in.imm)>>1&1))
		}
	case 0x70:
		if sel := [4]int{0: -1}; p66 && short {
			for i := range 2 {
				pair := int(in.imm) >> (4 * i) & 15
				if sel[i] = pair & 3 / 2; pair != 4 && pair != 14 {
					return // words are taken apart
				}
			}
			low(src(sel[0]), src(sel[1]))
		}
	}
}

// derivePick is for pextrq and pinsrq.
func (in *Inst) derivePick(d *Derived) {
	if !in.opsize || !in.w || in.rep || in.repne {
		return
	}
	v := uint8(in.place('V'))
	word := uint8(in.imm) & 1
	switch in.op {
	case 0x16:
		d.copyWord(in.placeE(), Place{Kind: InVector, Reg: v, Word: word})
	case 0x22:
		h := v
		if in.vex || in.evex {
			h = uint8(in.place('H'))
		}
		d.copyWord(Place{Kind: InVector, Reg: v, Word: word}, in.placeE())
		d.copyWord(Place{Kind: InVector, Reg: v, Word: 1 - word}, Place{Kind: InVector, Reg: h, Word: 1 - word})
	}
}
