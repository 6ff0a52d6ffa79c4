package x86

// Reg is a general register, numbered as in ModRM/REX: 0 RAX, 1 RCX, 2 RDX,
// 3 RBX, 4 RSP, 5 RBP, 6 RSI, 7 RDI, 8…15 R8…R15. NoReg: none.
type Reg int8

// The registers that instructions use implicitly.
const (
	NoReg Reg = -1
	RAX   Reg = 0
	RCX   Reg = 1
	RDX   Reg = 2
	RSP   Reg = 4
	RBP   Reg = 5
	RSI   Reg = 6
	RDI   Reg = 7
)

// Source says where the value that a store writes is found.
type Source uint8

const (
	SourceMemory Source = iota // not known before: read memory after the instruction
	SourceReg                  // general register Value, shifted right by Shift bits (AH: 8)
	SourceImm                  // Imm
)

// Shape says how the extent is found.
type Shape uint8

const (
	ShapeFixed  Shape = iota // Width bytes at the operand
	ShapeString              // rep movs/stos/ins: RCX × Width bytes at RDI, downwards if DF
	ShapeMasked              // some of Width bytes: compare before and after
	ShapeCond                // Width bytes, only if it succeeds (cmpxchg): compare before and after
	// ShapeBit: bts, btr, btc with the bit number in register Value: a signed
	// number of Width bytes, which may lead out of the operand (SDM volume 2,
	// "Bit(BitBase, BitOffset)"). Width bytes at the operand plus
	// Width × (Value >> log2(8 × Width)).
	ShapeBit
	// ShapeUnsupported: general registers do not tell what is written where
	// (scatters, xsave, tile stores, enqcmd): never captured, always reported.
	ShapeUnsupported
)

// Store is what one instruction writes to memory.
type Store struct {
	Operand
	Width  int // bytes
	Shape  Shape
	Source Source
	Value  Reg
	Shift  uint8
	Imm    uint64 // sign-extended to 64 bits; the low Width bytes are written
	Swap   bool   // movbe: the low Width bytes of Value in reverse order
	Rep    bool   // ShapeString with a rep prefix; without one a single element
	RMW    bool   // reads the operand too
	Atomic bool   // locked, or xchg
	Lock   bool   // has a LOCK prefix
	Old    Reg    // behind the instruction its low Width bytes, at most 8, are what was there before (xchg, xadd, cmpxchg); NoReg: none has it
	Len    int    // bytes of the instruction
	Text   string // Intel syntax, for reports; Decode leaves it empty, see Text
}

// Absolute says that the address depends on no register: RIP-relative, or a
// displacement alone.
func (s *Store) Absolute() bool {
	return s.RIPRelative || s.Base == NoReg && s.Index == NoReg
}

// Uses says that the address, or what ShapeBit adds to it, depends on r.
func (s *Store) Uses(r Reg) bool {
	return s.Base == r || s.Index == r || s.Shape == ShapeBit && s.Value == r
}
