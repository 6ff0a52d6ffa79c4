// Package observe says what an engine reports that sees every instruction: it is told
// where each thread stands and with which registers, and gives the hits of the plan.
//
//	o := observe.New(plan, images, memory, observe.Options{Stack: 512}, take)
//	o.Thread(7, stack)               // before the thread's first instruction
//	o.Before(7, &regs)               // it is about to execute the instruction at regs.RIP
//	o.After(7, &regs)                // it has, and these are its registers now
//
// The rules (which allocator is the outermost one, what a writer wrote, which stores are
// the allocator's own) are those of the routine inside the process, inline/hook/c, in Go:
// both engines must deliver the same events.
//
// The package knows neither processes nor kernels.
package observe
