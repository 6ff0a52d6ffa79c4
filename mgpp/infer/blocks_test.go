package infer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/trace"
)

// shown is blocks as START+SIZE, with † at the end of those that died and what they grew to.
func shown(blocks []Block) string {
	var out []string
	for _, b := range blocks {
		s := fmt.Sprintf("%x+%d", b.Start, b.Size)
		if i := slices.IndexFunc(blocks, func(x Block) bool { return x.Node == b.From }); i >= 0 {
			s = fmt.Sprintf("%x↷%s", blocks[i].Start, s)
		}
		for _, g := range b.Grown {
			s += fmt.Sprintf("→%d", g.Size)
		}
		if b.Died.Instant != 0 {
			s += "†"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// at makes each step of a graph a moment of its own.
func at(g *Graph, steps ...func()) {
	for i, f := range steps {
		g.Present(trace.Instant(i+1), 1)
		f()
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		steps func(*Graph) []func()
		want  string
	}{
		{"a block has its extent from its birth on", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Touch(1, 0x1000, 8) },
				func() { g.Offset(1, 0x1000, 0x1010, 4) },
			}
		}, "1000+20"},
		{"what is split was a block of its own", Options{Allocator: true}, func(g *Graph) []func() {
			return []func(){
				func() { g.Offset(1, 0x1000, 0x1008, 8) },
				func() { g.Offset(1, 0x1000, 0x1020, 8) },
				func() { g.Touch(1, 0x1000, 8) },
				func() { g.Store(1, 0x1008, 8, 0x1020, 0) },
			}
		}, "1000+16 1020+8"},
		{"what is merged has died, and what was before it has grown", Options{Allocator: true}, func(g *Graph) []func() {
			return []func(){
				func() { g.Touch(1, 0x1000, 8) },
				func() { g.Touch(1, 0x1010, 8) },
				func() { g.Offset(1, 0x1000, 0x1010, 8) },
			}
		}, "1000+8→24 1010+8†"},
		{"merged and split again it has stayed what it was", Options{Allocator: true}, func(g *Graph) []func() {
			return []func(){
				func() { g.Touch(1, 0x1000, 8) },
				func() { g.Touch(1, 0x1010, 8) },
				func() { g.Offset(1, 0x1000, 0x1010, 8) },
				func() { g.Store(1, 0x1000, 8, 0x1010, 0) },
			}
		}, "1000+8 1010+8"},
		{"what is given out again has another life", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Begin(0x1000, Moment{Instant: 1}) },
				func() { g.Offset(1, 0x1000, 0x1018, 8) },
				func() { g.Begin(0x1000, Moment{Instant: 3}) },
				func() { g.Offset(1, 0x1000, 0x1008, 8) },
				func() { g.End(1, 0x1000) },
			}
		}, "1000+32† 1000+16†"},
		{"what an allocator moved goes on elsewhere", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Begin(0x1000, Moment{Instant: 1}) },
				func() { g.Offset(1, 0x1000, 0x1008, 8) },
				func() { g.Move(0x1000, 0x1000, Moment{Instant: 3}) }, // in its place
				func() { g.Move(0x1000, 0x1080, Moment{Instant: 4}) },
				func() { g.Offset(1, 0x1080, 0x1090, 8) },
			}
		}, "1000+16† 1000↷1080+24"},
		{"an access whose origin is not seen is of the block around it", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Touch(1, 0x1010, 8) },
				func() { g.Begin(0x1000, Moment{Instant: 1}) },
				func() { g.Offset(1, 0x1000, 0x1018, 8) },
			}
		}, "1000+32"},
		{"a block ends where the next begins", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Begin(0x1000, Moment{Instant: 1}) },
				func() { g.Offset(1, 0x1000, 0x1000, 64) },
				func() { g.Begin(0x1020, Moment{Instant: 3}) },
				func() { g.Touch(1, 0x1020, 8) },
			}
		}, "1000+32 1020+8"},
		// The limits of thesis 3.4. The first: a number that looks like an address makes
		// no block where nothing is accessed …
		{"a number like an address", Options{Allocator: true}, func(g *Graph) []func() {
			return []func(){
				func() { g.Offset(1, 0x1000, 0x1008, 8) },
				func() { g.Store(1, 0x1000, 8, 0x1080, 0) },
			}
		}, "1000+16"},
		// … and cuts a block in two where one is.
		{"a number like an address in a block", Options{Allocator: true}, func(g *Graph) []func() {
			return []func(){
				func() { g.Offset(1, 0x1000, 0x1008, 8) },
				func() { g.Store(1, 0x1000, 8, 0x1008, 0) },
			}
		}, "1008+8 1000+8"},
		{"a number like an address in a block, the allocator left out", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Begin(0x1000, Moment{Instant: 1}) },
				func() { g.Offset(1, 0x1000, 0x1008, 8) },
				func() { g.Store(1, 0x1000, 8, 0x1008, 0x1000) },
			}
		}, "1000+16"},
		// The second: fields at the end that nobody uses are not seen.
		{"trailing fields", Options{}, func(g *Graph) []func() {
			return []func(){
				func() { g.Begin(0x1000, Moment{Instant: 1}) }, // of 64 bytes
				func() { g.Offset(1, 0x1000, 0x1010, 8) },
			}
		}, "1000+24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Heap = heap
			g := New(c.o)
			at(g, c.steps(g)...)
			if got := shown(g.Blocks()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Blocks that live at the same time share no byte, whatever happened.
func TestBlocksApart(t *testing.T) {
	for seed := range uint64(200) {
		g := New(Options{Allocator: seed%2 == 0, Heap: heap})
		for i, s := range random(seed) {
			g.Present(trace.Instant(i+1), 1)
			s(g)
		}
		g.sound(t)
		all := g.Blocks()
		for i, a := range all {
			for _, b := range all[:i] {
				if a.Start < b.Start+trace.Addr(b.Size) && b.Start < a.Start+trace.Addr(a.Size) && (b.died == 0 || b.died > a.born) && (a.died == 0 || a.died > b.born) {
					t.Fatalf("seed %d: %+v and %+v of\n%s", seed, a, b, shown(all))
				}
			}
		}
	}
}
