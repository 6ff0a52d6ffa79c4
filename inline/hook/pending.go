package hook

import (
	"encoding/binary"

	"mgtrace/inline/layout"
)

// Pending is a complex store or system call whose phase 0 has run and whose
// phase 1 has not.
type Pending struct {
	Site    int    // number of its hook site
	SP      uint64 // the program's stack pointer
	Syscall bool   // a system call, of number Call
	Call    int
	Changed bool   // Syscall: the word at Addr (0: RDI) is another one than Base, which it was, until it has returned
	Store   int    // else a store: its index in the plan
	Addr    uint64 // lowest address that it will write
	Size    uint64 // bytes
	Base    uint64 // address register; of a string store RDI before its first element
}

// Innermost returns what the thread of a block began last. block has at least
// layout.HookEnd bytes.
func Innermost(block []byte) (p Pending, ok bool) {
	n := binary.LittleEndian.Uint32(block[layout.Pendings:])
	if n == 0 || n > layout.MaxOpen {
		return p, false
	}
	b := block[layout.PendingAt+(int(n)-1)*layout.PendingSize:]
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	p = Pending{Site: u32(layout.PendingSite), SP: u64(layout.PendingSP)}
	switch b[layout.PendingShape] {
	case layout.PendingChanged:
		p.Changed, p.Addr, p.Base = true, u64(layout.PendingAddr), u64(layout.PendingBase)
		fallthrough
	case layout.PendingSystem:
		p.Syscall, p.Call = true, u32(layout.PendingCall)
		return p, true
	}
	p.Store, p.Addr, p.Size, p.Base = u32(layout.PendingIndex), u64(layout.PendingAddr), u64(layout.PendingBytes), u64(layout.PendingBase)
	return p, true
}

// Writer is an open call of a function that writes.
type Writer struct {
	Func int    // its index in the plan
	SP   uint64 // with which it was entered
	PC   uint64 // where it returns to
}

// OpenWriter returns the innermost one of the thread of a block. It may have been left by
// an exception or longjmp since.
func OpenWriter(block []byte) (w Writer, ok bool) {
	n := binary.LittleEndian.Uint32(block[layout.Writers:])
	if n == 0 || n > layout.MaxOpen {
		return w, false
	}
	b := block[layout.WriterAt+(int(n)-1)*layout.WriterSize:]
	return Writer{
		Func: int(binary.LittleEndian.Uint32(b[layout.WriterFunc:])),
		SP:   binary.LittleEndian.Uint64(b[layout.WriterSP:]),
		PC:   binary.LittleEndian.Uint64(b[layout.WriterPC:]),
	}, true
}

// Forget takes off what Innermost returned: it will not execute, or the tracer
// reports itself what it did.
func Forget(block []byte) {
	if n := binary.LittleEndian.Uint32(block[layout.Pendings:]); n > 0 {
		binary.LittleEndian.PutUint32(block[layout.Pendings:], n-1)
	}
}

// Done returns what a string store has written when it was stopped with this
// RDI; size 0: nothing.
func (p *Pending) Done(rdi uint64) (addr, size uint64) {
	if rdi >= p.Base {
		return p.Addr, min(rdi-p.Base, p.Size)
	}
	size = min(p.Base-rdi, p.Size) // downwards
	return p.Addr + p.Size - size, size
}
