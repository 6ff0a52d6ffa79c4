// Package observe says what an engine reports that sees every instruction: it is told
// where each thread stands and with which registers, and gives the hits of the plan.
//
//	o := observe.New(plan, images, memory, observe.Options{Stack: 512}, take)
//	o.Thread(7, stack)               // before the thread's first instruction
//	o.Before(7, &regs)               // it is about to execute the instruction at regs.RIP
//	o.After(7, &regs)                // it has, and these are its registers now
//
// A Delivery is an observer whose hits become the events of a sink, with what such an
// engine has to tell of itself: step.Engine and translate/engine.Recorder embed one.
//
//	d := observe.NewDelivery(memory)
//	d.Begin(plan, images, 0, observe.DeliveryOptions{})
//	go d.Serve(ctx, sink, flush)     // until d.Finish(err)
//	d.Observer.Before(7, &regs)      // on the goroutine that lets the program go on
//
// The rules (which allocator is the outermost one, what a writer wrote, which stores are
// the allocator's own) are those of the routine inside the process, inline/hook/c, in Go:
// both engines must deliver the same events.
//
// The package knows neither processes nor kernels.
package observe
