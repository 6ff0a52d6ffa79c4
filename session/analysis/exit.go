package analysis

import (
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/constraints/eval"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// Signalled notes a signal that ends the program, or that it handles, with its place.
func (a *Analysis) Signalled(ev *trace.Event) {
	e := &report.Exit{Signal: unix.SignalName(syscall.Signal(ev.Aux))}
	a.died = 0
	pc := ev.PC
	f, _, _ := a.Symbols.Where(ev.PC)
	if f.File == "" && len(ev.Stack) > 0 {
		for _, ret := range ev.Stack {
			if f, _, _ = a.Symbols.Where(ret - 1); f.File != "" {
				pc = ret - 1
				break
			}
		}
	}
	if f.File != "" {
		e.File, e.Path, e.Line = symbol.Short(f.File), f.File, f.Line
		switch syscall.Signal(ev.Aux) {
		case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL:
			if im, ok := a.Symbols.Image(pc); ok && im.Traced {
				a.died, a.diedIn = pc, ev.Thread
				a.dying = a.calls.current(ev.Thread)
			}
		}
	}
	e.Where = a.Symbols.Address(ev.PC)
	a.signal = e
	if ev.Flags&trace.FlagHandled == 0 {
		a.Exit = e
	}
}

// Ended notes the exit status.
func (a *Analysis) Ended(ev *trace.Event) {
	ws := syscall.WaitStatus(ev.Aux)
	switch {
	case ws.Signaled() && (a.Exit == nil || a.Exit.Signal == ""):
		a.Exit = &report.Exit{Signal: unix.SignalName(ws.Signal())}
	case ws.Exited():
		code := ws.ExitStatus()
		a.Exit = &report.Exit{Status: &code}
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
