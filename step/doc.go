// Package step is the capture engine that executes a program instruction by instruction
// (PTRACE_SINGLESTEP). It gives the events of a capture plan as every engine does, and
// writes the flow: all instructions with the addresses of their memory accesses.
//
//	e, err := step.Attach(proc, flow.NewWriter(file, head))  // proc stands at its exec
//	at, err := e.RunTo(ctx, main)                             // recording already
//	err = e.Begin(plan, observe.DeliveryOptions{})            // from here on there are events
//	err = e.Run(ctx, sink)
//
// An instruction costs tens of microseconds. It is the reference that faster engines
// are compared with, and serves where they can not. Threads take turns: at any time one
// of them executes, so the order of instructions is exact.
package step
