// Package capture turns the raw hits of an engine into trace events.
//
// An engine (package bpf, or one inside the process) reports what it sees at
// each probed instruction: a store, the entry of malloc with its arguments and a
// copy of the stack, its return with a register. The [Assembler] pairs entries
// and returns per thread, hides nested allocators, joins the chunks of large
// writes, and notices frames that were left without a return:
//
//	sites := capture.Sites(plan)            // what to probe; a Stop names its site
//	a := capture.New(plan, sites, capture.CFI(find, 24).Unwind, sink)
//	err := a.Hit(&capture.Hit{Op: capture.Stop, Index: 3, Thread: 7, …})
//
// An engine that delivers stores by the hundred million gives plain ones, whose
// bytes are all known, in runs, and a sink takes them so:
//
//	a.Runs(sites, writer.WriteStores)
//	err := a.Stores(&run)
//
// Rules:
//
//   - An allocation is one event, however many allocators call each other. Name
//     is the outermost one's; PC is its return address; Stack begins with it.
//   - A free is reported at its entry, before another thread can get the block;
//     everything else at its return.
//   - Inside an allocator that the user declared, writes to live blocks and to
//     declared objects are events at once, unless they may lead to the block that
//     it will return. Those and all others are kept back until it returns. Then what
//     went to its block, or to others, follows the allocation; the rest is the
//     allocator's own list keeping and is dropped.
//   - What is freed inside of a declared allocator is freed there and then; what
//     is allocated there is an event before its own, if the block that it
//     returns is no part of it.
//   - A watched function that tail-jumps is left when its caller goes on, not at
//     the jump.
//   - A store is reported before it executes if its value is known by then. If
//     it faults, its event precedes the signal, at the same PC.
//
// The package knows neither processes nor kernels: it is tested by tables of
// hits.
package capture
