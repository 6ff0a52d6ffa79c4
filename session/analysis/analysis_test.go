package analysis

import (
	"context"
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

func TestCalls(t *testing.T) {
	prog := &trace.Program{
		Funcs: []trace.Func{{Name: "insert"}, {Name: "remove"}},
		Points: []trace.Point{
			{Kind: "inline-entry", Func: 2, File: "a.c", Line: 7}, {Kind: "inline-exit", Func: 2, File: "a.c", Line: 7},
		},
	}
	c, s := newCalls(), eval.NewSchedule(&check.Spec{}, prog)
	event := func(kind trace.Kind, thread trace.ThreadID, aux uint64, sp trace.Addr, now mgpp.Timestamp) {
		s.Event(&trace.Event{Kind: kind, Thread: thread, Aux: aux, SP: sp}, now)
		c.note(thread, s.Outermost(thread), 0, nil, now)
	}
	event(trace.KindCall, 1, 1, 80, 10)
	event(trace.KindCall, 1, 1, 70, 12) // recursion is one call
	event(trace.KindReturn, 1, 1, 70, 14)
	event(trace.KindReturn, 1, 1, 80, 20)
	event(trace.KindReturn, 1, 1, 90, 21) // entered before recording began
	event(trace.KindCall, 2, 2, 80, 30)
	event(trace.KindCall, 2, 1, 70, 31)   // is counted, as C-points are
	event(trace.KindReturn, 2, 2, 80, 40) // leaves both: longjmp
	event(trace.KindLine, 1, 1, 80, 45)   // an inlined instance
	event(trace.KindLine, 1, 2, 80, 48)
	event(trace.KindCall, 1, 1, 80, 50)
	event(trace.KindCall, 2, 2, 80, 55)
	event(trace.KindReturn, 2, 2, 80, 57) // the other is still open
	for at, want := range map[mgpp.Timestamp]string{
		10: "", 11: "call 1 of insert", 13: "call 1 of insert", 20: "call 1 of insert", 21: "",
		31: "call 1 of remove", 40: "call 1 of remove", 41: "", 46: "call 2 of remove", 49: "",
		51: "call 3 of insert", 100: "call 3 of insert",
	} {
		if got := c.at(at); got != want {
			t.Errorf("change %d: %q, want %q", at, got, want)
		}
	}
	if d := cmp.Diff([]mgpp.Timestamp{10, 20, 30, 40, 45, 48, 50}, c.between()); d != "" {
		t.Errorf("moments between calls (-want +got):\n%s", d)
	}
}

func TestGroupByCause(t *testing.T) {
	inc := func(constraint, node, other int) eval.Inconsistency {
		return eval.Inconsistency{Instance: eval.Instance{Constraint: constraint, Nodes: [4]graph.ObjID{graph.ObjID(node), graph.ObjID(other)}}}
	}
	var found []eval.Inconsistency
	for other := range 1000 { // one bad node, seen from a thousand
		found = append(found, inc(0, 1, other))
	}
	found = append(found, inc(1, 1, 0), inc(0, 2, 1))
	for node := range 100 { // a hundred bad nodes
		found = append(found, inc(2, node+1, 0))
	}
	var sizes []int
	total := 0
	for _, g := range groupByCause(found) {
		sizes = append(sizes, len(g))
		total += len(g)
	}
	want := slices.Concat([]int{1000, 1, 1}, slices.Repeat([]int{1}, maxShown), []int{100 - maxShown})
	if d := cmp.Diff(want, sizes); d != "" || total != len(found) {
		t.Errorf("%d of %d (-want +got):\n%s", total, len(found), d)
	}
}

// C-points to which the analysis does not come before it is to end are told.
func TestUnchecked(t *testing.T) {
	for _, hasty := range []bool{false, true} {
		a := New(&check.Spec{}, &trace.Program{}, symbol.New(nil, &symbol.Sources{}), Options{})
		ctx, cancel := context.WithCancel(t.Context())
		a.Heed(ctx)
		a.checkAt(&eval.CPoint{}, 0)
		if hasty {
			cancel()
		}
		a.checkAt(&eval.CPoint{}, 0)
		a.checkAt(&eval.CPoint{}, 0)
		r := &report.Report{Complete: true}
		if err := a.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		cancel()
		want := &report.Report{Complete: true}
		want.Checked.CPoints = 3
		if hasty {
			want.Complete, want.Checked.CPoints = false, 1
			want.Why = []string{"mgtrace was to end before it had checked the last 2 C-points"}
		}
		if r.Complete != want.Complete || r.Checked.CPoints != want.Checked.CPoints || !slices.Equal(r.Why, want.Why) {
			t.Errorf("in haste %v: %d checked, complete %v, %q", hasty, r.Checked.CPoints, r.Complete, r.Why)
		}
	}
}

// TestForked: a program that ended and changed nothing after a fork may have gone on in its
// child, but not where that had the same memory, as the child of posix_spawn has. One that was let go just then runs on.
func TestForked(t *testing.T) {
	for _, c := range []struct{ ended, shares, warned bool }{{false, false, false}, {true, false, true}, {true, true, false}} {
		a := New(&check.Spec{}, &trace.Program{}, symbol.New(nil, &symbol.Sources{}), Options{})
		events := []trace.Event{{Kind: trace.KindFork, Aux: 7}}
		if c.shares {
			events[0].Flags = trace.FlagShares
		}
		if c.ended {
			events = append(events, trace.Event{Kind: trace.KindExit})
		}
		for i := range events {
			if err := a.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		r := &report.Report{Complete: true}
		if err := a.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if warned := len(r.Warnings) > 0; warned != c.warned || len(r.Notes) == 0 && !warned {
			t.Errorf("%+v: the warnings are %q, the notes %q", c, r.Warnings, r.Notes)
		}
	}
}

// TestNothing: that a type was never allocated is not said of a recording in which there is nothing at all.
func TestNothing(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		a := New(&check.Spec{Types: []*check.NodeType{{Name: "node"}}}, &trace.Program{}, symbol.New(nil, &symbol.Sources{}), Options{})
		if recorded {
			if err := a.Event(&trace.Event{Kind: trace.KindExit}); err != nil {
				t.Fatal(err)
			}
		}
		r := &report.Report{Complete: recorded}
		if err := a.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if warned := len(r.Warnings) > 0; warned != recorded {
			t.Errorf("recorded %v: %q", recorded, r.Warnings)
		}
	}
}

// TestAudit compares a history with memory in which one store was not seen, one
// byte was never written, and the end can not be read.
func TestAudit(t *testing.T) {
	a := New(&check.Spec{}, &trace.Program{}, symbol.New(nil, &symbol.Sources{}), Options{})
	apply := func(ev trace.Event) {
		t.Helper()
		if err := a.Event(&ev); err != nil {
			t.Fatal(err)
		}
	}
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 16, Name: "malloc"})
	apply(trace.Event{Kind: trace.KindStore, Addr: 0x1000, Size: 8, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}})
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x2000, Size: 8, Name: "malloc"})
	apply(trace.Event{Kind: trace.KindStore, Addr: 0x2000, Size: 8, Data: make([]byte, 8)})
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x3000, Size: 8, Name: "malloc"})
	apply(trace.Event{Kind: trace.KindFree, Addr: 0x3000, Name: "free"})
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x1010, Size: 8, Name: "malloc"})
	apply(trace.Event{Kind: trace.KindBulk, Addr: 0x1010, Size: 8, Data: make([]byte, 8), Name: "pthread_cond_signal"}) // a waiting thread writes there too
	memory := []byte{1, 2, 9, 9, 5, 6, 7, 8, 42, 42, 42, 42, 42, 42, 42, 42, 7, 7, 7, 7, 7, 7, 7, 7}
	read := func(b []byte, addr trace.Addr) int {
		if addr < 0x1000 || addr >= 0x1018 {
			return 0
		}
		return copy(b, memory[addr-0x1000:])
	}
	var emitted []trace.Event
	audit := func() {
		t.Helper()
		err := a.RunAudit(read, func(ev *trace.Event) error {
			emitted = append(emitted, *ev)
			return a.Event(ev)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	audit()
	if len(emitted) != 2 || emitted[0].Addr != 0x1002 || !cmp.Equal(emitted[0].Data, []byte{9, 9}) || emitted[0].Name != trace.UnseenWrite {
		t.Errorf("emitted: %+v", emitted)
	}
	got := *a.audit
	if got.Nodes != 3 || got.Bytes != 16 || got.Unseen != 2 || got.Unreadable != 8 || len(got.Where) != 1 {
		t.Errorf("%+v", got)
	}
	if want := "0x1002 (2 bytes): the last write to it that was seen is change 2"; got.Where[0] != want {
		t.Errorf("%q, want %q", got.Where[0], want)
	}
	b := mgpp.Bytes{Data: make([]byte, 4), Written: make([]bool, 4)}
	if !a.Hist.At(a.Hist.Now()).Read(0x1000, &b) || !cmp.Equal(b.Data, []byte{1, 2, 9, 9}) {
		t.Errorf("the history now has %v", b.Data)
	}
	audit() // what was brought up to date is not found again
	if len(emitted) != 2 || a.audit.Unseen != 2 || len(a.TrailerAudit.Unseen) != 1 {
		t.Errorf("again: %d events, %+v", len(emitted), a.audit)
	}
}

// Calls during which nothing was done leave no more than their times.
func TestIdleCalls(t *testing.T) {
	c := newCalls()
	call := func(n int, from, to mgpp.Timestamp) {
		c.note(1, &eval.Activation{Function: "f", Thread: 1, Call: n}, 0, []uint64{uint64(n)}, from)
		c.note(1, nil, 0, nil, to)
	}
	call(1, 5, 5)
	call(2, 5, 5)
	call(3, 5, 10)
	call(4, 12, 12)
	call(5, 14, 20)
	call(6, 20, 20)
	call(7, 22, 22)
	c.note(2, &eval.Activation{Function: "g", Thread: 2, Call: 1}, 0, nil, 30)
	call(8, 31, 31) // the other is still open
	if c.log.len() != 3 {
		t.Errorf("%d calls are kept, want 3", c.log.len())
	}
	if d := cmp.Diff([]mgpp.Timestamp{5, 10, 12, 14, 20, 22, 30}, c.between()); d != "" {
		t.Errorf("moments between calls (-want +got):\n%s", d)
	}
	for at, want := range map[mgpp.Timestamp]string{5: "", 6: "call 3 of f", 12: "", 15: "call 5 of f", 20: "call 5 of f", 21: "", 31: "call 1 of g"} {
		if got := c.at(at); got != want {
			t.Errorf("change %d: %q, want %q", at, got, want)
		}
	}
	if d := cmp.Diff([]uint64{5}, c.argsOf(15)); d != "" {
		t.Error(d)
	}
}

// Of two functions of one name it is known which was called.
func TestCallsOfOneName(t *testing.T) {
	c := newCalls()
	for i, entry := range []trace.Addr{0x1000, 0x2000, 0x2000, 0x1000, 0} {
		from := mgpp.Timestamp(10 * i)
		c.note(1, &eval.Activation{Function: "Node::~Node()", Thread: 1, Call: i + 1}, entry, []uint64{1}, from)
		c.note(1, nil, 0, nil, from+5)
		if k, ok := c.during(from + 5); !ok || k.begins != entry || k.Function != "Node::~Node()" {
			t.Errorf("call %d is of %s at %#x, want %#x", i+1, k.Function, k.begins, entry)
		}
	}
	if n := len(c.log.funcs); n != 3 {
		t.Errorf("%d functions, want 3", n)
	}
}
