package analysis

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"

	"github.com/google/go-cmp/cmp"
)

// A graph that follows the history from run to run is that which takes it over at the end.
func TestTake(t *testing.T) {
	const (
		objects = 0x1000 // two of them, with something else in front, between and behind
		stride  = 0x400
		heap    = 0x100000
	)
	pointer := &types.Type{Kind: types.Pointer, Size: 8}
	table := &types.Type{Kind: types.Struct, Name: "table", Size: 64}
	for i := range int64(4) {
		table.Members = append(table.Members, types.Member{Name: fmt.Sprint("p", i), Type: pointer, Offset: 16 * i})
	}
	newOne := func(o Options) *Analysis {
		spec := &check.Spec{Globals: []check.Global{{Name: "a", Layout: table, Size: 64}, {Name: "b", Layout: table, Size: 64}}}
		return New(spec, &trace.Program{}, symbol.New(nil, &symbol.Sources{}), o)
	}
	sites := []trace.StoreSite{{PC: 1, Width: 8}, {PC: 2, Width: 4}, {PC: 3, Width: 1}, {PC: 4, Width: 16}}
	seen, overlooked := 0, 0
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		follows, late := newOne(Options{}), newOne(Options{NoCheck: true})
		if !follows.eager() || late.eager() {
			t.Fatal("both are of one kind")
		}
		both := func(f func(a *Analysis) error) {
			t.Helper()
			for _, a := range [2]*Analysis{follows, late} {
				if err := f(a); err != nil {
					t.Fatal(err)
				}
			}
		}
		event := func(ev trace.Event) { both(func(a *Analysis) error { return a.Event(&ev) }) }
		both(func(a *Analysis) error { return a.Sites(sites) })
		for i := range uint64(2) {
			event(trace.Event{Kind: trace.KindGlobal, Aux: i + 1, Name: string(rune('a' + i)), Addr: trace.Addr(objects + i*stride), Size: 64, Data: make([]byte, 64)})
		}
		event(trace.Event{Kind: trace.KindAlloc, Addr: heap, Size: 4096, Name: "malloc"})
		target := func() uint64 {
			if r.IntN(2) == 0 {
				return heap + 8*uint64(r.IntN(512))
			}
			return objects + uint64(r.IntN(2))*stride + 4*uint64(r.IntN(18)) - 4
		}
		runs, asks := 20, 4
		if seed%5 == 0 { // so much that nobody looks at it as it comes
			runs, asks = 150, 100
		}
		for range runs {
			run := trace.Stores{Thread: 1, Wall: -1, Wide: make([]byte, 16)}
			where := r.IntN(3) // mostly one kind of place, as programs have it
			for range 1 + r.IntN(60) {
				rec := trace.StoreRec{Site: uint32(r.IntN(len(sites))), Addr: target(), Value: target()}
				if where == 0 && r.IntN(20) > 0 {
					rec.Addr = heap + 8*uint64(r.IntN(512))
				}
				switch sites[rec.Site].Width {
				case 16:
					rec.Value = 0
				case 4:
					rec.Value = uint64(uint32(rec.Value))
				case 1:
					rec.Value = uint64(uint8(rec.Value))
				}
				run.Recs = append(run.Recs, rec)
			}
			both(func(a *Analysis) error { own := run; return a.Stores(&own) })
			if r.IntN(2) == 0 {
				event(trace.Event{Kind: trace.KindBulk, Addr: trace.Addr(target()), Size: 24, Data: make([]byte, 24), Name: "memset"})
			}
			if follows.Graph.Overlooks() {
				overlooked++
			}
			if r.IntN(asks) == 0 {
				follows.Graph.Advance()
				follows.Graph.Follow()
			}
		}
		follows.Graph.Advance()
		late.Graph.Advance()
		if a, b := follows.Hist.Now(), late.Hist.Now(); a != b || a < 100 || follows.Graph.Now() != a {
			t.Fatalf("seed %d: %d changes, %d in the graph, and %d", seed, follows.Graph.Now(), a, b)
		}
		edges := func(a *Analysis) (out []string) {
			for at := mgpp.Timestamp(0); at <= a.Hist.Now(); at += 7 {
				for o := graph.ObjID(1); int(o) <= a.Graph.Objects(); o++ {
					for _, ref := range a.Graph.AppendRefs(a.Hist.At(at), nil, o, nil) {
						out = append(out, fmt.Sprintf("at %d %x -> %s + %d", at, uint64(ref.Addr), a.Graph.Name(o), ref.Off))
					}
				}
			}
			return out
		}
		got, want := edges(follows), edges(late)
		seen += len(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-at the end +from run to run):\n%s", seed, d)
		}
	}
	if seen < 1000 || overlooked < 100 {
		t.Errorf("%d edges, %d runs that nobody looked at: the test tests little", seen, overlooked)
	}
}
