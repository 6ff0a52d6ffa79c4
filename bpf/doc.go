// Package bpf is the kernel's view of a process: it executes a capture plan
// with uprobes and eBPF, on any process that one may probe.
//
//	e, err := bpf.Attach(plan, pid, bpf.Options{Unwind: …}) // pid is stopped
//	if err != nil { … }                                     // ErrNotSupported, ErrPermission
//	defer e.Close()
//	… let it run …
//	err = e.Run(ctx, func(ev *trace.Event) error { … })
//
// All sites of a file are one uprobe_multi link with the process's PID; one
// program serves them, told by the link's cookie what to do. Records go through
// one ring buffer, whose order is the order of the run; package capture makes
// events of them. When the ring is half full the target is held until it is
// drained: nothing is lost. docs/design/bpf.md tells the rest.
//
// The package neither starts nor stops processes (see package target) and does
// not choose what to probe (see package probe). Of KindGlobal and KindImage it
// knows nothing: who holds the process reads its memory.
//
// The programs in kernel/ are compiled by go generate (make generate); the
// object and its Go wrapper are checked in, and a test proves them fresh.
package bpf
