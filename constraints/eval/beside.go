package eval

import (
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/parallel"
)

// A check of everything waits for memory, node by node, and whoever feeds it waits for the check, while other
// processors have little to do. Nearly all that is found is that instances are surely healthy (surely.go), of which
// nothing remains. So that is found out on all processors, for many nodes at a time; in order, by one, only
// what is left is evaluated.

const (
	besideLeast = 1 << 13 // nodes of a type that are worth it
	besideSlab  = 1 << 16 // nodes at a time: then the evaluation may be stopped
	besideBatch = 1 << 10 // nodes that one goroutine looks at: a multiple of 64, no two share a word of bits
)

// well is a bit for each constraint of each node: it surely has nothing against any binding that begins with it.
type well []uint64

func (w well) has(i int) bool { return w != nil && w[i>>6]>>(i&63)&1 != 0 }

// wellBeside asks the constraints that can be of the nodes, as many at once as there are processors. nil: nothing is
// known.
func (e *env) wellBeside(nodes []graph.ObjID, list []*info) well {
	if _, ok := e.c.hist.(*mgpp.History); !ok || len(nodes) < besideLeast || !e.factual() {
		return nil // any number may ask the history, but what stands for it may remember what it was asked
	}
	ask := make([]bool, len(list))
	some := false
	for j, k := range list {
		ask[j] = k.surely != nil && !k.attrs // what is remembered of these is looked at by all
		some = some || ask[j]
	}
	if !some {
		return nil
	}
	w := make(well, (len(nodes)*len(list)+63)/64)
	held := make([][]bool, (len(nodes)+besideBatch-1)/besideBatch)
	parallel.Batches(len(nodes), besideBatch, func(from, to int) {
		own := newEnv(e.c, e.c.hist.At(e.t))
		own.held = make([]bool, len(e.held))
		held[from/besideBatch] = own.held
		for i := from; i < to; i++ {
			for j, k := range list {
				if !ask[j] {
					continue
				}
				own.clearFrame()
				own.vars[0] = nodes[i]
				if at := i*len(list) + j; own.healthyFrom(k) {
					w[at>>6] |= 1 << (at & 63)
				}
			}
		}
	})
	for _, h := range held {
		for i := range h {
			e.held[i] = e.held[i] || h[i]
		}
	}
	return w
}
