// Package target starts a program and holds it: it is the program's tracer
// (ptrace(2), seized) from exec to its last exit, so that its memory can be
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
// untraced. One goroutine, tied to one thread, makes all ptrace requests; the
// methods of Process may be called from any goroutine, handlers included.
//
// It does not set probes, read symbols for reports, or attach to a program
// that runs already.
package target
