package cfg

import "slices"

// Loop is the code of a loop: of where it is entered, and of all that leads back there.
type Loop struct {
	blocks []span // ascending, disjoint
	insts  int
}

// Contains says that the instruction at pc is in the loop.
func (l Loop) Contains(pc uint64) bool { return contains(l.blocks, pc) }

// Len is the number of its instructions.
func (l Loop) Len() int { return l.insts }

// Graph is the code of a function, as far as direct jumps lead.
type Graph struct {
	b *builder
	g *graph
}

// Explore follows all ways from a function's entry.
func Explore(entry uint64, code Code) *Graph {
	b, g := explore(entry, code)
	return &Graph{b, g}
}

// Reached returns the instructions that may come to be executed after one of some, on ways that
// end at those of which stop says so.
func (g *Graph) Reached(from []uint64, stop func(pc uint64) bool) map[uint64]bool {
	seen := map[uint64]bool{}
	todo := slices.Clone(from)
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		in, ok := g.b.insts[pc]
		if !ok || stop(pc) {
			continue
		}
		g.b.successors(pc, in, func(to uint64) {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		})
	}
	return seen
}

// Loops returns the loops of the function, each before those around it.
//
//  1. Blocks from which ways lead to one another are a loop (strongly connected
//     components).
//  2. Those of them to which a way leads from outside are its heads. What is still a loop
//     without the ways to its heads is a loop inside: Steensgaard, "Sequentializing Program
//     Dependence Graphs for Irreducible Programs" (1993).
func (g *Graph) Loops() []Loop {
	f := &forest{g: g.g, cut: make([]bool, len(g.g.blocks))}
	all := make([]int, len(g.g.blocks))
	for i := range all {
		all[i] = i
	}
	f.inside(all)
	out := make([]Loop, len(f.found))
	for i, in := range f.found {
		for _, k := range in {
			out[i].blocks = append(out[i].blocks, g.b.f.blocks[k])
			out[i].insts += g.b.count(g.b.f.blocks[k])
		}
		slices.SortFunc(out[i].blocks, before)
	}
	return out
}

// count is how many instructions lie in a block.
func (b *builder) count(k span) (n int) {
	for pc := k.lo; pc < k.hi; pc += uint64(b.insts[pc].Len) {
		n++
	}
	return n
}

type forest struct {
	g     *graph
	cut   []bool  // blocks to which no way counts: the heads of loops around
	found [][]int // loops, by their blocks
}

// inside finds the loops among some blocks.
func (f *forest) inside(blocks []int) {
	for _, in := range f.components(blocks) {
		member := map[int]bool{}
		for _, k := range in {
			member[k] = true
		}
		heads := f.heads(member)
		for _, h := range heads {
			f.cut[h] = true
		}
		f.inside(in)
		for _, h := range heads {
			f.cut[h] = false
		}
		f.found = append(f.found, in)
	}
}

// heads are the blocks of a loop to which a way leads from outside; if there is none, as in
// code that begins with a loop, the first.
func (f *forest) heads(member map[int]bool) (out []int) {
	for i := range f.g.blocks {
		if member[i] {
			continue
		}
		for _, s := range f.g.blocks[i].succ {
			if member[s] && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		for k := range member {
			if len(out) == 0 || k < out[0] {
				out = []int{k}
			}
		}
	}
	return out
}

// components returns the strongly connected components of some blocks that are loops: R.
// Tarjan, "Depth-First Search and Linear Graph Algorithms" (1972).
func (f *forest) components(blocks []int) (out [][]int) {
	number, low := map[int]int{}, map[int]int{} // number: order of discovery, from 1
	member, on := map[int]bool{}, map[int]bool{}
	for _, k := range blocks {
		member[k] = true
	}
	var stack []int
	var visit func(int)
	visit = func(k int) {
		number[k] = len(number) + 1
		low[k] = number[k]
		stack, on[k] = append(stack, k), true
		itself := false
		for _, s := range f.g.blocks[k].succ {
			if s < 0 || !member[s] || f.cut[s] {
				continue
			}
			itself = itself || s == k
			if number[s] == 0 {
				visit(s)
				low[k] = min(low[k], low[s])
			} else if on[s] {
				low[k] = min(low[k], number[s])
			}
		}
		if low[k] < number[k] {
			return
		}
		i := slices.Index(stack, k)
		in := slices.Clone(stack[i:])
		stack = stack[:i]
		for _, x := range in {
			on[x] = false
		}
		if len(in) > 1 || itself {
			out = append(out, in)
		}
	}
	for _, k := range blocks {
		if number[k] == 0 {
			visit(k)
		}
	}
	return out
}
