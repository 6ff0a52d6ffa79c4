package trace

// Faults follows the faults of a run, and tells when the program crashes. One that it
// handles is none, unless it ends without going on: a handler that reports, and ends the
// program, is where it crashed.
type Faults struct {
	handled ThreadID // a fault that the program handled, after which it has not gone on; 0: none
}

// Event takes the next event, and reports whether the program crashes by it.
func (f *Faults) Event(ev *Event) (crash bool) {
	switch ev.Kind {
	case KindStore, KindCall, KindReturn, KindLine: // not a bulk write: the report of a sanitizer is not its own code
		f.GoesOn(ev.Thread)
	case KindSignal:
		if ev.Flags&FlagHandled == 0 {
			return true
		}
		f.handled = ev.Thread
	case KindExit:
		return signalled(ev.Aux) || f.Handling()
	}
	return false
}

// GoesOn notes that a thread executes the program's instructions: after a fault
// that the program handled it is over.
func (f *Faults) GoesOn(id ThreadID) {
	if id == f.handled {
		f.handled = 0
	}
}

// Handling reports whether the program has handled a fault, and not gone on since.
func (f *Faults) Handling() bool { return f.handled != 0 }

// signalled reports whether a wait status is that of a process that a signal
// ended (wait(2), WIFSIGNALED).
func signalled(status uint64) bool { return status&0x7f != 0 && status&0x7f != 0x7f }
