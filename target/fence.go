package target

// CPUID, without prefixes.
var opcodeCPUID = [2]byte{0x0f, 0xa2}

func isCPUID(code [2]byte) bool { return code == opcodeCPUID }

// fence is an int3 behind an instruction that a thread is about to be stepped over.
//
// CPUID is executed by the hypervisor, for any guest (Intel manual, volume 3,
// 26.1.2). Some forget that the guest is being stepped then (seen with nested
// virtualization, and not with each leaf of CPUID): the trap comes when the instruction
// behind it has been executed too, of which nobody would know. With the fence, that
// one is the int3. No other thread may execute it meanwhile.
type fence struct {
	th     *thread
	memory *memory
	pc     uint64  // of the int3
	is     [1]byte // what is there
}

// fence puts one behind the CPUID at pc; nil: it can not be written there.
func (t *tracer) fence(th *thread, pc uint64) *fence {
	f := &fence{th: th, memory: th.memory(t), pc: pc + uint64(len(opcodeCPUID))}
	if n, _ := f.memory.ReadMemory(f.is[:], f.pc); n == 0 {
		return nil
	}
	if f.memory.write(th.tid, f.pc, []byte{0xcc}) != nil {
		return nil
	}
	return f
}

// lift takes the fence away from a thread that has stopped, and puts one that has run
// into it back before it.
func (f *fence) lift() {
	if f == nil {
		return
	}
	_ = f.memory.write(f.th.tid, f.pc, f.is[:]) // fails only if the process is gone
	if regs, err := getRegs(f.th.tid); err == nil && regs.RIP == f.pc+1 {
		regs.RIP = f.pc
		_ = setRegs(f.th.tid, regs)
	}
}
