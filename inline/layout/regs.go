package layout

// struct regs: what a trampoline pushes on the hook stack before it calls the
// hook routine. It lies at gs:[HookSP] - RegsSize for as long as the call
// lasts, so the tracer finds it too. A general register lies at RegsGeneral +
// 8 × its number in ModRM order: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15. The
// routine changes nothing in it.
//
// The routine is called by `call gs:[HookEntry]` with rdi = address of struct
// regs, esi = number of the hook site, edx = phase, the program's direction flag
// and rsp aligned to 16 bytes before the call. It may change what the System V
// ABI lets a function change, except vector and x87 registers and MXCSR.
const (
	RegsGeneral = 0   // u64 × 16; rsp is that of the program
	RegsFlags   = 128 // u64: RFLAGS, where the routine records a store
	RegsSite    = 136 // u32: number of the hook site, PhaseBit set in phase 1
	RegsSize    = 144

	PhaseBit = 1 << 31
)

// The phases of a hook site.
const (
	PhaseBefore = 0 // the displaced instruction has not executed
	PhaseAfter  = 1
)
