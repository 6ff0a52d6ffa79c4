package live

import "mgtrace/trace"

// Cease ends the history where it is: what comes from now on is not recorded, but for how the
// program ends, which goes on as it was. why is told in the report. Of several calls the first
// counts. It may be called by any goroutine, while the program runs.
func (l *Program) Cease(why string) { l.ceasing.CompareAndSwap(nil, &why) }

// ceased reports whether an event is behind the end of the history, and ends that if it is to.
func (in *intake) ceased(thread trace.ThreadID, wall int64) (bool, error) {
	why := in.ceasing.Load()
	if why == nil || in.gate != nil && in.gate.state == gateOver {
		return false, nil
	}
	if in.over {
		return true, nil
	}
	in.over = true
	return true, in.cease(thread, wall, *why)
}

// cease tells everybody that the history ends.
func (in *intake) cease(thread trace.ThreadID, wall int64, why string) error {
	if err := in.deliver(&trace.Event{Kind: trace.KindCease, Thread: thread, Wall: wall, Name: why}); err != nil {
		return err
	}
	if err := in.full.cease(); err != nil {
		return err
	}
	in.lock()
	in.onStop = nil // memory at the end is not that of the history's end
	in.unlock()
	return nil
}
