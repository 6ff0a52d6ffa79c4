package patch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"

	"mgtrace/x86"
)

// Why an instruction can not be executed at another address.
var (
	ErrNoCode    = errors.New("no code there")
	ErrFar       = errors.New("more than 2 GB away")
	ErrOpSize    = errors.New("branch with an operand-size prefix: processors differ")
	ErrAddr32    = errors.New("address relative to EIP")
	ErrFarCall   = errors.New("far call: pushes its own address")
	ErrTrap      = errors.New("breakpoint: whoever handles it sees its address")
	ErrSysenter  = errors.New("sysenter: the kernel returns elsewhere")
	ErrLong      = errors.New("the copy would be longer than an instruction may be")
	ErrCallStack = errors.New("call through the stack slot that it overwrites")
)

// Relocate appends the instruction at from, encoded anew so that it does the
// same at address to, and falls through at its end if the original went on to
// the next instruction. Neither flags nor registers nor memory above the stack
// pointer differ from what the original does.
//
// A call pushes the return address that the original pushes, so unwinding and
// the callee see nothing; the processor's prediction of the return misses. (A
// processor with shadow stacks in use would fault.) An indirect call pushes
// before it reads its target. A fault is seen at the copy's address, in a call
// perhaps with the return address pushed. syscall is followed by what gives RCX
// its value.
func Relocate(buf []byte, code []Code, from, to uint64) ([]byte, error) {
	raw := bytesAt(code, from)
	if raw == nil {
		return buf, fmt.Errorf("instruction at %#x: %w", from, ErrNoCode)
	}
	in, err := x86.Decode(raw, from)
	if err != nil {
		return buf, fmt.Errorf("instruction at %#x: %w", from, err)
	}
	out, err := relocate(buf, raw[:in.Len], &in, from, to)
	if err != nil {
		return buf, fmt.Errorf("instruction at %#x: %w", from, err)
	}
	return out, nil
}

// bytesAt returns the bytes from addr to the end of its mapping.
func bytesAt(code []Code, addr uint64) []byte {
	i := sort.Search(len(code), func(i int) bool { return code[i].end() > addr })
	if i == len(code) || addr < code[i].Addr {
		return nil
	}
	return code[i].Bytes[addr-code[i].Addr:]
}

// Jump appends a jump with a 32-bit displacement, as placed at address at.
func Jump(buf []byte, at, to uint64) ([]byte, error) {
	return rel32(append(buf, 0xe9), at+5, to)
}

// JumpLen is the size of what Jump appends.
const JumpLen = 5

// rel32 appends the displacement that leads from next to target.
func rel32(buf []byte, next, target uint64) ([]byte, error) {
	d := int64(target - next)
	if d != int64(int32(d)) {
		return buf, ErrFar
	}
	return binary.LittleEndian.AppendUint32(buf, uint32(d)), nil
}

// MaxRelocated is an upper bound for what Relocate appends for the instruction,
// in bytes.
func MaxRelocated(in *x86.Inst) int {
	switch in.Branch() {
	case x86.BranchJmp:
		return JumpLen
	case x86.BranchJcc, x86.BranchTransaction:
		return 6
	case x86.BranchLoop:
		return 10
	case x86.BranchCall:
		return maxPush + JumpLen
	case x86.BranchCallIndirect:
		return maxPush + in.Len + 4 // a displacement of 4 bytes where there was none
	case x86.BranchSyscall:
		return in.Len + 7
	}
	return in.Len
}

// Continues says that control can reach the end of the relocated copy: a jump to
// the next instruction belongs there. It can not for a jump, a return or a call,
// which returns to the original.
func Continues(in *x86.Inst) bool {
	return in.Kind == x86.KindOther || in.Kind == x86.KindJcc
}

// Relocatable says whether the instruction can be relocated to an address in
// reach, and if not, why.
func Relocatable(in *x86.Inst) error {
	switch in.Branch() {
	case x86.BranchCallFar:
		return ErrFarCall
	case x86.BranchTrap:
		return ErrTrap
	case x86.BranchSysenter:
		return ErrSysenter
	}
	if in.OpSize16() && (in.Direct || in.Branch() == x86.BranchCallIndirect) {
		return ErrOpSize
	}
	op, mem := in.Operand()
	if mem && op.RIPRelative && in.Addr32() {
		return ErrAddr32
	}
	if in.Branch() == x86.BranchCallIndirect && mem && op.Base == x86.RSP && op.Index == x86.NoReg &&
		op.Disp > -16 && op.Disp < 0 {
		return ErrCallStack
	}
	if in.Branch() == x86.BranchCallIndirect && mem && op.Base == x86.RSP && in.OpcodeAt()+3+4 > x86.MaxLen {
		return ErrLong
	}
	if r, ok := in.CallsThrough(); ok && r == x86.RSP {
		return ErrCallStack
	}
	return nil
}

func relocate(buf, raw []byte, in *x86.Inst, from, to uint64) ([]byte, error) {
	if err := Relocatable(in); err != nil {
		return buf, err
	}
	start := len(buf)
	next := func() uint64 { return to + uint64(len(buf)-start) + 4 } // behind a displacement appended now
	behind := from + uint64(in.Len)
	switch in.Branch() {
	case x86.BranchJmp:
		return Jump(buf, to, in.Target)
	case x86.BranchJcc:
		buf = append(buf, 0x0f, 0x80|in.Condition())
		return rel32(buf, next(), in.Target)
	case x86.BranchTransaction:
		buf = append(buf, 0xc7, 0xf8)
		return rel32(buf, next(), in.Target)
	case x86.BranchLoop:
		if in.Addr32() {
			buf = append(buf, 0x67)
		}
		buf = append(buf, raw[in.OpcodeAt()], 2, 0xeb, JumpLen, 0xe9)
		return rel32(buf, next(), in.Target)
	case x86.BranchCall:
		buf = append(pushAddr(buf, behind), 0xe9)
		return rel32(buf, next(), in.Target)
	case x86.BranchCallIndirect:
		return callIndirect(buf, raw, in, from, to)
	case x86.BranchSyscall:
		buf = append(append(buf, raw...), 0x48, 0x8d, 0x0d) // lea rcx, [rip+…]
		return rel32(buf, next(), behind)
	}
	return moveOperand(append(buf, raw...), start, in, from, to)
}

// maxPush is the size of the longest pushAddr.
const maxPush = 13

// pushAddr appends what pushes an address: the processor has no push of 8
// immediate bytes, so the upper half is stored over the sign extension.
func pushAddr(buf []byte, addr uint64) []byte {
	buf = append(buf, 0x68)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(addr))
	if addr == uint64(int64(int32(addr))) {
		return buf
	}
	buf = append(buf, 0xc7, 0x44, 0x24, 0x04) // mov dword ptr [rsp+4], …
	return binary.LittleEndian.AppendUint32(buf, uint32(addr>>32))
}

// callIndirect appends the push of the return address and the call made a jump
// (FF /2 to FF /4).
func callIndirect(buf, raw []byte, in *x86.Inst, from, to uint64) ([]byte, error) {
	op, mem := in.Operand()
	modRM := in.OpcodeAt() + 1
	start := len(buf)
	buf = pushAddr(buf, from+uint64(in.Len))
	jump := len(buf)
	to += uint64(jump - start)
	buf = append(buf, raw...)
	buf[jump+modRM] ^= 0x10 ^ 0x20 // ModRM.reg from 2 to 4
	if !mem || op.Base != x86.RSP {
		return moveOperand(buf, jump, in, from, to)
	}
	// RSP is 8 less than the call would find it.
	if op.Disp > math.MaxInt32-8 {
		return buf[:start], ErrFar
	}
	buf = buf[:jump+modRM+2] // with SIB: RSP as a base needs one
	buf[jump+modRM] = buf[jump+modRM]&0x3f | 0x80
	return binary.LittleEndian.AppendUint32(buf, uint32(op.Disp+8)), nil
}

// moveOperand corrects the RIP-relative operand of the copy that begins at
// buf[start] and stands at address to.
func moveOperand(buf []byte, start int, in *x86.Inst, from, to uint64) ([]byte, error) {
	op, mem := in.Operand()
	if !mem || !op.RIPRelative {
		return buf, nil
	}
	d := op.Disp + int64(from-to)
	if d != int64(int32(d)) {
		return buf[:start], ErrFar
	}
	at, _ := in.DispAt()
	binary.LittleEndian.PutUint32(buf[start+at:], uint32(d))
	return buf, nil
}

// refers returns the lowest and highest address that the relocated instruction
// must reach with 32-bit displacements, next instruction included.
func refers(in *x86.Inst, from uint64) (lo, hi uint64) {
	lo = from + uint64(in.Len)
	hi = lo
	if in.Direct {
		lo, hi = min(lo, in.Target), max(hi, in.Target)
	}
	if op, ok := in.Operand(); ok && op.RIPRelative {
		x := from + uint64(in.Len) + uint64(op.Disp)
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}
