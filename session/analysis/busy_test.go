package analysis

import (
	"encoding/binary"
	"fmt"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/session/symbol"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

// allOne types every block.
type allOne struct{ *check.NodeType }

func (y allOne) TypeOf(mgpp.Node) (*check.NodeType, int64, string) { return y.NodeType, 0, "" }

// TestBusy: what a thread may be in the middle of is not judged at another one's C-points; all else is.
func TestBusy(t *testing.T) {
	const mine, theirs = 0x1000, 0x2000 // pairs
	event := func(k trace.Kind, thread trace.ThreadID, addr trace.Addr) trace.Event {
		ev := trace.Event{Kind: k, Thread: thread, SP: trace.Addr(thread) << 20, Aux: 1}
		if addr != 0 {
			ev.Addr, ev.Size, ev.Name, ev.Aux = addr, 24, "malloc", 0
		}
		return ev
	}
	store := func(thread trace.ThreadID, addr trace.Addr, v uint64) trace.Event {
		return trace.Event{Kind: trace.KindStore, Thread: thread, PC: 9, Addr: addr, Size: 8, Data: binary.LittleEndian.AppendUint64(nil, v)}
	}
	const alloc, call, returns, start, ends = trace.KindAlloc, trace.KindCall, trace.KindReturn, trace.KindThreadStart, trace.KindThreadExit
	whole := func(thread trace.ThreadID, addr trace.Addr, v uint64) []trace.Event {
		return []trace.Event{event(call, thread, 0), store(thread, addr, v), store(thread, addr+8, v), event(returns, thread, 0)}
	}
	half := func(thread trace.ThreadID, addr trace.Addr, v uint64) []trace.Event {
		return []trace.Event{event(call, thread, 0), store(thread, addr, v), event(returns, thread, 0)}
	}
	cat := func(lists ...[]trace.Event) (out []trace.Event) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	one := func(ev trace.Event) []trace.Event { return []trace.Event{ev} }
	others := cat(whole(2, theirs, 3), one(event(call, 2, 0)), one(store(2, theirs, 4)))              // and there it is
	outside := cat(whole(2, theirs, 3), one(store(2, theirs, 4)))                                     // in code that nobody watches
	taken := cat(one(store(1, theirs+16, mine)), one(event(call, 2, 0)), one(store(2, theirs+16, 0))) // and this one's pair is in its hand
	for _, c := range []struct {
		name    string
		events  []trace.Event
		want    []string // the instances, and the last change before which they were whole
		in      int      // C-points that were judged in part
		checked int
	}{
		{"another thread is in the middle", cat(others, whole(1, mine, 5)), nil, 2, 5},
		{"and this one has broken what is its own", cat(others, half(1, mine, 5)), []string{"1: 9"}, 2, 5},
		{"which both have changed", cat(others, half(1, theirs, 5), one(store(2, theirs+8, 5)), one(event(returns, 2, 0))), nil, 2, 6},
		{"and is found when the other one has returned", cat(others, half(1, theirs, 5), one(event(returns, 2, 0))), []string{"2: 8"}, 2, 6},
		{"another thread has the node in hand", cat(taken, half(1, mine, 5)), nil, 1, 3},
		{"and puts it away", cat(taken, half(1, mine, 5), one(event(returns, 2, 0))), []string{"1: 8"}, 1, 4},
		{"another thread is in the middle elsewhere", cat(outside, whole(1, mine, 5)), nil, 2, 4},
		{"and this thread has changed it since", cat(outside, half(1, theirs, 5)), []string{"2: 8"}, 1, 4},
		{"and has ended", cat(outside, one(event(ends, 2, 0)), whole(1, mine, 5)), []string{"2: 8"}, 0, 3},
		{"or has gone on for long", cat(outside, whole(1, mine, 5), make([]trace.Event, patience), whole(1, mine, 6)), []string{"2: 8"}, 2, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := graphtest.Spec(t, "struct pair { long a, b; struct pair *other; }; type pair; cpoint work; pair P; P.a == P.b;", graphtest.NewProgram())
			a := New(spec, &trace.Program{Funcs: []trace.Func{{Name: "work"}}}, symbol.New(nil, &symbol.Sources{}), Options{Typing: allOne{spec.Types[0]}})
			first := []trace.Event{
				event(alloc, 1, mine), store(1, mine, 1), store(1, mine+8, 1),
				event(alloc, 1, theirs), store(1, theirs, 1), store(1, theirs+8, 1), event(start, 2, 0),
			}
			for _, ev := range append(first, c.events...) {
				if ev.Kind == 0 { // something that has nothing to do with it
					ev = store(2, 0x8000, 1)
				}
				if err := a.Event(&ev); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, p := range a.points {
				for _, inc := range p.found {
					got = append(got, fmt.Sprintf("%d: %d", inc.Instance.Nodes[0], p.healthy))
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if a.busy != c.in || a.checked != c.checked {
				t.Errorf("%d C-points checked, %d in part; want %d, %d", a.checked, a.busy, c.checked, c.in)
			}
		})
	}
}

// TestBusyBefore: what a thread was in the middle of when recording began, or when the history that was asked for does, was changed before
// that, and is not judged until it has returned; what nobody was at is.
func TestBusyBefore(t *testing.T) {
	for _, c := range []struct {
		name     string
		attached *trace.Before
		open     bool
	}{
		{"in the middle", &trace.Before{Blocks: 2, Bytes: 48}, true},
		{"by nobody", &trace.Before{Blocks: 2, Bytes: 48}, false},
		{"in the middle, from here", nil, true},
		{"by nobody, from here", nil, false},
	} {
		const mine, theirs = 0x1000, 0x2000
		spec := graphtest.Spec(t, "struct pair { long a, b; struct pair *other; }; type pair; cpoint work; pair P; P.a == P.b;", graphtest.NewProgram())
		a := New(spec, &trace.Program{Funcs: []trace.Func{{Name: "work"}}, Before: c.attached}, symbol.New(nil, &symbol.Sources{}), Options{Typing: allOne{spec.Types[0]}})
		events := []trace.Event{}
		for at, b := range map[trace.Addr]byte{mine: 1, theirs: 2} {
			bytes := make([]byte, 24)
			bytes[0], bytes[8] = 1, b
			events = append(events, trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: at, Size: 24, Name: "malloc"},
				trace.Event{Kind: trace.KindImage, Flags: trace.FlagBefore, Addr: at, Size: 24, Data: bytes})
		}
		if c.open {
			events = append(events, trace.Event{Kind: trace.KindCall, Flags: trace.FlagBefore, Thread: 2, SP: 2 << 20, Aux: 1})
		}
		if c.attached == nil {
			events = append(events, trace.Event{Kind: trace.KindBegin, Wall: -1, Size: 1})
		}
		events = append(events, trace.Event{Kind: trace.KindCall, Thread: 1, SP: 1 << 20, Aux: 1}, trace.Event{Kind: trace.KindReturn, Thread: 1, SP: 1 << 20, Aux: 1})
		for i := range events {
			if err := a.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		if found := len(a.points) > 0; found == c.open {
			t.Errorf("%s: found %v", c.name, found)
		}
	}
}
