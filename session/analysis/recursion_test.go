package analysis

import (
	"slices"
	"testing"

	"mgtrace/objfile"
	"mgtrace/replay"
	"mgtrace/trace"
)

// TestStackFull tells a stack that has come to its end from a pointer that leads nowhere.
func TestStackFull(t *testing.T) {
	for _, test := range []struct {
		what            string
		sp, fault, base uint64
		full            bool
	}{
		{"a call", 0x7f000000, 0x7efffff8, 0x7f000000, true},
		{"a large frame, of which the beginning is known", 0x7effff40, 0x7effff48, 0x7f000000, true},
		{"the same in a thread, whose last page mgtrace can read", 0x7effff40, 0x7effff48, 0x7efffec0, true},
		{"a pointer that leads nowhere", 0x7f000040, 0x1000, 0x7effffc0, false},
		{"one that leads behind the end of the stack", 0x7f000f40, 0x7f001008, 0x7f000ec0, false},
		{"where no memory was is not known", 0x7f000000, 0, 0x7f000000, false},
	} {
		d := death{fault: trace.Addr(test.fault), stack: replay.Stopped{Base: test.base, Stack: make([]byte, 64)}}
		if d.regs.Set(objfile.RegSP, test.sp); d.stackFull() != test.full {
			t.Errorf("%s: full is %v", test.what, !test.full)
		}
	}
}

// TestRecursed: calls on the stack, the innermost first, went along a circle of blocks, or along others.
func TestRecursed(t *testing.T) {
	const context, root = 0x9000, 0x9100
	chain := func(n int, with ...uint64) (calls [][]uint64) { // a call for each block, from the last of a chain of them outwards
		for i := range n {
			calls = append(calls, append([]uint64{uint64(0x1000 + 0x100*i)}, with...))
		}
		return calls
	}
	// Each block leads to the one that lies below it, as far as there is one, and to others.
	below := func(others ...[2]uint64) func(from, to uint64) uint64 {
		return func(from, to uint64) uint64 {
			if from < context && to+0x100 == from || slices.Contains(others, [2]uint64{from, to}) {
				return from + 8
			}
			return 0
		}
	}
	for _, test := range []struct {
		what  string
		calls [][]uint64
		links func(from, to uint64) uint64
		want  int // links of the circle
	}{
		{"a circle of three", slices.Concat(chain(3), chain(3), chain(3)), below([2]uint64{0x1000, 0x1200}), 3},
		{"a block that leads to itself", [][]uint64{{0x1000}, {0x1000}, {0x1000}}, below([2]uint64{0x1000, 0x1000}), 1},
		{"inlined calls, two a frame", [][]uint64{{0x1000, 0x1100}, {0x1200, 0x1000}, {0x1100, 0x1200}, {0x1000, 0x1100}}, below([2]uint64{0x1000, 0x1200}), 3},
		{"inlined calls, the whole circle in each frame", [][]uint64{{0x1000, 0x1100}, {0x1000, 0x1100}, {0x1000, 0x1100}}, below([2]uint64{0x1000, 0x1100}), 2},
		{"a chain", chain(12), below(), 0},
		{"a chain, linked both ways", chain(12), below([2]uint64{0x1000, 0x1100}, [2]uint64{0x1100, 0x1200}), 0},
		{"a chain, and a context that leads to itself", chain(12, context), below([2]uint64{context, context}), 0},
		{"a chain, and a context that leads to a root and back", chain(12, context, root), below([2]uint64{context, root}, [2]uint64{root, context}), 0},
	} {
		c := circling{linkTo: test.links}
		for _, nodes := range test.calls {
			c.calls = append(c.calls, recursion{nodes: nodes})
		}
		var got []link
		for _, node := range c.calls[0].nodes {
			if got = c.circle(0, []uint64{node}, nil); got != nil {
				break
			}
		}
		if len(got) != test.want {
			t.Errorf("%s: %d links, want %d", test.what, len(got), test.want)
		}
	}
}
