// Package target starts a program, or attaches to a process, and holds it: it is
// the tracer (ptrace(2), seized) to the last exit, so that the memory can be
// read at a crash and at the end while it is still there.
//
//	p, err := target.Launch(ctx, target.Command{Path: "./prog", Args: args})
//	if err != nil { … }              // target.ErrScript, target.ErrPrivileged, …
//	defer p.Close()                  // nothing is left behind
//	err = p.RunToLoaded(ctx)         // all libraries mapped and relocated
//	maps, err := p.Maps()            // plan and attach the probes here
//	status, err := p.Run(ctx, target.Handlers{
//		OnCrash: func(c target.Crash) { … p.ReadMemory(buf, addr) … },
//		OnExit:  func(e target.Exit) { … },
//	})
//
// The program keeps its terminal, its signals, its files and its place in the
// shell's job; docs/design/target.md tells how. Processes that it forks run on
// untraced; with an Interceptor, those that share its memory (vfork) are traced
// until they execute a program. One goroutine, tied to one thread, makes all ptrace requests; the
// methods of Process may be called from any goroutine, handlers included.
//
// For an engine that changes the program there is more: an Interceptor is told
// of each signal, thread and child before it takes effect, Syscall and Syscalls
// have the stopped process make system calls, WriteMemory writes its text,
// Userfault has touches of missing pages told, and Attach begins with a process
// that runs, which Detach lets go as if nothing had been.
//
// It does not set probes or read symbols for reports.
package target
