package observe

import (
	"mgtrace/capture"
	"mgtrace/target/mem"
)

// maxInterrupted is how much of the stack goes with a signal that ends the program, bytes.
const maxInterrupted = 64 << 10

// Interrupted gives the hit of a signal where its thread was, with what unwinding needs.
func Interrupted(h *capture.Hit, regs *mem.Regs, memory mem.Memory) {
	h.PC, h.SP = regs.RIP, regs.RSP
	h.Regs = capture.Regs{BX: regs.RBX, BP: regs.RBP, R12: regs.R12, R13: regs.R13, R14: regs.R14, R15: regs.R15}
	h.Stack = make([]byte, maxInterrupted)
	n, _ := memory.ReadMemory(h.Stack, regs.RSP) // n tells
	h.Stack = h.Stack[:n]
}
