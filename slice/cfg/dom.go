package cfg

import "slices"

// graph is the basic blocks of a function. Block number len(blocks) is the exit.
type graph struct {
	blocks []block
	at     map[uint64]int // address → block
	ipdom  []int          // immediate post-dominators, by block
}

type block struct {
	lo, last uint64 // addresses of its first and its last instruction
	succ     []int  // without repetition; -1, the exit, until postDominate
}

func (g *graph) exit() int { return len(g.blocks) }

func (k *block) to(i int) {
	if !slices.Contains(k.succ, i) {
		k.succ = append(k.succ, i)
	}
}

// postDominate fills ipdom: the dominators of the reversed graph, as in Cooper,
// Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001). Blocks from
// which no way leads out get one, or they would have no post-dominator; how many
// such loops there are is returned.
func (g *graph) postDominate() (endless int) {
	n := len(g.blocks)
	pred := make([][]int, n+1) // successors in the reversed graph
	for i := range g.blocks {
		for j, s := range g.blocks[i].succ {
			if s < 0 {
				s = n
				g.blocks[i].succ[j] = n
			}
			pred[s] = append(pred[s], i)
		}
	}
	// 1. Post-order of the reversed graph from the exit.
	number := make([]int, n+1) // post-order number + 1; 0: not reached
	var order []int
	type visit struct{ node, next int }
	walk := func(from int) {
		stack := []visit{{from, 0}}
		number[from] = -1
		for len(stack) > 0 {
			v := &stack[len(stack)-1]
			if v.next < len(pred[v.node]) {
				p := pred[v.node][v.next]
				v.next++
				if number[p] == 0 {
					number[p] = -1
					stack = append(stack, visit{p, 0})
				}
				continue
			}
			stack = stack[:len(stack)-1]
			order = append(order, v.node)
		}
	}
	// The exit comes last in post-order: ways out for endless loops are added to
	// its list while it waits. The last block of the code is a loop's bottom, most often.
	reached := make([]bool, n+1)
	mark := func(from int) {
		todo := []int{from}
		reached[from] = true
		for len(todo) > 0 {
			x := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, p := range pred[x] {
				if !reached[p] {
					reached[p] = true
					todo = append(todo, p)
				}
			}
		}
	}
	mark(n)
	for i := n - 1; i >= 0; i-- {
		if !reached[i] {
			endless++
			g.blocks[i].succ = append(g.blocks[i].succ, n)
			pred[n] = append(pred[n], i)
			mark(i)
		}
	}
	walk(n)
	for i, b := range order {
		number[b] = i + 1
	}
	// 2. ipdom[b] = the nearest common post-dominator of b's successors, until
	// nothing changes.
	dom := make([]int, n+1)
	for i := range dom {
		dom[i] = -1
	}
	dom[n] = n
	meet := func(a, b int) int {
		for a != b {
			for number[a] < number[b] {
				a = dom[a]
			}
			for number[b] < number[a] {
				b = dom[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for i := len(order) - 1; i >= 0; i-- {
			b := order[i]
			if b == n {
				continue
			}
			d := -1
			for _, s := range g.blocks[b].succ {
				switch {
				case dom[s] < 0:
				case d < 0:
					d = s
				default:
					d = meet(d, s)
				}
			}
			if d != dom[b] {
				dom[b], changed = d, true
			}
		}
	}
	g.ipdom = dom
	return endless
}
