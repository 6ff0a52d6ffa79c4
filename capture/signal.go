package capture

// The signals that are events even if the program handles them, by number (asm/signal.h):
// they say that the program is wrong.
const (
	sigILL  = 4
	sigABRT = 6
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11

	reported = 1<<sigILL | 1<<sigABRT | 1<<sigBUS | 1<<sigFPE | 1<<sigSEGV
)

// How much of the stack is recorded with a signal, bytes: the innermost frames. There may be as many that the program handles as it
// likes, as of a garbage collector's.
const (
	maxSignalStack  = 16 << 10
	maxHandledStack = 256
)

// SignalHit is the hit of a signal that meets a program: its number, siginfo's code and
// address, and whether the program handles it or is ended by it. told is false if it is no
// event. Thread, PC and SP are the caller's.
func SignalHit(number int, code int32, addr uint64, handled, ends bool) (h Hit, told bool) {
	if reported>>number&1 == 0 && !ends {
		return Hit{}, false
	}
	h = Hit{Op: Signal, Index: number}
	if code > 0 && number != sigABRT { // the kernel's own
		h.Addr = addr
	}
	if handled {
		h.Base = 1
	}
	return h, true
}
