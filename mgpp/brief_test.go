package mgpp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/trace"
)

// TestBrief: the short form of every operation says what the long one says, and
// every write that leaves the node of its first byte is among the doubtful ones.
func TestBrief(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := New(Options{})
	var live []trace.Addr
	next := trace.Addr(0x10000)
	for range 4000 {
		ev := trace.Event{Thread: 1, PC: 0x400000 + trace.Addr(r.IntN(64)), Name: "malloc"}
		switch n := r.IntN(10); {
		case n < 2 || len(live) == 0:
			ev.Kind, ev.Addr, ev.Size = trace.KindAlloc, next, 1+r.Uint64N(100)
			ev.Stack = []trace.Addr{trace.Addr(r.IntN(3))}
			next += trace.Addr(ev.Size+8+15) &^ 15
			live = append(live, ev.Addr)
		case n == 2:
			i := r.IntN(len(live))
			ev.Kind, ev.Addr = trace.KindFree, live[i]
			if !h.Freeable(ev.Addr) {
				t.Fatalf("%#x can not be freed", uint64(ev.Addr))
			}
			live = append(live[:i], live[i+1:]...)
		case n == 3:
			i := r.IntN(len(live))
			ev.Kind, ev.Aux, ev.Addr, ev.Size = trace.KindRealloc, uint64(live[i]), live[i], 1+r.Uint64N(8) // mostly smaller
			if r.IntN(2) == 0 {
				ev.Addr = next
				next += trace.Addr(ev.Size+8+15) &^ 15
			}
			live[i] = ev.Addr
		default:
			ev.Kind, ev.Name = trace.KindStore, ""
			ev.Addr, ev.Size = live[r.IntN(len(live))]+trace.Addr(r.IntN(110)), 1<<r.IntN(4)
			if n == 9 {
				ev.Kind, ev.Name, ev.Size = trace.KindBulk, "memcpy", 1+r.Uint64N(120)
			}
			ev.Data = make([]byte, ev.Size)
		}
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
	}
	doubtful := map[Timestamp]bool{}
	for i := 0; ; i++ {
		at, ok := h.Doubtful(i)
		if !ok {
			break
		}
		doubtful[at] = true
	}
	left, writes, valued := 0, 0, 0
	var word [8]byte
	var known [8]bool
	for op := range h.Ops(1, h.Now()) {
		var b Brief
		h.Brief(op.Time, &b)
		if kind, pc := h.Statement(op.Time); kind != op.Kind || pc != op.PC {
			t.Fatalf("operation %d: %v at %#x, by Op %v at %#x", op.Time, kind, uint64(pc), op.Kind, uint64(op.PC))
		}
		want := Brief{Kind: op.Kind, Origin: b.Origin}
		switch op.Kind {
		case OpStore, OpBulk:
			writes++
			want.Addr, want.Size = op.Addr, op.Size
			want.Value, want.Valued = b.Value, b.Valued && op.Size <= 8
			if got := (Bytes{Data: word[:min(op.Size, 8)], Written: known[:min(op.Size, 8)]}); b.Valued && op.Node != 0 && h.At(op.Time).Read(op.Addr, &got) && !slices.Contains(got.Written, false) {
				valued++
				want.Value = 0
				for i, x := range got.Data {
					want.Value |= uint64(x) << (8 * i)
				}
			}
			n := h.nodeAt(op.Node, uint32(op.Time))
			if op.Node == 0 || op.Addr < n.Start || op.Addr+trace.Addr(op.Size) > n.Start+trace.Addr(n.Size) {
				if left++; !doubtful[op.Time] {
					t.Errorf("%+v is not doubtful", op)
				}
			}
		case OpMove:
			want.Old, want.Node = op.Node, op.Other
		default:
			want.Node = op.Node
		}
		if b != want {
			t.Errorf("at %d %+v, want %+v", op.Time, b, want)
		}
	}
	if valued < writes/10 {
		t.Errorf("of %d writes the values of %d are at hand", writes, valued)
	}
	if left == 0 || len(doubtful) > left+writes/100 {
		t.Errorf("%d of %d writes left their node, %d are doubtful", left, writes, len(doubtful))
	}
}
