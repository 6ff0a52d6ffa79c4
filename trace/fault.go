package trace

// Faults follows the faults of a run, and tells when the program crashes. One that it
// handles is none, unless it ends without going on, and as one that has failed: a handler that reports, and ends the
// program, is where it crashed. Who calls exit does not go on.
type Faults struct {
	Program *Program // whose functions are known; nil: none is
	handled ThreadID // a fault that the program handled, after which it has not gone on; 0: none
}

// Event takes the next event, and reports whether the program crashes by it.
func (f *Faults) Event(ev *Event) (crash bool) {
	switch ev.Kind {
	case KindStore, KindCall, KindReturn, KindLine: // not a bulk write: the report of a sanitizer is not its own code
		if !f.Program.Exits(ev) {
			f.GoesOn(ev.Thread)
		}
	case KindSignal:
		if ev.Flags&FlagHandled == 0 {
			return true
		}
		f.handled = ev.Thread
	case KindExit:
		return signalled(ev.Aux) || ev.Aux != 0 && f.Handling()
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

// Stores notes that a thread executes a run of stores.
func (f *Faults) Stores(run *Stores) {
	if len(run.Recs) > run.Calls { // else a library has written, as for a sanitizer's report
		f.GoesOn(run.Thread)
	}
}

// Handling reports whether the program has handled a fault, and not gone on since.
func (f *Faults) Handling() bool { return f.handled != 0 }

// signalled reports whether a wait status is that of a process that a signal
// ended (wait(2), WIFSIGNALED).
func signalled(status uint64) bool { return status&0x7f != 0 && status&0x7f != 0x7f }
