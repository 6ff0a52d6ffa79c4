package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"os"
)

// generator makes random programs in a small memory, so that blocks come to lie
// where others were.
type generator struct {
	rnd      *rand.Rand
	h        *mgpp.History
	unmapped []uint64 // where blocks began that were unmapped last
}

const low = 0x10f00

func (g *generator) addr() uint64 {
	a := low + uint64(g.rnd.IntN(0x300))
	if g.rnd.IntN(8) == 0 {
		a = low + uint64(g.rnd.IntN(0x3000))
	}
	if g.rnd.IntN(3) > 0 {
		a &^= 7
	}
	return a
}

// inNode is the address of a byte of a live node or close to its end, or any.
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
	d := make([]byte, (n+7)&^7)
	for i := 0; i < len(d); i += 8 {
		v := uint64(g.rnd.IntN(3))
		if g.rnd.IntN(2) == 0 {
			v = g.inNode()
		}
		binary.LittleEndian.PutUint64(d[i:], v)
	}
	return d[:n]
}

func (g *generator) event() trace.Event {
	switch k := g.rnd.IntN(100); {
	case k < 60:
		n := []int{1, 2, 4, 8, 8, 8, 16, 32, 3, 64}[g.rnd.IntN(10)]
		a := g.inNode()
		return trace.Event{Kind: trace.KindStore, Addr: trace.Addr(a), Size: uint64(n), Data: g.data(n), Base: trace.Addr(a) * trace.Addr(g.rnd.IntN(2))}
	case k < 68:
		n := g.rnd.IntN(100)
		if g.rnd.IntN(10) == 0 {
			n = g.rnd.IntN(9000)
		}
		e := trace.Event{Kind: trace.KindBulk, Addr: trace.Addr(g.inNode()), Size: uint64(n), Name: "memcpy"}
		switch g.rnd.IntN(6) {
		case 0:
			e.Kind = trace.KindUnread
		case 1:
			e.Flags, e.Data = trace.FlagPartial, g.data(n/2)
		case 2:
			e.Name, e.Flags, e.Data = "memset", trace.FlagPartial, bytes.Repeat(g.data(1), n/2)
		default:
			e.Data = g.data(n)
		}
		return e
	case k < 84:
		return trace.Event{Kind: trace.KindAlloc, Addr: trace.Addr(g.addr()), Size: g.size(), Flags: trace.Flags(g.rnd.IntN(2)) * trace.FlagZeroed,
			Name: []string{"malloc", "calloc"}[g.rnd.IntN(2)], Stack: []trace.Addr{0x400, trace.Addr(g.rnd.IntN(3))}}
	case k < 90:
		return trace.Event{Kind: trace.KindFree, Addr: trace.Addr(g.start()), Name: "free"}
	case k < 98:
		e := trace.Event{Kind: trace.KindRealloc, Aux: g.start(), Size: g.size(), Name: "realloc", Stack: []trace.Addr{0x500}}
		if n := len(g.unmapped); n > 0 && g.rnd.IntN(2) == 0 {
			e.Aux = g.unmapped[g.rnd.IntN(n)]
		}
		e.Addr = trace.Addr(e.Aux)
		if g.rnd.IntN(2) == 0 {
			e.Addr = trace.Addr(g.addr())
		}
		return e
	}
	e := trace.Event{Kind: trace.KindUnmap, Addr: trace.Addr(g.addr() &^ 0xff), Size: 0x100}
	g.unmapped = nil
	for id := range g.h.Live(g.h.Now()) {
		if n := g.h.Node(id); n.Start >= e.Addr && n.Start < e.Addr+0x100 {
			g.unmapped = append(g.unmapped, uint64(n.Start))
		}
	}
	return e
}

// program is a random program: its trace, in many chunks, and its history.
func program(t testing.TB, seed uint64, events int) (*mgpp.History, string) {
	g := &generator{rnd: rand.New(rand.NewPCG(seed, 1)), h: mgpp.New(mgpp.Options{})}
	path := filepath.Join(t.TempDir(), "t.mgt")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := trace.NewWriter(f, trace.Program{Path: fmt.Sprint(seed)})
	sites := 0
	apply := func(e *trace.Event) {
		e.Thread, e.PC = 7, 0x600+trace.Addr(g.rnd.IntN(5))
		e.Wall = int64(g.h.Now()) * 10
		asRun := e.Kind == trace.KindStore && g.rnd.IntN(3) > 0
		if !asRun || g.rnd.IntN(2) == 0 { // runs of full recordings have some
			e.Instant = trace.Instant(g.h.Now() % 5)
		}
		if _, err := g.h.Apply(e); err != nil {
			t.Fatal(err)
		}
		var err error
		if asRun {
			site := trace.StoreSite{PC: e.PC, Width: uint8(e.Size), Base: trace.BaseOwn}
			if g.rnd.IntN(2) == 0 { // otherwise the same
				site.Base = trace.BaseOffset
				if e.Base == 0 {
					site.Base = trace.BaseNone
				}
			}
			run := trace.Stores{Thread: e.Thread, Wall: e.Wall, Recs: []trace.StoreRec{{Site: uint32(sites), Addr: uint64(e.Addr), Base: uint64(e.Base)}}}
			if e.Size <= 8 {
				run.Recs[0].Value = binary.LittleEndian.Uint64(append(slices.Clone(e.Data), make([]byte, 8)...))
			} else {
				run.Wide = e.Data
			}
			if e.Instant != 0 {
				run.Instants = []trace.Instant{e.Instant}
			}
			if _, err = w.AddSites([]trace.StoreSite{site}); err == nil {
				sites++
				err = w.WriteStores(&run)
			}
		} else {
			err = w.Write(e)
		}
		if err == nil && g.rnd.IntN(12) == 0 {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Where two of the globals are, blocks come to lie; two others share 16 bytes, of some programs
	// with one that overlaps both, and one is there twice.
	globals, static := []int{0x40, 0x140, -0x80, -0x68}, g.data(0x200)
	if g.rnd.IntN(2) == 0 {
		globals = append(globals, -0x74, -0x68)
	}
	for i, at := range globals {
		apply(&trace.Event{Kind: trace.KindGlobal, Addr: trace.Addr(low + at), Size: 24, Aux: uint64(i + 1), Data: static[0x80+at:][:20]})
	}
	apply(&trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: low + 0x200, Size: 32, Name: "malloc"})
	apply(&trace.Event{Kind: trace.KindImage, Addr: low + 0x200, Size: 24, Data: g.data(24)})
	for range events {
		e := g.event()
		apply(&e)
	}
	if err := w.Finish(trace.Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	return g.h, path
}

// build makes the index of a trace.
func build(t testing.TB, path string) *Index { return buildWith(t, path, Feed) }

func buildWith(t testing.TB, path string, feed func(testing.TB, *Builder, *trace.Reader)) *Index {
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b, err := NewBuilder(path+".idx", 0o600, r)
	if err != nil {
		t.Fatal(err)
	}
	feed(t, b, r)
	if err := b.Finish(Notes{}); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path+".idx", r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// Feed gives a trace to a builder.
func Feed(t testing.TB, b *Builder, r *trace.Reader) { feedAnd(t, b, r, func(uint64) {}) }

// feedAnd gives a trace to a builder, and calls f after each event or run.
func feedAnd(t testing.TB, b *Builder, r *trace.Reader, f func(n uint64)) {
	var ev trace.Event
	for n := uint64(0); ; {
		run, err := r.NextBatch(&ev)
		if err != nil {
			return
		}
		if run == nil {
			err = b.Event(&ev)
		} else if err = b.Sites(r.Sites()); err == nil {
			err = b.Stores(run)
		}
		if err != nil {
			t.Fatal(n, err)
		}
		n++
		f(n)
	}
}

// TestSites: where the stores of another segment follow, which counts its sites from 0 again,
// each statement has its own.
func TestSites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.mgt")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := trace.NewWriter(f, trace.Program{})
	first, second := []trace.StoreSite{{PC: 1, Width: 8}}, []trace.StoreSite{{PC: 2, Width: 8}, {PC: 3, Width: 8}}
	for _, sites := range [][]trace.StoreSite{first, second} { // as long as what the builder is given
		if _, err := w.AddSites(sites); err != nil {
			t.Fatal(err)
		}
	}
	run := func(sites ...uint32) *trace.Stores {
		s := &trace.Stores{Thread: 1}
		for i, site := range sites {
			s.Recs = append(s.Recs, trace.StoreRec{Site: site, Addr: uint64(0x1000 + 8*i)})
		}
		return s
	}
	block := &trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 64, Name: "malloc"}
	if err := errors.Join(w.Write(block), w.WriteStores(run(0, 0, 1, 2)), w.Finish(trace.Trailer{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	x := buildWith(t, path, func(t testing.TB, b *Builder, r *trace.Reader) {
		for err := r.Next(new(trace.Event)); err == nil; {
			err = r.Next(new(trace.Event))
		}
		if err := errors.Join(b.Event(block), b.Sites(first), b.Stores(run(0, 0)), b.Sites(second), b.Stores(run(0, 1))); err != nil {
			t.Fatal(err)
		}
	})
	if d := cmp.Diff(map[trace.Addr]uint64{0: 1, 1: 2, 2: 1, 3: 1}, maps.Collect(x.Statements())); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(path + ".idx"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the index may be read by others than the trace: %v, %v", info.Mode(), err)
	}
}

// TestForgotten: an index is the same where nodes are forgotten while it is made.
func TestForgotten(t *testing.T) {
	for seed := range uint64(1) {
		h, path := program(t, seed, 45000)
		x := buildWith(t, path, func(t testing.TB, b *Builder, r *trace.Reader) {
			feedAnd(t, b, r, func(n uint64) {
				if n%3000 == 0 {
					b.found.limit = 0
				}
			})
			if n := b.hist.NodeCount(); b.hist.Remembered() > n*3/4 {
				t.Errorf("%d nodes of %d are remembered", b.hist.Remembered(), n)
			}
		})
		compareNodes(t, h, x)
		rnd := rand.New(rand.NewPCG(9, seed))
		for range 5 {
			compareAt(t, h, x, mgpp.Timestamp(rnd.Uint64N(uint64(h.Now())+1)), rnd)
		}
		if x.Err() != nil {
			t.Fatal(x.Err())
		}
	}
}

// TestRandomPrograms: an index answers every question at every time as the history
// does, which is itself held to a naive one (package mgpp).
func TestRandomPrograms(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h, path := program(t, seed, 100+10*int(seed))
			x := buildWith(t, path, func(t testing.TB, b *Builder, r *trace.Reader) {
				if seed%2 == 1 {
					b.long = 8 * seed
				}
				Feed(t, b, r)
			})
			compare(t, h, x)
			if x.Err() != nil {
				t.Fatal(x.Err())
			}
		})
	}
}

func compare(t *testing.T, h *mgpp.History, x *Index) {
	t.Helper()
	compareNodes(t, h, x)
	rnd := rand.New(rand.NewPCG(9, uint64(h.Now())))
	for at := mgpp.Timestamp(0); at <= h.Now(); at++ {
		compareAt(t, h, x, at, rnd)
		if t.Failed() {
			return
		}
	}
}

func compareNodes(t *testing.T, h *mgpp.History, x *Index) {
	t.Helper()
	if h.Now() != x.Now() || h.NodeCount() != x.NodeCount() {
		t.Fatalf("%d operations and %d nodes, want %d and %d", x.Now(), x.NodeCount(), h.Now(), h.NodeCount())
	}
	for id := mgpp.NodeID(1); int(id) <= h.NodeCount(); id++ {
		if d := cmp.Diff(h.Node(id), x.Node(id)); d != "" {
			t.Fatalf("node %d (-history +index)\n%s", id, d)
		}
		if d := cmp.Diff(h.Resizes(id), x.Resizes(id)); d != "" {
			t.Fatalf("resizes of node %d (-history +index)\n%s", id, d)
		}
	}
}

func compareAt(t *testing.T, h *mgpp.History, x *Index, at mgpp.Timestamp, rnd *rand.Rand) {
	a, b := h.Op(at), x.Op(at)
	if a.Node == 0 && a.Other != 0 {
		b.Other = a.Other // whom a stray write is judged against matters to faults only
	}
	a.Stack = nil // of births: compared with the nodes
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("operation %d (-history +index)\n%s", at, d)
	}
	if d := cmp.Diff(slices.Collect(h.Live(at)), slices.Collect(x.Live(at))); d != "" {
		t.Errorf("live at %d (-history +index)\n%s", at, d)
	}
	if p, q := h.LiveCount(at), x.LiveCount(at); p != q {
		t.Errorf("live at %d: %d, the index %d", at, p, q)
	}
	v, w := h.At(at), x.At(at)
	for id := range h.Live(at) {
		n, _ := v.Node(id)
		m, _ := w.Node(id)
		m.Alloc, m.Stack = n.Alloc, n.Stack // Index.Node says them
		if d := cmp.Diff(n, m); d != "" {
			t.Errorf("node %d at %d (-history +index)\n%s", id, at, d)
		}
		if n.Size == 0 || n.Size > 600 && rnd.IntN(20) > 0 {
			continue
		}
		p, q := mgpp.Bytes{Data: make([]byte, n.Size)}, mgpp.Bytes{Data: make([]byte, n.Size)}
		if okP, okQ := v.Read(n.Start, &p), w.Read(n.Start, &q); okP != okQ {
			t.Errorf("read node %d at %d: %v, the index %v", id, at, okP, okQ)
		}
		p.Newest, q.Newest = 0, 0
		if d := cmp.Diff(p, q); d != "" {
			t.Fatalf("bytes of node %d at %d (-history +index)\n%s", id, at, d)
		}
		for off := uint64(0); off+8 <= min(n.Size, 80); off += uint64(1 + rnd.IntN(8)) {
			c := n.Start + trace.Addr(off)
			as := coded.Pointer{Shift: uint8(rnd.IntN(2)) * 12}
			if d := cmp.Diff(v.Target(c, as), w.Target(c, as)); d != "" {
				t.Fatalf("target of %#x at %d (-history +index)\n%s", uint64(c), at, d)
			}
		}
		if p, q := h.LastWrite(n.Start, n.Size, at), x.LastWrite(n.Start, n.Size, at); p != q {
			t.Errorf("last write to node %d at %d: %d, the index %d", id, at, p, q)
		}
	}
	for range 10 {
		addr, size := trace.Addr(low-0x80+rnd.IntN(0x480)), uint64(1+rnd.IntN(12))
		if p, q := h.LastWrite(addr, size, at), x.LastWrite(addr, size, at); p != q {
			t.Errorf("last write to %#x, %d bytes, at %d: %d, the index %d %+v", uint64(addr), size, at, p, q, h.Op(q))
		}
		p, okP := v.NodeAt(addr)
		q, okQ := w.NodeAt(addr)
		if p != q || okP != okQ {
			t.Errorf("node at %#x at %d: %d, the index %d", uint64(addr), at, p, q)
		}
		p, _ = h.FormerAt(addr, at)
		if q, _ = x.FormerAt(addr, at); p != q {
			t.Errorf("former node at %#x at %d: %d, the index %d", uint64(addr), at, p, q)
		}
	}
	from := mgpp.Timestamp(rnd.Uint64N(uint64(at) + 1))
	p, q := h.Touched(from, at), x.Touched(from, at)
	for _, want := range p {
		i := slices.IndexFunc(q, func(x mgpp.Touch) bool { return x.Node == want.Node })
		if i < 0 || q[i].Lo > want.Lo || q[i].Hi < want.Hi {
			t.Errorf("touched in (%d, %d]: %v, the index %v", from, at, want, q)
		}
	}
	for id := range h.Live(at) {
		n, _ := v.Node(id)
		old, lived := h.At(from).Node(id)
		if !lived || old.Size != n.Size || n.Size == 0 {
			continue
		}
		var was, is mgpp.Bytes
		was.Data, is.Data = make([]byte, n.Size), make([]byte, n.Size)
		h.At(from).Read(n.Start, &was)
		v.Read(n.Start, &is)
		for _, touched := range [][]mgpp.Touch{p, q} {
			i := slices.IndexFunc(touched, func(x mgpp.Touch) bool { return x.Node == id })
			for off := range n.Size {
				in := i >= 0 && touched[i].Lo <= off && off < touched[i].Hi
				if !in && (was.Data[off] != is.Data[off] || was.Written[off] != is.Written[off]) {
					t.Fatalf("byte %d of node %d changed in (%d, %d], and is not in %v", off, id, from, at, touched)
				}
			}
		}
	}
}
