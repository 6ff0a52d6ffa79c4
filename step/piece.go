package step

import (
	"bytes"
	"encoding/binary"

	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

// piece is a block of code with what the engine needs of its instructions.
type piece struct {
	id    flow.BlockID // 0: no flow knows it yet
	block flow.Block
	insts []inst
}

// inst is what is known of an instruction before it is executed.
type inst struct {
	kind inst8
	rep  bool // a string instruction that stops behind each iteration
	mem  [2]x86.MemAccess
	n    int // of mem
}

// inst8 says which instructions need care.
type inst8 uint8

const (
	plain   inst8 = iota
	syscall       // enters the kernel
	pushf         // would push the trap flag
	far           // memory that general registers do not tell: not recorded
)

// newPiece describes the code at pc; flow.ErrNoCode: there is no instruction.
func newPiece(pc uint64, code []byte) (*piece, error) {
	b, err := flow.Piece(trace.Addr(pc), code)
	if err != nil {
		return nil, err
	}
	p := &piece{block: b, insts: make([]inst, len(b.Insts))}
	for i := range b.Insts {
		in, err := x86.Decode(b.Bytes(i), uint64(b.PC(i)))
		if err != nil {
			return nil, err
		}
		p.insts[i] = describe(&in, b.Bytes(i))
	}
	return p, nil
}

func describe(in *x86.Inst, code []byte) (d inst) {
	var e x86.Effects
	in.Effects(&e)
	d.n = copy(d.mem[:], e.Mem[:e.NMem])
	for i := range d.mem[:d.n] {
		switch d.mem[i].Shape {
		case x86.MemVector:
			d.kind = far
		case x86.MemString:
			d.rep = d.rep || d.mem[i].Rep
		}
	}
	switch b := in.Branch(); {
	case b == x86.BranchSyscall || b == x86.BranchSysenter || bytes.Equal(code, []byte{0xcd, 0x80}):
		d.kind = syscall
	case code[len(code)-1] == 0x9c && len(code) <= 2 && d.n == 1:
		d.kind = pushf
	}
	return d
}

// addrs appends where the accesses of an instruction are that is about to be executed
// with registers r. What string instructions with a prefix do is known afterwards.
func (e *Engine) addrs(in *inst, size int, r *mem.Regs, to []flow.Mem) []flow.Mem {
	for i := range in.mem[:in.n] {
		m := &in.mem[i]
		at := observe.AccessAddress(m, size, r)
		to = append(to, flow.Mem{Addr: trace.Addr(at), Size: uint32(m.Size)})
	}
	return to
}

// masked says which bytes of an access were touched that an opmask register chooses.
func masked(th *target.Stopped, m *x86.MemAccess, to *flow.Mem) {
	mask, err := th.Opmask(int(m.Mask))
	if err != nil {
		return // it is ending
	}
	off, n := m.Masked(mask)
	to.Addr, to.Size = to.Addr+trace.Addr(off), uint32(n)
}

const flagDirection = 1 << 10

// repeated says what a string instruction with a prefix did: its count register was
// before and is after.
func repeated(in *inst, before, after *mem.Regs, mems []flow.Mem) {
	for i := range mems {
		m := &in.mem[i]
		if m.Shape != x86.MemString || !m.Rep {
			continue
		}
		n := before.RCX - after.RCX
		if m.Addr32 {
			n = uint64(uint32(n))
		}
		if n > 0 && before.EFlags&flagDirection != 0 {
			mems[i].Addr -= trace.Addr((n - 1) * uint64(m.Size))
		}
		mems[i].Size = uint32(min(n*uint64(m.Size), 1<<32-1))
	}
}

// State components of xsave by number, bytes (Intel SDM volume 1, chapter 13; CPUID
// leaf 0DH): in the compact form they follow each other.
var stateSizes = [...]uint32{2: 256, 3: 64, 4: 64, 5: 64, 6: 512, 7: 1024, 8: 128, 9: 8, 10: 8, 11: 16, 12: 24, 13: 8, 14: 48, 15: 808, 16: 8, 17: 64, 18: 8192} // read-only

const (
	stateHeader  = 512 // XSTATE_BV, XCOMP_BV
	stateLeast   = 576 // with the header
	stateCompact = 1 << 63
	tileData     = 18
)

// stateSize says how long the state at addr is that xsave or one of its like has written,
// or that xrstor has read: at most, where its form does not tell.
func stateSize(m mem.Memory, addr uint64, most uint32) uint32 {
	var h [16]byte
	if _, err := m.ReadMemory(h[:], addr+stateHeader); err != nil {
		return most
	}
	has, compact := binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])
	if compact&stateCompact == 0 {
		if has>>2 == 0 {
			return stateLeast
		}
		return most // where its parts lie is for the processor to know
	}
	n := uint32(stateLeast)
	for i := 2; i < 63; i++ {
		switch {
		case compact>>i&1 == 0:
		case i >= len(stateSizes):
			return most
		default:
			if i == tileData {
				n = (n + 63) &^ 63 // the only one that is aligned
			}
			n += stateSizes[i]
		}
	}
	return min(n, most)
}
