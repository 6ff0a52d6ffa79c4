package trace_test

import (
	"testing"

	"mgtrace/trace"
)

// A fault that the program handles is a crash only if the thread does nothing more of its
// own before the program ends.
func TestFaults(t *testing.T) {
	signal := func(thread trace.ThreadID, flags trace.Flags) trace.Event {
		return trace.Event{Kind: trace.KindSignal, Thread: thread, Flags: flags, Aux: 11}
	}
	exit := func(status uint64) trace.Event { return trace.Event{Kind: trace.KindExit, Thread: 1, Aux: status} }
	prog := &trace.Program{Funcs: []trace.Func{{Name: "f"}, {Name: "exit", End: true}}}
	call := func(of uint64) trace.Event { return trace.Event{Kind: trace.KindCall, Thread: 1, Aux: of} }
	store := trace.Event{Kind: trace.KindStore, Thread: 1}
	bulk := trace.Event{Kind: trace.KindBulk, Thread: 1}
	for name, c := range map[string]struct {
		events []trace.Event
		crash  int // which of them crashes, from 1; 0: none
	}{
		"fatal":             {[]trace.Event{store, signal(1, 0), exit(11)}, 2},
		"killed":            {[]trace.Event{store, exit(9)}, 2},
		"normal":            {[]trace.Event{store, exit(1 << 8)}, 0},
		"handled, goes on":  {[]trace.Event{signal(1, trace.FlagHandled), store, exit(0)}, 0},
		"handled, and ends": {[]trace.Event{signal(1, trace.FlagHandled), exit(1 << 8)}, 2},
		"handled, reported": {[]trace.Event{signal(1, trace.FlagHandled), bulk, exit(1 << 8)}, 3},
		"another goes on":   {[]trace.Event{signal(2, trace.FlagHandled), store, exit(1 << 8)}, 3},
		"handled, and well": {[]trace.Event{signal(1, trace.FlagHandled), exit(0)}, 0},
		"handled, by exit":  {[]trace.Event{signal(1, trace.FlagHandled), call(2), exit(1 << 8)}, 3},
		"a call goes on":    {[]trace.Event{signal(1, trace.FlagHandled), call(1), exit(1 << 8)}, 0},
		"then fatal":        {[]trace.Event{signal(1, trace.FlagHandled), store, signal(1, 0), exit(11)}, 3},
	} {
		f := trace.Faults{Program: prog}
		got := 0
		for i := range c.events {
			if f.Event(&c.events[i]) && got == 0 {
				got = i + 1
			}
		}
		if got != c.crash {
			t.Errorf("%s: event %d crashes, not %d", name, got, c.crash)
		}
	}
}
