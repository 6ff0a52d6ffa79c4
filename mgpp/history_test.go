package mgpp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// build applies events in the text form.
func build(t testing.TB, text string) *History {
	t.Helper()
	h := New(Options{})
	feed(t, h, text)
	return h
}

func feed(t testing.TB, h *History, text string) {
	t.Helper()
	events, err := trace.ReadText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if _, err := h.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFigure31 is figures 3.1 and 3.2 of the thesis: a list of two nodes is
// made and broken. pc is the line of the statement.
func TestFigure31(t *testing.T) {
	text, err := os.ReadFile("testdata/figure3_1.txt")
	if err != nil {
		t.Fatal(err)
	}
	h := build(t, string(text))
	const node, next = 0x1000, 0x1000
	const newNode, newNext = 0x1020, 0x1020
	edge := func(v View, cell trace.Addr) string {
		switch x := v.Target(cell, coded.Plain); x.State {
		case Points:
			return fmt.Sprintf("(%d):%d->%d", x.Since, h.Op(x.Since).PC, x.Node)
		case Null:
			return fmt.Sprintf("(%d):%d->NULL", x.Since, h.Op(x.Since).PC)
		}
		return "-"
	}
	// Figure 3.2: the graph at each execution point: nodes (with their label of
	// figure 3.1), node->next, new_node->next.
	want := []string{
		" - -",
		"(1):11  - -",
		"(1):11  (2):12->NULL -",
		"(1):11 (3):13  (2):12->NULL -",
		"(1):11 (3):13  (2):12->NULL (4):14->NULL",
		"(1):11 (3):13  (5):15->2 (4):14->NULL",
		"(1):11 (3):13  (6):19->NULL (4):14->NULL",
	}
	for at := range h.Now() + 1 {
		v := h.At(at)
		var b strings.Builder
		for id := range h.Live(at) {
			n, _ := v.Node(id)
			fmt.Fprintf(&b, "(%d):%d ", n.Birth, h.Op(n.Birth).PC)
		}
		fmt.Fprintf(&b, " %s %s", edge(v, next), edge(v, newNext))
		if got := b.String(); got != want[at] {
			t.Errorf("at %d: %s\nwant %s", at, got, want[at])
		}
	}
	// Figure 3.1: node->next has three edges, labelled with their times.
	if d := cmp.Diff([]Timestamp{2, 5, 6}, slices.Collect(h.Versions(next, 8, 0))); d != "" {
		t.Error(d)
	}
}

// TestTarget is one row for each way in which a pointer can fare.
func TestTarget(t *testing.T) {
	const cell = "alloc addr=0x1000 size=16\n" // node 1
	for _, c := range []struct {
		name, text string
		as         coded.Pointer
		want       Target
	}{
		{"unwritten", cell, coded.Plain, Target{}},
		{"partly written", cell + "store addr=0x1000 data=00000000", coded.Plain, Target{}},
		{"zeroed", "alloc flags=zeroed addr=0x1000 size=16", coded.Plain, Target{State: Null, Since: 1}},
		{"null", cell + "store addr=0x1000 data=0000000000000000", coded.Plain, Target{State: Null, Since: 2}},
		{"self", cell + "store addr=0x1000 data=0010000000000000", coded.Plain, Target{State: Points, Value: 0x1000, Node: 1, Since: 2}},
		{"inside", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=0820000000000000", coded.Plain,
			Target{State: Points, Value: 0x2008, Node: 2, Offset: 8, Since: 3}},
		{"tagged", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=0320000000000000", coded.Pointer{Tags: 3},
			Target{State: Points, Value: 0x2000, Node: 2, Since: 3}},
		{"tag on null", cell + "store addr=0x1000 data=0100000000000000", coded.Pointer{Tags: 3}, Target{State: Null, Since: 2}},
		{"with its own address", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=0120000000000000", coded.Pointer{Shift: 12},
			Target{State: Points, Value: 0x2000, Node: 2, Since: 3}},
		{"its own address is null", cell + "store addr=0x1000 data=0100000000000000", coded.Pointer{Shift: 12}, Target{State: Null, Since: 2}},
		{"wild", cell + "store addr=0x1000 data=0020000000000000", coded.Plain, Target{State: Wild, Value: 0x2000, Since: 2}},
		{"past the end", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=2020000000000000", coded.Plain,
			Target{State: Wild, Value: 0x2020, Past: 2, Since: 3}},
		{"stored before the node was born", cell + "store addr=0x1000 data=0020000000000000\nalloc addr=0x2000 size=32", coded.Plain,
			Target{State: Wild, Value: 0x2000, Since: 2}},
		{"dangling", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=0020000000000000\nfree addr=0x2000", coded.Plain,
			Target{State: Dangling, Value: 0x2000, Node: 2, Since: 3}},
		{"address reused", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=0820000000000000\nfree addr=0x2000\nalloc addr=0x1ff0 size=64", coded.Plain,
			Target{State: Dangling, Value: 0x2008, Node: 2, Offset: 8, Reused: 3, Since: 3}},
		{"dangling when stored", cell + "alloc addr=0x2000 size=32\nfree addr=0x2000\nstore addr=0x1000 data=0020000000000000", coded.Plain,
			Target{State: Dangling, Value: 0x2000, Node: 2, Since: 4}},
		{"shrunk below", cell + "alloc addr=0x2000 size=32\nstore addr=0x1000 data=1820000000000000\nrealloc aux=0x2000 addr=0x2000 size=16", coded.Plain,
			Target{State: Wild, Value: 0x2018, Past: 2, Since: 3}},
		{"carried by realloc", "alloc addr=0x3000 size=8\nalloc addr=0x2000 size=32\nstore addr=0x3000 data=0020000000000000\nfree addr=0x2000\n" +
			"alloc addr=0x2000 size=32\nrealloc aux=0x3000 addr=0x1000 size=16", coded.Plain,
			Target{State: Dangling, Value: 0x2000, Node: 2, Reused: 3, Since: 3}},
		{"carried twice", "alloc addr=0x3000 size=8\nstore addr=0x3000 data=0030000000000000\nrealloc aux=0x3000 addr=0x4000 size=16\nrealloc aux=0x4000 addr=0x1000 size=8", coded.Plain,
			Target{State: Dangling, Value: 0x3000, Node: 1, Since: 2}},
		{"unread", cell + "store addr=0x1000 data=0000000000000000\nunread addr=0x1004 size=2", coded.Plain, Target{}},
		{"two halves", cell + "alloc addr=0x2000 size=8\nstore addr=0x1000 data=00200000\nfree addr=0x2000\nstore addr=0x1004 data=00000000", coded.Plain,
			Target{State: Dangling, Value: 0x2000, Node: 2, Since: 5}},
	} {
		h := build(t, c.text)
		if d := cmp.Diff(c.want, h.At(h.Now()).Target(0x1000, c.as)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
}

func TestStray(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kind       OpKind // OpNone: dropped
		node       NodeID
		other      NodeID
	}{
		{"nowhere", "alloc addr=0x1000 size=16\nstore addr=0x9000 data=01", OpNone, 0, 0},
		{"far behind", "alloc addr=0x1000 size=16\nstore addr=0x1100 data=01", OpNone, 0, 0},
		{"directly behind", "alloc addr=0x1000 size=16\nstore addr=0x1010 data=01", OpStore, 0, 1},
		{"directly before", "alloc addr=0x1000 size=16\nstore addr=0xffc data=01020304", OpStore, 0, 1},
		{"from a base inside", "alloc addr=0x1000 size=16\nstore addr=0x9000 base=0x1000 data=01", OpStore, 0, 1},
		{"after free", "alloc addr=0x1000 size=16\nfree addr=0x1000\nstore addr=0x1008 data=01", OpStore, 0, 1},
		{"after free and unmap", "alloc addr=0x1000 size=16\nfree addr=0x1000\nunmap addr=0x1000 size=4096\nstore addr=0x1008 data=01", OpNone, 0, 0},
		{"after free, beside a block that is there now", "alloc addr=0x1000 size=256\nfree addr=0x1000\nalloc addr=0x1000 size=16\nstore addr=0x1038 data=01", OpStore, 0, 1},
		{"in memory that was given to somebody since, beside a block", "alloc addr=0x1000 size=256\nfree addr=0x1000\nalloc addr=0x1000 size=16\n" +
			"unmap addr=0x1030 size=128\nstore addr=0x1038 data=01", OpStore, 0, 2},
		{"and if that is more than some pages", "alloc addr=0x1000 size=256\nfree addr=0x1000\nalloc addr=0x1000 size=16\n" +
			"unmap addr=0x1030 size=65536\nstore addr=0x1038 data=01", OpStore, 0, 2},
		{"in memory that is unmapped behind it", "alloc addr=0x1000 size=256\nfree addr=0x1000\nstore addr=0x1038 data=01\n" +
			"unmap addr=0x1030 size=128", OpStore, 0, 1},
		{"after free of more than a page", "alloc addr=0x11008 size=6157\nfree addr=0x11008\nstore addr=0x11140 data=01", OpStore, 0, 1},
		{"runs into a node", "alloc addr=0x1000 size=16\nstore addr=0xff8 data=00000000000000000000000000000000", OpStore, 1, 0},
		{"leaves a node", "alloc addr=0x1000 size=16\nbulk addr=0x1008 base=0x1008 name=\"memset\" data=00000000000000000000000000000000", OpBulk, 1, 0},
		{"static memory", "global addr=0x5000 aux=1 size=8\nstore addr=0x5000 data=01", OpStore, 1, 0},
	} {
		h := build(t, c.text)
		op := h.Op(h.Now())
		if c.kind == OpNone {
			if h.Stats().Dropped != 1 {
				t.Errorf("%s: kept as %+v", c.name, op)
			}
			continue
		}
		if op.Kind != c.kind || op.Node != c.node || op.Other != c.other {
			t.Errorf("%s: %+v", c.name, op)
		}
	}
}

func TestAnomalies(t *testing.T) {
	for _, c := range []struct {
		text string
		want AnomalyKind
		node NodeID
	}{
		{"free addr=0x1000", FreeUnknown, 0},
		{"alloc addr=0x1000 size=16\nfree addr=0x1000\nfree addr=0x1000 stack=0x40,0x41", FreeTwice, 1},
		{"alloc addr=0x1000 size=16\nfree addr=0x1008", FreeInside, 1},
		{"global addr=0x1000 size=16\nfree addr=0x1000", FreeInside, 1},
		{"alloc addr=0x1000 size=16\nalloc addr=0x1008 size=16", AllocOverLive, 1},
		{"alloc addr=0x1000 size=16\nfree addr=0x1000\nrealloc aux=0x1000 addr=0x2000 size=8", FreeTwice, 1},
		{"unread addr=0x1000 size=0x7fffffffffffffff", Implausible, 0},
		{"alloc addr=0xfffffffffffffff0 size=0x20", Implausible, 0},
	} {
		h := build(t, c.text)
		a := h.Anomalies()
		if len(a) != 1 || a[0].Kind != c.want || a[0].Node != c.node {
			t.Errorf("%s\n%+v", c.text, a)
		}
	}
	// Freeing NULL, and a block of no bytes, is healthy.
	h := build(t, "free addr=0\nalloc addr=0x1000 size=0\nfree addr=0x1000")
	if len(h.Anomalies()) != 0 || h.Now() != 2 {
		t.Errorf("%v, %d operations", h.Anomalies(), h.Now())
	}
}

func TestOp(t *testing.T) {
	h := build(t, `
alloc thread=7 wall=100 pc=0x40 addr=0x1000 size=64 name="malloc" stack=0x40,0x41
store thread=8 wall=-1 flags=atomic pc=0x50 addr=0x1008 base=0x1000 data=01020304
store thread=8 wall=9000000000 pc=0x51 addr=0x1010 base=0x9000 data=000102030405060708090a0b0c0d0e0f
syscall thread=7 wall=50 pc=0x60 addr=0x1000 base=0x1000 aux=17 data=6162
lost thread=7 size=3 name="ring"
free thread=7 wall=60 pc=0x70 addr=0x1000 name="free" stack=0x70,0x71
`)
	want := []Op{
		{Time: 1, Kind: OpBirth, Thread: 7, Wall: 100, PC: 0x40, Addr: 0x1000, Size: 64, Node: 1, Name: "malloc", Stack: []trace.Addr{0x40, 0x41}},
		{Time: 2, Kind: OpStore, Thread: 8, Wall: -1, PC: 0x50, Addr: 0x1008, Size: 4, Base: 0x1000, Flags: trace.FlagAtomic, Node: 1},
		{Time: 3, Kind: OpStore, Thread: 8, Wall: 9000000000, PC: 0x51, Addr: 0x1010, Size: 16, Base: 0x9000, Node: 1},
		{Time: 4, Kind: OpBulk, Thread: 7, Wall: 50, PC: 0x60, Addr: 0x1000, Size: 2, Base: 0x1000, Node: 1, Name: "system call pread64"},
		{Time: 5, Kind: OpDeath, Thread: 7, Wall: 60, PC: 0x70, Addr: 0x1000, Size: 64, Node: 1, Name: "free", Stack: []trace.Addr{0x70, 0x71}},
	}
	if d := cmp.Diff(want, slices.Collect(h.Ops(0, 100))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Gap{{Time: 4, Kind: trace.KindLost, Thread: 7, Events: 3, Why: "ring"}}, h.Gaps()); d != "" {
		t.Error(d)
	}
	if !cmp.Equal(h.Op(0), Op{}) || !cmp.Equal(h.Op(6), Op{}) || h.Node(9).ID != 0 {
		t.Error("there are operations or nodes that are not there")
	}
	if d := cmp.Diff([]trace.Addr{0x40, 0x41}, h.Node(1).Stack); d != "" {
		t.Error(d)
	}
}

func TestSameValue(t *testing.T) {
	h := build(t, "alloc addr=0x1000 size=16\nstore addr=0x1000 data=05\nstore addr=0x1000 data=05\nstore addr=0x1000 data=06")
	for at, want := range []bool{false, false, false, true, false} {
		if got := h.SameValue(Timestamp(at)); got != want {
			t.Errorf("at %d: %v", at, got)
		}
	}
}

// A change of more than is compared together.
func TestSameValueLong(t *testing.T) {
	h := New(Options{})
	data := bytes.Repeat([]byte{7}, 2*compared+100)
	write := func() {
		h.Apply(&trace.Event{Kind: trace.KindBulk, Addr: 0x100000, Size: uint64(len(data)), Data: data, Name: "memcpy"})
	}
	h.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: 0x100000, Size: uint64(len(data)), Name: "malloc"})
	write()
	write()
	data[len(data)-1]++
	write()
	for at, want := range []bool{false, false, false, true, false} {
		if got := h.SameValue(Timestamp(at)); got != want {
			t.Errorf("at %d: %v", at, got)
		}
	}
}

func TestOverlays(t *testing.T) {
	h := build(t, `
alloc addr=0x1000 size=16
alloc addr=0x2000 size=16
store addr=0x1000 data=0020000000000000
store addr=0x1000 data=0010000000000000
store addr=0x1008 data=0000000000000000
`)
	v := h.At(5)
	if x := h.Without(v, 4).Target(0x1000, coded.Plain); x.Node != 2 || x.Since != 3 {
		t.Errorf("without 4: %+v", x)
	}
	if x := h.Without(h.Without(v, 4), 3).Target(0x1000, coded.Plain); x.State != Unwritten {
		t.Errorf("without 4 and 3: %+v", x)
	}
	if x := h.Without(v, 3).Target(0x1000, coded.Plain); x.Node != 1 {
		t.Errorf("without 3, which was overwritten: %+v", x)
	}
	w := With(v, 0x1008, []byte{8, 0x20})
	if x := w.Target(0x1008, coded.Plain); x.State != Points || x.Node != 2 || x.Offset != 8 || x.Since != 5 {
		t.Errorf("with a pointer: %+v", x)
	}
	if x := With(v, 0x1008, []byte{0x11, 0x20}).Target(0x1008, coded.Pointer{Shift: 12}); x.State != Wild || x.Value != 0x2010 {
		t.Errorf("with its own address: %+v", x)
	}
	if x := With(v, 0x1008, []byte{0x10, 0x20}).Target(0x1008, coded.Plain); x.State != Wild || x.Past != 2 {
		t.Errorf("with a pointer past the end: %+v", x)
	}
	if x := h.Without(w, 4).Target(0x1000, coded.Plain); x.Node != 2 {
		t.Errorf("undone beneath a hypothesis: %+v", x)
	}
	b := Bytes{Data: make([]byte, 4)}
	if !w.Read(0x1006, &b) || !slices.Equal(b.Data, []byte{0, 0, 8, 0x20}) {
		t.Errorf("%v", b)
	}
	if v.Target(0x1008, coded.Plain).State != Null {
		t.Error("the hypothesis changed the graph")
	}
}

// A range is tracked from the operation on that makes it a member: the graph just before stays what it was, also
// where that is when the memory was written.
func TestEnterLater(t *testing.T) {
	h := build(t, "alloc addr=0x1000 size=16")
	feed(t, h, "store addr=0x1010 data=0010000000000000") // beside the block
	written := h.Now()
	look := func() (Target, NodeID) {
		id, _ := h.At(written).NodeAt(0x1010)
		return h.At(written).Target(0x1010, coded.Plain), id
	}
	before, none := look()
	entered, err := h.Enter(&trace.Event{Kind: trace.KindCall}, 0x1008, 24, 0)
	if err != nil || entered != written+1 {
		t.Fatal(entered, err)
	}
	if x, id := look(); x != before || id != none || id != 0 {
		t.Errorf("%+v in node %d, was %+v in %d", x, id, before, none)
	}
	if x := h.At(entered).Target(0x1010, coded.Plain); x.State != Unwritten {
		t.Errorf("%+v", x)
	}
}

func TestEnter(t *testing.T) {
	h := build(t, "alloc addr=0x1000 size=64")
	call := trace.Event{Kind: trace.KindCall, PC: 0x77, Thread: 3}
	for _, c := range []struct {
		addr trace.Addr
		node NodeID
	}{{0x1010, 1}, {0x7ffe0000, 2}, {0x7ffe0000, 2}} {
		at, err := h.Enter(&call, c.addr, 16, 5)
		if op := h.Op(at); err != nil || op.Kind != OpEnter || op.Node != c.node || op.Mark != 5 || op.PC != 0x77 || op.Size != 16 {
			t.Errorf("%+v %v", op, err)
		}
	}
	if !h.Node(2).Tracked || h.Node(1).Tracked {
		t.Error("the range on the stack is tracked, the block is not")
	}
	feed(t, h, "store addr=0x7ffe0008 data=0010000000000000\nalloc addr=0x7ffe0000 size=8")
	if x := h.At(5).Target(0x7ffe0008, coded.Plain); x.Node != 1 {
		t.Errorf("%+v", x)
	}
	if n := h.Node(2); n.Death != 6 || len(h.Anomalies()) != 0 {
		t.Errorf("a block over a tracked range ends it: %+v", n)
	}
}

func TestCursor(t *testing.T) {
	h := build(t, "alloc addr=0x1000 size=8\nstore addr=0x1000 data=01\nrealloc aux=0x1000 addr=0x2000 size=8\nfree addr=0x2000")
	c := h.Cursor(0)
	var forward, back []Step
	for s, ok := c.Forward(); ok; s, ok = c.Forward() {
		forward = append(forward, s)
	}
	for s, ok := c.Back(); ok; s, ok = c.Back() {
		back = append(back, s)
	}
	slices.Reverse(back)
	if d := cmp.Diff(forward, back); d != "" || len(forward) != 4 || c.Time() != 0 {
		t.Error(d)
	}
	if s := forward[2]; s.Died != 1 || s.Born != 2 || s.Changes[0].New.Data[0] != 1 || s.Changes[0].Old.Written[0] {
		t.Errorf("%+v", s)
	}
}

// TestBulkIsCompact: a write of a megabyte costs its bytes, one element per page
// and no allocation per word; a chunk of the slab of lists is 1 MB.
func TestBulkIsCompact(t *testing.T) {
	h := build(t, "alloc addr=0x100000 size=0x100000")
	data := make([]byte, 1<<20)
	e := trace.Event{Kind: trace.KindBulk, Addr: 0x100000, Size: uint64(len(data)), Data: data, Name: "memset"}
	before := h.Stats().Bytes
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := h.Apply(&e); err != nil {
			t.Fatal(err)
		}
	})
	if grown := h.Stats().Bytes - before; grown > 2*(1<<20)+(1<<20)+1<<16 || allocs > 20 {
		t.Errorf("two writes of 1 MB took %d bytes and %v allocations", grown, allocs)
	}
}

// TestLongLists: a counter beside a key, written a million times.
func TestLongLists(t *testing.T) {
	h := build(t, "alloc addr=0x1000 size=8\nstore addr=0x1004 data=07000000")
	e := trace.Event{Kind: trace.KindStore, Addr: 0x1000, Size: 4, Data: make([]byte, 4)}
	for i := range 1 << 20 {
		e.Data[0], e.Data[1], e.Data[2] = byte(i), byte(i>>8), byte(i>>16)
		if _, err := h.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	b := Bytes{Data: make([]byte, 8)}
	for _, i := range []int{0, 1, 4094, 4095, 4096, 1<<19 + 5, 1<<20 - 1} {
		h.At(Timestamp(3+i)).Read(0x1000, &b)
		want := []byte{byte(i), byte(i >> 8), byte(i >> 16), 0, 7, 0, 0, 0}
		if !slices.Equal(b.Data, want) {
			t.Errorf("at %d: %v, want %v", 3+i, b.Data, want)
		}
	}
	if got := h.LastWrite(0x1004, 4, h.Now()); got != 2 {
		t.Errorf("the key was written at %d", got)
	}
}

func TestFull(t *testing.T) {
	h := build(t, "alloc addr=0x1000 size=8")
	h.ops.n = maxTime - 2
	if _, err := h.Apply(&trace.Event{Kind: trace.KindFree, Addr: 0x1000}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

func TestHugeBlock(t *testing.T) {
	h := build(t, `
alloc addr=0x100000000 size=0x4000000000
store addr=0x1ffff0000 data=0000000001000000
realloc aux=0x100000000 addr=0x100000000 size=0x1000
store addr=0x1ffff0000 data=01
free addr=0x100000000
`)
	if x := h.At(2).Target(0x1ffff0000, coded.Plain); x.State != Points || x.Offset != 0 || h.Op(2).Node != 1 {
		t.Errorf("%+v", x)
	}
	if _, ok := h.NodeAtTime(0x1ffff0000, 3); ok || h.Now() != 4 {
		t.Errorf("the block shrank; %d operations", h.Now())
	}
}

// Memory that was mapped is a node where no block is: what is written there before a
// block, after it, and beside it stays.
func TestArenas(t *testing.T) {
	h := New(Options{Arenas: true})
	step := func(ev trace.Event) {
		t.Helper()
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
	}
	read := func(addr trace.Addr) (byte, bool) {
		b := Bytes{Data: make([]byte, 1)}
		ok := h.At(h.Now()).Read(addr, &b)
		return b.Data[0], ok && b.Written[0]
	}
	store := func(addr trace.Addr, v byte) {
		t.Helper()
		step(trace.Event{Kind: trace.KindStore, Addr: addr, Size: 1, Data: []byte{v}})
	}
	step(trace.Event{Kind: trace.KindMap, Addr: 0x10000, Size: 0x1000})
	step(trace.Event{Kind: trace.KindMap, Addr: 0x11000, Size: 0x1000}) // brk moves on
	store(0x10800, 1)
	store(0x11800, 2)
	for addr, want := range map[trace.Addr]byte{0x10800: 1, 0x11800: 2} {
		if v, ok := read(addr); !ok || v != want {
			t.Errorf("%#x holds %d, %v; want %d", addr, v, ok, want)
		}
	}
	arena, _ := h.NodeAtTime(0x11800, h.Now())
	step(trace.Event{Kind: trace.KindAlloc, Addr: 0x10800, Size: 16, Name: "malloc"})
	if _, ok := read(0x10800); ok {
		t.Error("a block that was born has bytes")
	}
	store(0x10801, 3)
	if id, _ := h.NodeAtTime(0x10801, h.Now()); id == arena || id == 0 {
		t.Errorf("node %d at a block in arena %d", id, arena)
	}
	step(trace.Event{Kind: trace.KindFree, Addr: 0x10800})
	store(0x10808, 4) // into what is free
	for addr, want := range map[trace.Addr]byte{0x10801: 3, 0x10808: 4} {
		if v, ok := read(addr); !ok || v != want {
			t.Errorf("after the free %#x holds %d, %v; want %d", addr, v, ok, want)
		}
	}
	step(trace.Event{Kind: trace.KindFree, Addr: 0x10800})
	if a := h.Anomalies(); len(a) != 1 || a[0].Kind != FreeTwice {
		t.Errorf("%+v", a)
	}
}
