package x86

// Reg is a general register, numbered as in ModRM/REX: 0 RAX, 1 RCX, 2 RDX,
// 3 RBX, 4 RSP, 5 RBP, 6 RSI, 7 RDI, 8…15 R8…R15. NoReg: none.
type Reg int8

const NoReg Reg = -1

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
)

// Store is what one instruction writes to memory.
type Store struct {
	Base, Index Reg   // operand registers
	Scale       uint8 // 1, 2, 4, 8
	Disp        int64
	Segment     uint8 // 0, or 'f', 'g': fs/gs base is added
	RIPRelative bool  // Disp is relative to the next instruction
	Addr32      bool  // 67 prefix: the address is truncated to 32 bits
	Width       int   // bytes
	Shape       Shape
	Source      Source
	Value       Reg
	Shift       uint8
	Imm         uint64
	RMW         bool   // reads the operand too
	Atomic      bool   // locked, or xchg
	Lock        bool   // has a LOCK prefix
	Len         int    // bytes of the instruction
	Text        string // Intel syntax, for reports
}
