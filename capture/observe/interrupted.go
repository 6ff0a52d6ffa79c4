package observe

import (
	"mgtrace/capture"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

const (
	maxInterrupted = 64 << 10 // how much of the stack is looked at where a signal met a thread, bytes
	redZone        = 128      // bytes below the stack pointer that a function may use (x86-64 psABI 3.2.2)
	pageSize       = 4 << 10
)

// Interrupted gives the hit of a signal where its thread was, what that held, and what unwinding needs.
func Interrupted(h *capture.Hit, regs *mem.Regs, memory mem.Memory) {
	h.PC, h.SP = regs.RIP, regs.RSP
	h.Regs = capture.Regs{BX: regs.RBX, BP: regs.RBP, R12: regs.R12, R13: regs.R13, R14: regs.R14, R15: regs.R15}
	h.Registers = make([]uint64, 0, trace.SignalRegs)
	for n := range trace.SignalRegs - 1 {
		v, _ := regs.DWARF(n) // it has these
		h.Registers = append(h.Registers, v)
	}
	h.Registers = append(h.Registers, regs.EFlags)
	if below := make([]byte, redZone); h.SP > redZone {
		if n, _ := memory.ReadMemory(below, h.SP-redZone); n == redZone {
			h.Below = below
		}
	}
	h.Stack = make([]byte, maxInterrupted)
	n, _ := memory.ReadMemory(h.Stack, h.SP) // n tells
	if n == 0 {
		h.Below, h.Skip = nil, pageSize-h.SP%pageSize
		n, _ = memory.ReadMemory(h.Stack, h.SP+h.Skip)
	}
	h.Stack = h.Stack[:n]
}
