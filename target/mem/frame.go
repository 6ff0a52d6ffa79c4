package mem

import "encoding/binary"

// Frame is what the kernel writes for a signal handler that begins (struct rt_sigframe
// in arch/x86/include/asm/sigframe.h).
type Frame struct {
	PC, RAX uint64 // of the thread that was interrupted
	// What was written: the frame, then the state of the other registers, half-open.
	// A second part that is empty could not be found.
	Written [2][2]uint64
}

// ReadFrame reads the frame that lies at a stack pointer, of a thread that is about to
// execute a handler's first instruction. What can not be read is 0.
func ReadFrame(m Memory, sp uint64) (f Frame) {
	const (
		size        = 440           // pretcode, struct ucontext with a mask of 64 signals, siginfo
		frameRAX    = 8 + 40 + 13*8 // in uc_mcontext
		framePC     = 8 + 40 + 16*8 // the same
		frameState  = 8 + 40 + 23*8 // address of the state of the other registers
		stateMagic1 = 464           // sw_reserved.magic1, extended_size
		magic1      = 0x46505853    // FP_XSTATE_MAGIC1
		stateLegacy = 512           // without it
		stateMost   = 64 << 10      // believed
	)
	word := func(at uint64) uint64 {
		x, err := ReadUint64(m, sp+at)
		if err != nil {
			return 0
		}
		return x
	}
	f.PC, f.RAX = word(framePC), word(frameRAX)
	f.Written[0] = [2]uint64{sp, sp + size}
	if at := word(frameState); at != 0 {
		n := uint64(stateLegacy)
		var b [8]byte
		if _, err := m.ReadMemory(b[:], at+stateMagic1); err == nil && binary.LittleEndian.Uint32(b[:]) == magic1 {
			n = min(uint64(binary.LittleEndian.Uint32(b[4:]))+4, stateMost) // magic2 behind it
		}
		f.Written[1] = [2]uint64{at, at + n}
	}
	return f
}
