// Package flow has the instructions that a program executed and the addresses
// that they touched, in one global order of all threads, and the file format
// of that.
//
// Code is told once, as blocks; an execution of a block names it and gives the
// addresses of its memory accesses, in order:
//
//	w := flow.NewWriter(file, flow.Head{Trace: id})
//	b, err := w.Block(flow.Block{Start: pc, Code: code, Insts: insts, Accesses: accesses})
//	at, err := w.Exec(thread, b, 0, len(insts), addrs)     // at: the instant of its first instruction
//	err = w.Other(&flow.Record{Kind: flow.Define, …})       // what the kernel wrote
//	err = w.Finish(flow.Trailer{Complete: true})
//
// Reading:
//
//	r, err := flow.Open(path)
//	err = r.Scan(from, func(rec *flow.Record) error { … })  // rec.Kind == flow.Exec: r.Block(rec.Block)
//	err = r.ReadChunk(i, &c)                                 // any part by itself, backwards too
//
// An instant ([trace.Instant]) is the number of an executed instruction, from 1.
// Every event of the trace beside has the instant of its instruction.
//
// The package interprets no instructions: which registers one reads or writes is
// asked of package x86. It knows neither processes nor engines.
package flow
