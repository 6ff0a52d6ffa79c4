package flow

import (
	"errors"
	"fmt"

	"mgtrace/trace"
	"mgtrace/x86"
)

// maxPiece bounds the pieces that Piece cuts, in instructions: a partial execution
// says From and N, and a reader decodes a block as a whole.
const maxPiece = 64

// ErrNoCode says that there is no instruction that could be described.
var ErrNoCode = errors.New("no known instruction")

// Piece describes the straight-line code at the start of code, which lies at start in
// the process: up to the first instruction that may go elsewhere, and as far as
// instructions are known. ErrNoCode: the first is not.
func Piece(start trace.Addr, code []byte) (Block, error) {
	b := Block{Start: start}
	at := 0
	for at < len(code) && len(b.Insts) < maxPiece {
		in, err := x86.Decode(code[at:], uint64(start)+uint64(at))
		if err != nil {
			if at == 0 {
				return b, fmt.Errorf("%w: %w", ErrNoCode, err)
			}
			break
		}
		b.add(&in)
		at += in.Len
		if Ends(&in) {
			break
		}
	}
	if at == 0 {
		return b, ErrNoCode
	}
	b.Code = append([]byte(nil), code[:at]...)
	return b, nil
}

// Ends says whether a block ends with an instruction: behind it another one may follow
// than the next in memory.
func Ends(in *x86.Inst) bool {
	return in.Kind != x86.KindOther || in.Branch() != x86.BranchNone
}

// add appends an instruction with its accesses as package x86 tells them.
func (b *Block) add(in *x86.Inst) {
	var e x86.Effects
	in.Effects(&e)
	n := Inst{Len: uint8(in.Len), Access: uint16(len(b.Accesses))}
	if k := len(b.Insts); k > 0 {
		n.Off = b.Insts[k-1].Off + uint16(b.Insts[k-1].Len)
	}
	for i := range e.Mem[:e.NMem] {
		b.Accesses = appendAccess(b.Accesses, &e.Mem[i])
	}
	n.NMem = uint8(len(b.Accesses) - int(n.Access))
	b.Insts = append(b.Insts, n)
}

// appendAccess appends what an execution tells of an access: one entry, but for
// gathers and scatters one for each element.
func appendAccess(to []Access, m *x86.MemAccess) []Access {
	a := Access{Size: uint16(m.Size)}
	if m.Read {
		a.Flags |= Reads
	}
	if m.Write {
		a.Flags |= Writes
	}
	if m.Base == x86.RSP {
		a.Flags |= Stack
	}
	switch {
	case m.Shape == x86.MemVector, m.Shape == x86.MemString && m.Rep, m.Shape == x86.MemMasked && m.Element != 0:
		a.Size = 0 // an element may be masked out
	}
	for range m.Entries() {
		to = append(to, a)
	}
	return to
}
