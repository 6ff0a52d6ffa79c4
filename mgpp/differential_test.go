package mgpp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// generator makes random events in a small memory that straddles pages, so
// that blocks come to lie where others were.
type generator struct {
	rnd *rand.Rand
	h   *History
	r   *reference
	n   *History // of nodes only; nil: there is none

	unmapped []uint64 // where blocks began that were unmapped last

	large bool // many blocks have a page and more
}

const (
	testLow   = 0x10f00
	testHigh  = 0x14100
	testSlack = 16
)

func (g *generator) addr() uint64 {
	a := testLow + uint64(g.rnd.IntN(0x300))
	if g.rnd.IntN(8) == 0 {
		a = testLow + uint64(g.rnd.IntN(testHigh-testLow))
	}
	if g.rnd.IntN(3) > 0 {
		a &^= 7
	}
	return a
}

// inNode is the address of some byte of a live node, or any.
func (g *generator) inNode() uint64 {
	ids := slices.Collect(g.h.Live(g.h.Now()))
	if len(ids) == 0 || g.rnd.IntN(10) == 0 {
		return g.addr()
	}
	n := g.h.Node(ids[g.rnd.IntN(len(ids))])
	a := uint64(n.Start) + uint64(g.rnd.IntN(int(n.Size)+4))
	if g.rnd.IntN(3) > 0 {
		a &^= 7
	}
	return a
}

func (g *generator) start() uint64 {
	for id := range g.h.Live(g.h.Now()) {
		if g.rnd.IntN(4) == 0 {
			return uint64(g.h.Node(id).Start)
		}
	}
	return g.addr()
}

func (g *generator) size() uint64 {
	if g.large && g.rnd.IntN(3) == 0 {
		return pageSize + uint64(g.rnd.IntN(2*pageSize))
	}
	switch g.rnd.IntN(12) {
	case 0:
		return 0
	case 1:
		return uint64(g.rnd.IntN(9000))
	case 2, 3:
		return uint64(g.rnd.IntN(300))
	}
	return uint64(8 * g.rnd.IntN(8))
}

func (g *generator) data(n int) []byte {
	d := make([]byte, n)
	if g.rnd.IntN(6) == 0 {
		return d // as of memory that is cleared
	}
	for i := 0; i < n; i += 8 {
		v := uint64(g.rnd.IntN(3))
		if g.rnd.IntN(2) == 0 {
			v = g.inNode()
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], v)
		copy(d[i:], w[:])
	}
	return d
}

func (g *generator) store() trace.Event {
	n := []int{1, 2, 4, 8, 8, 8, 16, 32, 3, 64, 80}[g.rnd.IntN(11)]
	a := g.inNode()
	e := trace.Event{Kind: trace.KindStore, Addr: trace.Addr(a), Size: uint64(n), Data: g.data(n), Wall: int64(g.rnd.IntN(9)) - 1}
	switch g.rnd.IntN(4) {
	case 0:
		e.Base = trace.Addr(a)
	case 1:
		e.Base = trace.Addr(g.inNode())
	}
	return e
}

func (g *generator) write() trace.Event {
	e := g.store()
	n := g.rnd.IntN(100)
	if g.rnd.IntN(10) == 0 {
		n = g.rnd.IntN(9000)
	}
	e.Kind, e.Size, e.Name = trace.KindBulk, uint64(n), "memcpy"
	switch g.rnd.IntN(6) {
	case 0:
		e.Kind, e.Data = trace.KindUnread, nil
	case 1:
		e.Flags, e.Data = trace.FlagPartial, g.data(n/2)
	case 2:
		e.Name, e.Flags, e.Data = "memset", trace.FlagPartial, bytes.Repeat(g.data(1), n/2)
	default:
		e.Data = g.data(n)
	}
	return e
}

// next applies one random event to both histories.
func (g *generator) next(t *testing.T) {
	var e trace.Event
	switch k := g.rnd.IntN(100); {
	case k < 50:
		e = g.store()
	case k < 60:
		e = g.write()
	case k < 80:
		e = trace.Event{Kind: trace.KindAlloc, Addr: trace.Addr(g.addr()), Size: g.size(), Flags: trace.Flags(g.rnd.IntN(2)) * trace.FlagZeroed, Name: "malloc"}
	case k < 87:
		e = trace.Event{Kind: trace.KindFree, Addr: trace.Addr(g.start())}
	case k < 95:
		e = trace.Event{Kind: trace.KindRealloc, Aux: g.start(), Size: g.size()}
		if n := len(g.unmapped); n > 0 && g.rnd.IntN(2) == 0 {
			e.Aux = g.unmapped[g.rnd.IntN(n)]
		}
		e.Addr = trace.Addr(e.Aux)
		if g.rnd.IntN(2) == 0 {
			e.Addr = trace.Addr(g.addr())
		}
	case k < 97:
		e = trace.Event{Kind: trace.KindUnmap, Addr: trace.Addr(g.addr() &^ 0xff), Size: 0x100}
		g.unmapped = nil
		for id := range g.h.Live(g.h.Now()) {
			if n := g.h.Node(id); n.Start >= e.Addr && n.Start < e.Addr+0x100 {
				g.unmapped = append(g.unmapped, uint64(n.Start))
			}
		}
	default:
		g.member(t)
		return
	}
	ev := e
	ev.Data = slices.Clone(e.Data)
	got, err := g.h.Apply(&ev)
	if err != nil {
		t.Fatal(err)
	}
	before := g.r.now()
	g.r.apply(&e)
	want := Timestamp(g.r.now())
	if g.r.now() == before {
		want = 0
	}
	if got != want {
		t.Fatalf("%s: timestamp %d, want %d", trace.Format(e), got, want)
	}
	if g.n != nil {
		if got, err := g.n.Apply(&ev); err != nil || got != want {
			t.Fatalf("%s: of nodes only: timestamp %d, want %d (%v)", trace.Format(e), got, want, err)
		}
	}
	clear(ev.Data) // it was the producer's
}

func (g *generator) member(t *testing.T) {
	k, a, n := OpEnter, g.inNode(), uint64(8+g.rnd.IntN(24))
	call := g.h.Enter
	if g.rnd.IntN(2) == 0 {
		k, call = OpLeave, g.h.Leave
	}
	if _, err := call(&trace.Event{Kind: trace.KindCall}, trace.Addr(a), n, 1); err != nil {
		t.Fatal(err)
	}
	if g.n != nil {
		call := g.n.Enter
		if k == OpLeave {
			call = g.n.Leave
		}
		if _, err := call(&trace.Event{Kind: trace.KindCall}, trace.Addr(a), n, 1); err != nil {
			t.Fatal(err)
		}
	}
	g.r.enter(k, a, n)
}

// TestDifferential compares every query at every time with the reference.
func TestDifferential(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { differ(t, seed, 150+int(seed)) })
	}
}

func differ(t *testing.T, seed uint64, events int) {
	g := &generator{rnd: rand.New(rand.NewPCG(seed, 1)), h: New(Options{Slack: testSlack}), r: newReference(testSlack), n: New(Options{Slack: testSlack, NodesOnly: true})}
	if seed%3 == 1 { // many blocks that are found apart from the pages
		g.large = true
		g.h.nodes.huge.least, g.n.nodes.huge.least = pageSize, pageSize
	}
	for i := range 2 {
		e := trace.Event{Kind: trace.KindGlobal, Addr: trace.Addr(testLow + 0x40 + i*0x100), Size: 24, Aux: uint64(i + 1), Data: g.data(20)}
		if _, err := g.h.Apply(&e); err != nil {
			t.Fatal(err)
		}
		if _, err := g.n.Apply(&e); err != nil {
			t.Fatal(err)
		}
		g.r.apply(&e)
	}
	for range events {
		g.next(t)
	}
	g.compare(t)
	if d := cmp.Diff(slices.Collect(g.h.Nodes()), slices.Collect(g.n.Nodes())); d != "" {
		t.Errorf("nodes of a history of nodes only (-whole +it):\n%s", d)
	}
}

func (g *generator) compare(t *testing.T) {
	t.Helper()
	h, r := g.h, g.r
	if h.Now() != Timestamp(r.now()) || h.dropped != r.drops {
		t.Fatalf("%d operations and %d dropped, want %d and %d", h.Now(), h.dropped, r.now(), r.drops)
	}
	var kinds []AnomalyKind
	for _, a := range h.Anomalies() {
		kinds = append(kinds, a.Kind)
	}
	if d := cmp.Diff(r.bad, kinds); d != "" {
		t.Fatalf("anomalies (-want +got)\n%s", d)
	}
	for at := range r.now() + 1 {
		g.compareAt(t, at)
		if t.Failed() {
			t.Fatalf("at time %d: %v\n%s", at, h.Op(Timestamp(at)), g.story(at))
		}
	}
}

func (g *generator) story(to uint32) string {
	var b strings.Builder
	for op := range g.h.Ops(Timestamp(max(to, 15)-14), Timestamp(to)) {
		fmt.Fprintf(&b, "%+v\n", op)
	}
	return b.String()
}

func (g *generator) compareAt(t *testing.T, at uint32) {
	h, r := g.h, g.r
	v := h.At(Timestamp(at))
	snap := r.snaps[at]
	live := slices.Collect(h.Live(Timestamp(at)))
	if len(live) != len(snap) {
		t.Errorf("%d nodes live, want %d", len(live), len(snap))
		return
	}
	for id, want := range snap {
		n, ok := v.Node(id)
		if !ok || n.Size != uint64(len(want.bytes)) || uint64(n.Start) != want.start || n.Birth != Timestamp(want.birth) {
			t.Errorf("node %d is %+v %v, want %d bytes at %#x", id, n, ok, len(want.bytes), want.start)
			return
		}
	}
	for range 40 {
		a := testLow + uint64(g.rnd.IntN(testHigh-testLow))
		if g.rnd.IntN(2) == 0 {
			a = testLow + uint64(g.rnd.IntN(0x300))
		}
		if got, _ := v.NodeAt(trace.Addr(a)); got != snap.at(a) {
			t.Errorf("node at %#x is %d, want %d", a, got, snap.at(a))
		}
		g.compareWrites(t, a, uint64(1+g.rnd.IntN(20)), at)
	}
	undone := []uint32{uint32(g.rnd.IntN(int(at) + 1)), uint32(g.rnd.IntN(int(at) + 1))}
	if at > 0 {
		undone[0] = at - uint32(g.rnd.IntN(int(min(at, 20))))
	}
	without := h.Without(h.Without(v, Timestamp(undone[0])), Timestamp(undone[1]))
	for id, n := range snap {
		g.compareNode(t, v, id, n, at)
		g.compareNode(t, without, id, n, at, undone...)
	}
	g.compareChange(t, at)
}

// compareWrites checks LastWrite, NextWrite and Versions against the log.
func (g *generator) compareWrites(t *testing.T, a, n uint64, at uint32) {
	var last, next Timestamp
	var later []Timestamp
	for i, o := range g.r.log {
		if o.size == 0 || o.addr >= a+n || a >= o.addr+o.size {
			continue
		}
		if uint32(i) <= at {
			last = Timestamp(i)
			continue
		}
		if next == 0 {
			next = Timestamp(i)
		}
		later = append(later, Timestamp(i))
	}
	if got := g.h.LastWrite(trace.Addr(a), n, Timestamp(at)); got != last {
		t.Errorf("last write of %d bytes at %#x is %d, want %d", n, a, got, last)
	}
	if got := g.h.NextWrite(trace.Addr(a), n, Timestamp(at)); got != next {
		t.Errorf("next write of %d bytes at %#x is %d, want %d", n, a, got, next)
	}
	if d := cmp.Diff(later, slices.Collect(g.h.Versions(trace.Addr(a), n, Timestamp(at)))); d != "" {
		t.Errorf("writes after %d of %d bytes at %#x (-log +got):\n%s", at, n, a, d)
	}
}

// compareNumber: Number says what Read does, of a view as it is and with other bytes nearby.
func (g *generator) compareNumber(t *testing.T, v View, addr trace.Addr, size int) {
	t.Helper()
	for _, v := range [2]View{v, With(v, addr+trace.Addr(g.rnd.IntN(16))-8, []byte{1, 2, 3})} {
		b := Bytes{Data: make([]byte, size)}
		want := v.Read(addr, &b) && !slices.Contains(b.Written, false)
		n, ok := Number(v, addr, size)
		if data := binary.LittleEndian.AppendUint64(nil, n); ok != want || ok && !slices.Equal(data[:size], b.Data) {
			t.Errorf("%d bytes at %#x are %#x, %v; want %v, %v", size, addr, n, ok, b.Data, want)
		}
	}
}

func (g *generator) compareNode(t *testing.T, v View, id NodeID, n refNode, at uint32, undone ...uint32) {
	if g.r.live()[id].track || g.r.dead[id].track || n.fixed && g.hidden(n, at) {
		return // its bytes may be another node's too
	}
	if len(n.bytes) == 0 {
		return
	}
	size := 1 + g.rnd.IntN(len(n.bytes))
	if g.rnd.IntN(3) == 0 {
		size = len(n.bytes)
	}
	off := g.rnd.IntN(len(n.bytes) - size + 1)
	a := n.start + uint64(off)
	b := Bytes{Data: make([]byte, size)}
	if !v.Read(trace.Addr(a), &b) {
		t.Errorf("%d bytes at %#x of node %d can not be read", size, a, id)
		return
	}
	var newest uint32
	for i, w := range g.r.read(id, a, uint64(size), at, undone...) {
		newest = max(newest, w.newest)
		if b.Written[i] != w.ok || b.Data[i] != w.val {
			t.Errorf("node %d, byte %d at %#x: %#x %v, want %#x %v of %d (without %v)", id, off+i, a+uint64(i), b.Data[i], b.Written[i], w.val, w.ok, w.newest, undone)
			return
		}
	}
	if b.Newest != Timestamp(newest) {
		t.Errorf("node %d: newest of %d bytes at %#x is %d, want %d (without %v)", id, size, a, b.Newest, newest, undone)
	}
	for off, size := g.rnd.IntN(8), 1+g.rnd.IntN(8); off+size <= len(n.bytes); off += 1 + g.rnd.IntN(48) {
		g.compareNumber(t, v, trace.Addr(n.start)+trace.Addr(off), size)
	}
	g.compareNumber(t, v, trace.Addr(n.end())-4, 8)
	if b := (Bytes{Data: make([]byte, len(n.bytes)+1)}); v.Read(trace.Addr(n.start), &b) {
		t.Errorf("node %d can be read beyond its end", id)
	}
	for cell := n.start &^ 7; cell+8 <= n.end() && cell < n.start+200; cell += 4 {
		if cell < n.start {
			continue
		}
		as := coded.Pointer{Tags: uint64(g.rnd.IntN(2)) * 3, Shift: uint8(g.rnd.IntN(2)) * 12}
		got, want := v.Target(trace.Addr(cell), as), g.r.target(id, cell, as, at, undone...)
		if want.State == Wild && got.State == Dangling { // stored when it was dangling already
			if f := g.h.Node(got.Node); f.Death == 0 || f.Death > got.Since {
				t.Errorf("cell %#x: %+v, but node %+v was alive", cell, got, f)
			}
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("cell %#x (-want +got, without %v)\n%s", cell, undone, d)
			return
		}
	}
}

// hidden reports whether another node lies over a fixed one.
func (g *generator) hidden(n refNode, at uint32) bool {
	return len(g.r.snaps[at].overlapping(n.start, n.end())) > 1
}

func (g *generator) compareChange(t *testing.T, at uint32) {
	o := g.r.log[at]
	cs := g.h.Change(Timestamp(at))
	op := g.h.Op(Timestamp(at))
	if op.Kind != o.kind {
		t.Errorf("operation %d, want %d", op.Kind, o.kind)
	}
	if o.kind != OpStore && o.kind != OpBulk && o.kind != OpUnread && o.kind != OpMove || o.size == 0 {
		if cs != nil {
			t.Errorf("changes %v", cs)
		}
		if op.Node != o.node || op.Other != o.other {
			t.Errorf("%+v, want nodes %d %d", op, o.node, o.other)
		}
		return
	}
	if len(cs) != 1 || uint64(cs[0].Addr) != o.addr || uint64(len(cs[0].New.Data)) != o.size {
		t.Errorf("changes %v, want one of %d bytes at %#x", cs, o.size, o.addr)
		return
	}
	if o.stray != (op.Node == 0) {
		t.Errorf("%+v: stray %v", op, o.stray)
	}
	if op.Node == 0 && op.Other == 0 {
		t.Errorf("%+v: a stray write that concerns nobody", op)
	}
	for i := range o.size {
		a := o.addr + i
		for _, side := range []struct {
			t uint32
			b Bytes
		}{{at - 1, cs[0].Old}, {at, cs[0].New}} {
			id := g.r.snaps[side.t].at(a)
			if id == 0 || g.r.snaps[side.t][id].track || o.kind == OpMove && side.t < at || g.hidden(g.r.snaps[side.t][id], side.t) {
				continue
			}
			if w := g.r.read(id, a, 1, side.t)[0]; w.ok != side.b.Written[i] || w.ok && w.val != side.b.Data[i] {
				t.Errorf("change at %d, byte %#x: %#x %v, want %+v", side.t, a, side.b.Data[i], side.b.Written[i], w)
				return
			}
		}
	}
}

func FuzzHistory(f *testing.F) {
	for _, seed := range []uint64{104, 124, 189, 239, 256, 267, 1000} { // once disagreed
		f.Add(seed, uint8(150))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) { differ(t, seed, int(n)) })
}
