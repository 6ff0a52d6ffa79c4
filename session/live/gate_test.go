package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/session/contents"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

func TestParseAfter(t *testing.T) {
	for _, c := range []struct {
		from, text, want string // want "": refused
	}{
		{"f", "500", "--from f --after 500"},
		{"", "10s", "--after 10s"},
		{"f", "1m30s", "--from f --after 1m30s"},
		{"", "500", ""}, {"", "-1s", ""}, {"f", "-3", ""}, {"f", "many", ""},
	} {
		w := Window{From: c.from}
		err := w.ParseAfter(c.text)
		if (err == nil) != (c.want != "") || err == nil && w.String() != c.want {
			t.Errorf("%q: %v, %v", c.text, w.String(), err)
		}
	}
}

// heapEvents makes a run of allocators and writers over a small heap. Blocks may
// be mapped away, and a free may be missed: what was there is not used any more.
func heapEvents(r *rand.Rand, n int, f func(*trace.Event)) {
	const lo, hi = 0x10000, 0x18000
	type extent struct{ lo, hi trace.Addr }
	var live []extent
	// gone: what is there now is something else.
	gone := func(x extent, whole bool) {
		live = slices.DeleteFunc(live, func(l extent) bool {
			if whole {
				return x.lo <= l.lo && l.hi <= x.hi
			}
			return l.lo < x.hi && x.lo < l.hi
		})
	}
	for i := range n {
		ev := trace.Event{Thread: 1, Wall: int64(i), PC: 1, Addr: trace.Addr(lo + 16*r.Uint64N((hi-lo)/16)), Size: 1 + r.Uint64N(200), Name: "malloc", Stack: []trace.Addr{trace.Addr(1 + r.Uint64N(4))}}
		pick := -1
		if len(live) > 0 {
			pick = r.IntN(len(live))
		}
		switch k := r.IntN(10); {
		case k < 3 || pick < 0:
			ev.Kind = trace.KindAlloc
			if r.IntN(3) == 0 {
				ev.Flags = trace.FlagZeroed
			}
		case k == 3:
			ev.Kind, ev.Addr = trace.KindFree, live[pick].lo
			gone(live[pick], false)
		case k == 4:
			ev.Kind, ev.Aux, ev.Name = trace.KindRealloc, uint64(live[pick].lo), "realloc"
			if r.IntN(2) == 0 {
				ev.Addr = live[pick].lo
			}
			gone(live[pick], false)
		case k == 5 && r.IntN(8) == 0:
			ev.Kind, ev.Size = trace.KindUnmap, r.Uint64N(0x2000)
			gone(extent{ev.Addr, ev.Addr + trace.Addr(ev.Size)}, true)
		case k == 6:
			ev.Kind, ev.Name = trace.KindUnread, "someone"
		default:
			ev.Kind, ev.Addr, ev.Name = trace.KindBulk, live[pick].lo+trace.Addr(r.Uint64N(64)), "memcpy"
			ev.Data = make([]byte, ev.Size)
			for i := range ev.Data {
				ev.Data[i] = byte(r.Uint64())
			}
		}
		if ev.Kind == trace.KindAlloc || ev.Kind == trace.KindRealloc {
			x := extent{ev.Addr, ev.Addr + trace.Addr(ev.Size)}
			gone(x, false)
			live = append(live, x)
		}
		f(&ev)
	}
}

// liveBlocks is the blocks that live at the end of a history, and their bytes.
func liveBlocks(h *mgpp.History) map[string]string {
	out := map[string]string{}
	now := h.Now()
	for id := range h.Live(now) {
		n := h.Node(id)
		b := mgpp.Bytes{Data: make([]byte, n.Size), Written: make([]bool, n.Size)}
		if !h.At(now).Read(n.Start, &b) {
			continue
		}
		text := ""
		for i, d := range b.Data {
			if b.Written[i] {
				text += fmt.Sprintf("%02x", d)
			} else {
				text += "--"
			}
		}
		out[fmt.Sprintf("%#x+%d %v", uint64(n.Start), n.Size, n.Stack)] = text
	}
	return out
}

// TestGateTells: a history that begins late has the blocks and bytes of one that
// began with the program.
func TestGateTells(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		whole, part := mgpp.New(mgpp.Options{}), mgpp.New(mgpp.Options{})
		table, bytes := contents.NewBlocks(&trace.Program{}), contents.New()
		apply := func(h *mgpp.History, ev *trace.Event) {
			if _, err := h.Apply(ev); err != nil {
				t.Fatal(err)
			}
		}
		heapEvents(r, 300, func(ev *trace.Event) {
			apply(whole, ev)
			bytes.Event(ev, table.Size(trace.Addr(ev.Aux)))
			table.Event(ev)
		})
		table.EachBlock(func(ev *trace.Event) bool { apply(part, ev); return true })
		for _, a := range table.Sorted() {
			if err := bytes.Images(uint64(a), table.Size(a), func(ev *trace.Event) error { apply(part, ev); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(liveBlocks(whole), liveBlocks(part)); d != "" {
			t.Fatalf("seed %d (-whole +part):\n%s", seed, d)
		}
		if n := len(part.Anomalies()); n > 0 {
			t.Fatalf("seed %d: %+v", seed, part.Anomalies())
		}
	}
}

// TestOpenCalls: those that have not returned are told, inlined ones too.
func TestOpenCalls(t *testing.T) {
	x := contents.NewBlocks(&trace.Program{Points: []trace.Point{{Kind: "inline-entry", Func: 3}, {Kind: "inline-exit", Func: 3}}})
	for _, ev := range []trace.Event{
		{Kind: trace.KindCall, Thread: 2, Aux: 1, SP: 900},
		{Kind: trace.KindCall, Thread: 1, Aux: 1, SP: 1000, Args: []uint64{7}},
		{Kind: trace.KindCall, Thread: 1, Aux: 2, SP: 980},
		{Kind: trace.KindLine, Thread: 1, Aux: 1, SP: 970},
		{Kind: trace.KindCall, Thread: 1, Aux: 2, SP: 960},
		{Kind: trace.KindReturn, Thread: 1, Aux: 2, SP: 960},
		{Kind: trace.KindLine, Thread: 2, Aux: 1, SP: 890},
		{Kind: trace.KindLine, Thread: 2, Aux: 2, SP: 890},
		{Kind: trace.KindCall, Thread: 3, Aux: 1, SP: 800},
		{Kind: trace.KindThreadExit, Thread: 3},
		{Kind: trace.KindReturn, Thread: 2, Aux: 2, SP: 1}, // its call was not seen
	} {
		x.Event(&ev)
	}
	var got []string
	x.EachCall(func(ev *trace.Event) bool {
		got = append(got, fmt.Sprint(ev.Kind, " ", ev.Thread, ev.Aux, ev.SP, ev.Args, ev.Flags))
		return true
	})
	want := []string{"call 1 1 1000 [7] before", "call 1 2 980 [] before", "line 1 1 970 [] before", "call 2 1 900 [] before"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
