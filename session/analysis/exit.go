package analysis

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/constraints/eval"
	"mgtrace/objfile"
	"mgtrace/replay"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// death is how a program died that brought it about itself.
type death struct {
	pc      trace.Addr     // the program's instruction that faulted, or the call of a library in which one did; 0: it did not die so
	at      trace.Addr     // the statement of the program's own in which that was
	fault   trace.Addr     // where no memory was, 0 if that is not known
	calls   []trace.Addr   // the return addresses of the calls around that, innermost first; none: they are not known
	thread  trace.ThreadID // whose it was
	during  call           // the watched function's
	aborted bool           // it ended itself (assert, abort)
	divides bool           // by a number by which it divided
	regs    objfile.Regs   // what the registers held at pc, or in the library; none known: that is not recorded
	flags   uint64
	stack   replay.Stopped // what lay on the stack
}

// Signalled notes a signal that ends the program, or that it handles, with its place.
func (a *Analysis) Signalled(ev *trace.Event) {
	if a.Exit != nil && a.Exit.Held != "" {
		return // mgtrace killed it
	}
	signal := syscall.Signal(ev.Aux)
	if signal == unix.SIGABRT && (a.caught() || a.handling(ev)) {
		a.Exit = &report.Exit{Signal: unix.SignalName(signal)}
		a.handled()
		return
	}
	e := &report.Exit{Signal: unix.SignalName(signal)}
	a.died = death{thread: ev.Thread}
	a.died.held(ev)
	if f, at, calls := a.whereDied(ev); f.File != "" {
		e.File, e.Path, e.Line = symbol.Short(f.File), f.File, f.Line
		switch signal {
		case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT:
			if a.traced(at) {
				d := &a.died
				d.pc, d.at, d.fault, d.calls, d.during, d.aborted = at, at, ev.Addr, calls, a.calls.current(ev.Thread), signal == unix.SIGABRT
				if d.divides = signal == unix.SIGFPE; d.divides {
					d.fault = 0 // the instruction's own address
				}
				if a.traced(ev.PC) {
					d.pc = ev.PC
				}
				if d.aborted && !a.Checker.Aborted(ev.Thread, at) {
					a.mayRefuse(ev.Thread)
				}
			}
		}
	}
	e.Where = a.Symbols.Address(ev.PC)
	a.signal = e
	if ev.Flags&trace.FlagHandled == 0 {
		a.Exit = e
	}
}

// traced: an address is one of a file whose stores are recorded.
func (a *Analysis) traced(pc trace.Addr) bool {
	im, ok := a.Symbols.Image(pc)
	return ok && im.Traced
}

// whereDied is the statement of the program's own in which a signal met it, the innermost, and the return addresses of the calls
// around that: mostly it is the instruction's, but a function of a library may have been called there. Without one it is the
// innermost of which a line is known.
func (a *Analysis) whereDied(ev *trace.Event) (f objfile.Frame, at trace.Addr, calls []trace.Addr) {
	stack := append([]trace.Addr{ev.PC + 1}, ev.Stack...)
	own := a.Symbols.Own(stack)
	named := func(ret trace.Addr) bool {
		f, _, _ := a.Symbols.Where(ret - 1)
		return f.File != ""
	}
	i := slices.Index(stack, own+1)
	if i < 0 || a.Symbols.Library(own) || !named(own+1) {
		i = slices.IndexFunc(stack, named)
	}
	if i < 0 {
		return f, 0, nil
	}
	f, _, _ = a.Symbols.Where(stack[i] - 1)
	return f, stack[i] - 1, stack[i+1:]
}

// calledIn cuts the calls around a statement off behind that of a function in which it is.
func (a *Analysis) calledIn(function string, at trace.Addr, calls []trace.Addr) []trace.Addr {
	entry, _ := a.Symbols.Entry(function)
	im, known := a.Symbols.Image(entry)
	for n := 0; known && n <= len(calls); n++ {
		if im.Lo <= at && at < im.Hi { // of other images nothing is asked: the C library's debug information takes 20 ms to read
			if begin, ok := a.Symbols.Begin(at); ok && begin == entry {
				return calls[:n]
			}
		}
		if n < len(calls) {
			at = calls[n] - 1
		}
	}
	return calls
}

// Ended notes the exit status.
func (a *Analysis) Ended(ev *trace.Event) {
	ws := syscall.WaitStatus(ev.Aux)
	switch {
	case a.Exit != nil && a.Exit.Held != "":
	case ws.Signaled() && (a.Exit == nil || a.Exit.Signal == ""):
		a.Exit = &report.Exit{Signal: unix.SignalName(ws.Signal())}
	case ws.Exited():
		code := ws.ExitStatus()
		a.Exit = &report.Exit{Status: &code}
		if code != 0 && a.caught() {
			a.handled()
		}
	}
}

// caught: the program has handled a fault of its own, and done nothing since.
func (a *Analysis) caught() bool { return a.Schedule.Caught() && a.died.pc != 0 && !a.died.aborted }

// handling: a signal came in the handler of a fault: the calls around it lead to where that was. Whatever the handler has done, it has not
// gone on.
func (a *Analysis) handling(ev *trace.Event) bool {
	return a.died.pc != 0 && !a.died.aborted && a.died.thread == ev.Thread && slices.Contains(ev.Stack, a.died.pc)
}

// handled: the program has ended after that.
func (a *Analysis) handled() {
	was := a.signal
	a.Exit.Handled, a.Exit.File, a.Exit.Path, a.Exit.Line, a.Exit.Where = was.Signal, was.File, was.Path, was.Line, was.Where
	a.signal = a.Exit
}

// heldAt notes where a thread was when mgtrace ended the program.
func (a *Analysis) heldAt(ev *trace.Event) {
	a.HeldExit(ev.Name)
	a.died = death{} // of no fault that it handled before
	f, at, calls := a.whereDied(ev)
	if f.File == "" {
		return
	}
	a.keepInHand(ev, at)
	s := a.Statement(at, append([]trace.Addr{at + 1}, calls...))
	a.Exit.Threads = append(a.Exit.Threads, report.Thread{Thread: uint32(ev.Thread), Place: report.Place{File: s.File, Line: s.Line, Function: s.Function, Text: s.Source}, Callers: s.Callers})
	if len(a.Exit.Threads) == 1 || !a.running && at == ev.PC {
		a.Exit.File, a.Exit.Path, a.Exit.Line = s.File, s.Path, s.Line
		a.signal, a.running = a.Exit, at == ev.PC
	}
}

// HeldExit notes why mgtrace ended the program.
func (a *Analysis) HeldExit(why string) {
	if a.Exit == nil {
		a.Exit = &report.Exit{}
	}
	a.Exit.Held = why
}

// Crashed is the one C-point of a core file; signal 0: it was made of a program that lived.
func (a *Analysis) Crashed(signal syscall.Signal) {
	if signal != 0 {
		a.Exit = &report.Exit{Signal: unix.SignalName(signal)}
	}
	a.checkAt(&eval.CPoint{Kind: "crash"}, 0)
}

// ListUnprobed names the stores that were not captured.
func (a *Analysis) ListUnprobed(r *report.Report) {
	for _, u := range a.prog.Unprobed {
		f, _, _ := a.Symbols.Where(u.PC)
		name := f.Function
		if f.File == "" {
			name = a.Symbols.Address(u.PC)
		}
		r.Unprobed = append(r.Unprobed, report.Place{File: symbol.Short(f.File), Line: f.Line, Function: name, Text: u.Instruction + ": " + u.Reason})
	}
}
