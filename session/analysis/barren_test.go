package analysis

import (
	"fmt"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"

	"github.com/google/go-cmp/cmp"
)

// closer notes what it is asked, and does what it is told.
type closer struct {
	asked   []string
	refuses bool
	open    bool // a request
}

func (c *closer) CloseBarren(block, addr, size uint64, _ int64) bool {
	if c.open {
		return false
	}
	c.asked = append(c.asked, fmt.Sprintf("%x: %x+%d", block, addr, size))
	c.open = true
	return true
}

func (c *closer) ClosedBarren() (closed, done bool) {
	c.open = false
	return !c.refuses, true
}

func (c *closer) CloseAlike(stack []trace.Addr, size, lo, hi uint64) bool {
	c.asked = append(c.asked, fmt.Sprintf("alike %x: %d but for %d to %d", uint64(stack[0]), size, lo, hi))
	return true
}

func (c *closer) OpenAlike(stack []trace.Addr) {
	c.asked = append(c.asked, fmt.Sprintf("open %x", uint64(stack[0])))
}

// Where much is stored and no node was ever made is closed, and nowhere else.
func TestBarren(t *testing.T) {
	const hot = barrenSample * (barrenAfter + 1)
	link := &types.Type{Kind: types.Struct, Name: "link", Size: 16}
	for _, c := range []struct {
		name    string
		do      func(w *barrenWorld)
		refuses bool
		want    []string
	}{
		{"a buffer", func(w *barrenWorld) { w.block(1, 0x900000, 256); w.store(0x900040, hot) }, false,
			[]string{"alike 1: 0 but for 0 to 0", "900000: 900000+256"}},
		{"many that do not live long", func(w *barrenWorld) {
			for range barrenAfter {
				w.block(1, 0x900000, 256)
				w.store(0x900040, barrenSample+1)
				w.event(trace.Event{Kind: trace.KindFree, Addr: 0x900000, Name: "free"})
			}
		}, false, []string{"alike 1: 0 but for 0 to 0"}},
		{"some that do not live long", func(w *barrenWorld) {
			for range barrenAfter / 2 {
				w.block(1, 0x900000, 256)
				w.store(0x900040, barrenSample+1)
				w.event(trace.Event{Kind: trace.KindFree, Addr: 0x900000, Name: "free"})
			}
		}, false, nil},
		{"seldom", func(w *barrenWorld) { w.block(1, 0x900000, 256); w.store(0x900040, hot/2) }, false, nil},
		{"once", func(w *barrenWorld) { w.block(1, 0x900000, 256); w.store(0x900040, 3*hot) }, false,
			[]string{"alike 1: 0 but for 0 to 0", "900000: 900000+256"}},
		{"again if that was refused", func(w *barrenWorld) { w.block(1, 0x900000, 256); w.store(0x900040, 2*hot+barrenSample) }, true,
			[]string{"alike 1: 0 but for 0 to 0", "900000: 900000+256", "900000: 900000+256"}},
		{"a node", func(w *barrenWorld) { w.block(1, 0x900000, 256); w.member(0x900040); w.store(0x900040, hot) }, false, nil},
		{"beside a node", func(w *barrenWorld) { w.block(1, 0x900000, 256); w.member(0x900040); w.store(0x900080, hot) }, false,
			[]string{"900000: 900050+176"}},
		{"where other blocks of the kind have their nodes", func(w *barrenWorld) { w.block(0x77, 0x900000, 64); w.store(0x900000, hot) }, false,
			[]string{"900000: 900000+64"}},
		{"where they have none", func(w *barrenWorld) {
			w.nodes(0x77, 0xa00000, barrenAlike)
			w.block(0x77, 0x900000, 64)
			w.store(0x900030, 2*barrenSample)
		}, false, []string{"alike 77: 64 but for 16 to 32"}},
		{"and then a node", func(w *barrenWorld) {
			w.block(1, 0x900000, 256)
			w.store(0x900040, hot)
			w.member(0x900040)
			w.store(0x900080, barrenSample)
		}, false, []string{"alike 1: 0 but for 0 to 0", "900000: 900000+256", "open 1"}},
		{"no block", func(w *barrenWorld) { w.store(0x900040, hot) }, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := &check.Spec{
				Types:   []*check.NodeType{{Name: "link", Layout: link, Intrusive: true}},
				Members: []check.Membership{{Func: "enter", Arg: 1}},
			}
			spec.Members[0].Type = spec.Types[0]
			prog := &trace.Program{Funcs: []trace.Func{{Name: "enter"}}}
			w := &barrenWorld{t: t, a: New(spec, prog, symbol.New(nil, &symbol.Sources{}), Options{})}
			w.check(w.a.Sites([]trace.StoreSite{{PC: 1, Width: 8}}))
			closer := &closer{refuses: c.refuses}
			w.a.CloseWith(closer)
			w.nodes(0x77, 0x100000, barrenHosts)
			c.do(w)
			if d := cmp.Diff(c.want, closer.asked); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			closed := len(c.want) > 0 && c.want[len(c.want)-1][:5] != "alike"
			if id, ok := w.a.Hist.NodeAtTime(0x900000, w.a.Hist.Now()); w.a.closedLate(id) != (ok && closed) {
				t.Errorf("closed: %v", !closed)
			}
		})
	}
}

// barrenWorld is a history in the making.
type barrenWorld struct {
	t *testing.T
	a *Analysis
}

func (w *barrenWorld) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *barrenWorld) event(ev trace.Event) { w.check(w.a.Event(&ev)) }

func (w *barrenWorld) block(stack, addr trace.Addr, size uint64) {
	w.event(trace.Event{Kind: trace.KindAlloc, Addr: addr, Size: size, Name: "malloc", Stack: []trace.Addr{stack}})
}

func (w *barrenWorld) member(addr trace.Addr) {
	w.event(trace.Event{Kind: trace.KindCall, Aux: 1, SP: 0x7fff0000, Args: []uint64{uint64(addr)}})
	w.event(trace.Event{Kind: trace.KindReturn, Aux: 1, SP: 0x7fff0000})
}

// nodes makes blocks of 64 bytes with a node in the second 16.
func (w *barrenWorld) nodes(stack, addr trace.Addr, n int) {
	for i := range n {
		at := addr + trace.Addr(i)*0x100
		w.block(stack, at, 64)
		w.member(at + 16)
	}
}

// store stores at an address, so many times.
func (w *barrenWorld) store(addr uint64, times int) {
	run := trace.Stores{Thread: 1}
	for i := range times {
		if run.Recs = append(run.Recs, trace.StoreRec{Addr: addr, Value: uint64(i)}); len(run.Recs) == 1000 || i == times-1 {
			w.check(w.a.Stores(&run))
			run.Recs = nil
		}
	}
}
