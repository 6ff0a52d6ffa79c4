package step

import (
	"bytes"

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
	vectors       // whose memory vector or opmask registers tell
	cpuid         // a hypervisor executes it
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
		switch m := &d.mem[i]; {
		case m.Shape == x86.MemVector, m.Mask != 0, m.Signs != 0:
			d.kind = vectors
		case m.Shape == x86.MemString:
			d.rep = d.rep || m.Rep
		}
	}
	switch b := in.Branch(); {
	case b == x86.BranchSyscall || b == x86.BranchSysenter || bytes.Equal(code, []byte{0xcd, 0x80}):
		d.kind = syscall
	case bytes.HasSuffix(code, []byte{0x0f, 0xa2}) && d.n == 0:
		d.kind = cpuid
	case code[len(code)-1] == 0x9c && len(code) <= 2 && d.n == 1:
		d.kind = pushf
	}
	return d
}

// addrs appends where the accesses of an instruction are that is about to be executed
// with registers r, and those of v if it is of kind vectors. What string instructions with
// a prefix do is known afterwards.
func addrs(in *inst, size int, r *mem.Regs, v *target.Vectors, to []flow.Mem) []flow.Mem {
	for i := range in.mem[:in.n] {
		m := &in.mem[i]
		at := observe.AccessAddress(m, size, r)
		switch {
		case m.Shape == x86.MemVector:
			index, chosen := v.Vector(int(m.Vector)), chosen(m, v)
			for k := range m.Count {
				to = append(to, element(m, at, k, index[:], chosen))
			}
		case m.Element != 0:
			off, n := m.Masked(chosen(m, v))
			to = append(to, flow.Mem{Addr: trace.Addr(at + uint64(off)), Size: uint32(n)})
		default:
			to = append(to, flow.Mem{Addr: trace.Addr(at), Size: uint32(m.Size)})
		}
	}
	return to
}

// element is element k of a gather or scatter whose operand is at an address.
func element(m *x86.MemAccess, at uint64, k int, index []byte, chosen uint64) flow.Mem {
	if chosen>>k&1 == 0 {
		return flow.Mem{}
	}
	if at += m.Offset(k, index); m.Addr32 {
		at = uint64(uint32(at))
	}
	return flow.Mem{Addr: trace.Addr(at), Size: uint32(m.Size)}
}

// chosen are the elements that an access touches, as bits.
func chosen(m *x86.MemAccess, v *target.Vectors) uint64 {
	if m.Signs != 0 {
		b := v.Vector(int(m.Signs - 1))
		return m.Chosen(b[:])
	}
	return v.Opmask(int(m.Mask))
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
