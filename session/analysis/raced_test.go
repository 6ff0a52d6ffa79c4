package analysis

import (
	"encoding/binary"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// TestRaced: of two locked instructions that wrote one word it is said that they may have raced, unless something
// between them tells their order, or the engine does.
func TestRaced(t *testing.T) {
	const top, heap = 0x1000, 0x2000
	store := func(thread trace.ThreadID, flags trace.Flags) trace.Event {
		return trace.Event{Kind: trace.KindStore, PC: 9, Addr: top, Size: 8, Thread: thread, Flags: flags, Data: binary.LittleEndian.AppendUint64(nil, heap)}
	}
	alloc := func(thread trace.ThreadID) trace.Event {
		return trace.Event{Kind: trace.KindAlloc, Addr: heap, Size: 16, Name: "malloc", Thread: thread}
	}
	const cas, tells = trace.FlagAtomic, trace.FlagAtomic | trace.FlagExchange
	for _, c := range []struct {
		name   string
		engine string
		events []trace.Event
		want   int
	}{
		{"two threads", trace.EngineInline, []trace.Event{alloc(2), store(1, cas), store(2, cas)}, 1},
		{"what they found tells", trace.EngineInline, []trace.Event{alloc(2), store(1, tells), store(2, tells)}, 0},
		{"what one found", trace.EngineInline, []trace.Event{alloc(2), store(1, tells), store(2, cas)}, 1},
		{"the kernel's probes do not ask", trace.EngineKernel, []trace.Event{alloc(2), store(1, tells), store(2, tells)}, 1},
		{"one thread", trace.EngineInline, []trace.Event{alloc(2), store(2, cas), store(2, cas)}, 0},
		{"an allocation between", trace.EngineInline, []trace.Event{store(1, cas), alloc(2), store(2, cas)}, 0},
		{"one of the other thread", trace.EngineInline, []trace.Event{store(1, cas), alloc(1), store(2, cas)}, 1},
		{"under a lock", trace.EngineInline, []trace.Event{store(1, 0), store(2, 0)}, 0},
		{"one thread at a time", trace.EngineTranslate, []trace.Event{alloc(2), store(1, cas), store(2, cas)}, 0},
	} {
		a := New(&check.Spec{}, &trace.Program{Engine: c.engine}, symbol.New(nil, &symbol.Sources{}), Options{})
		for _, ev := range append([]trace.Event{{Kind: trace.KindAlloc, Addr: top, Size: 8, Name: "malloc", Thread: 1}}, c.events...) {
			if err := a.Event(&ev); err != nil {
				t.Fatal(err)
			}
		}
		last := a.Hist.Now()
		if op := a.Hist.Op(last); op.Kind != mgpp.OpStore {
			t.Fatalf("%s: the last operation is %v", c.name, op)
		}
		r := &faultloc.Result{Suspects: []faultloc.Suspect{{Operations: []mgpp.Timestamp{last}}}}
		if got := a.racedNote(r); len(got) != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
