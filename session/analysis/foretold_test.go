package analysis

import (
	"encoding/binary"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// TestForetold: a pointer that was stored before another thread was given the block there may have been stored later,
// unless its own thread did something in between that tells.
func TestForetold(t *testing.T) {
	const top, heap = 0x1000, 0x2000
	alloc := func(thread trace.ThreadID) trace.Event {
		return trace.Event{Kind: trace.KindAlloc, Addr: heap, Size: 16, Name: "malloc", Thread: thread}
	}
	event := func(k trace.Kind, thread trace.ThreadID, addr trace.Addr) trace.Event {
		return trace.Event{Kind: k, Thread: thread, Addr: addr}
	}
	store := trace.Event{Kind: trace.KindStore, PC: 9, Addr: top, Size: 8, Thread: 1, Data: binary.LittleEndian.AppendUint64(nil, heap+8)}
	locked := store
	locked.Addr, locked.Flags = top+8, trace.FlagAtomic
	const call, free, returns = trace.KindCall, trace.KindFree, trace.KindReturn
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   bool
	}{
		{"another thread's block", []trace.Event{store, alloc(2)}, true},
		{"its own", []trace.Event{store, alloc(1)}, false},
		{"none", []trace.Event{store}, false},
		{"one that is there", []trace.Event{alloc(2), store}, false},
		{"a call before", []trace.Event{event(call, 1, 0), store, alloc(2)}, true},
		{"a return between", []trace.Event{event(call, 1, 0), store, event(returns, 1, 0), alloc(2)}, false},
		{"the other thread's", []trace.Event{store, event(call, 2, 0), alloc(2)}, true},
		{"a return behind", []trace.Event{store, alloc(2), event(returns, 1, 0)}, true},
		{"a locked instruction between", []trace.Event{store, locked, alloc(2)}, false},
		{"of what was freed", []trace.Event{alloc(2), event(free, 2, heap), store, alloc(2)}, true},
		{"freed after it was stored", []trace.Event{alloc(2), store, event(free, 2, heap), alloc(2)}, false},
	} {
		a := New(&check.Spec{}, &trace.Program{Engine: trace.EngineInline}, symbol.New(nil, &symbol.Sources{}), Options{})
		for _, ev := range append([]trace.Event{{Kind: trace.KindAlloc, Addr: top, Size: 16, Name: "malloc", Thread: 1}}, c.events...) {
			if err := a.Event(&ev); err != nil {
				t.Fatal(err)
			}
		}
		now := a.Hist.Now()
		if got := a.tooEarly(a.Hist.At(now).Target(top, coded.Plain), now); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestMoments: of what is not known any more it is said that there may have been something.
func TestMoments(t *testing.T) {
	f := newForetold()
	for i := range 3*maxMoments + 1 {
		f.note(&trace.Event{Kind: trace.KindCall, Thread: 1}, 10+2*mgpp.Timestamp(i))
	}
	last := 10 + 2*mgpp.Timestamp(3*maxMoments)
	for _, c := range []struct {
		from, to mgpp.Timestamp
		want     bool
	}{{last, last + 1, true}, {last + 1, last + 9, false}, {last - 1, last, false}, {last - 1, last + 1, true}, {11, 12, true}} {
		if got := f.between(1, c.from, c.to); got != c.want {
			t.Errorf("between %d and %d: %t", c.from, c.to, got)
		}
	}
	if f.between(2, 0, last) {
		t.Error("of a thread that did nothing")
	}
}
