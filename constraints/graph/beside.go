package graph

import (
	"mgtrace/mgpp"
	"mgtrace/parallel"
)

// Where cells lead that wait is mostly found by a word of the history and a look at what lies where it points to, which
// waits for memory and changes nothing. So it is found on all processors, for many objects at a time; one goroutine
// notes it, in order.

const (
	resolveLeast = 1 << 11 // objects that are worth it
	resolveSlab  = 1 << 13 // objects at a time
	resolveBatch = 1 << 8  // objects that one goroutine looks at
)

// resolvedCell is where a cell leads, if that is known.
type resolvedCell struct {
	ref
	known bool
	to    ObjID
	off   uint64
}

// resolved is cells in the order of those that wait, in pieces.
type resolved struct {
	pieces [][]resolvedCell
	piece  int // of the next one
	at     int // its place there
}

// resolveBeside makes x the cells of objects that are to be looked at, resolved by as many goroutines at once as there are
// processors; none where that is not worth it.
func (g *Graph) resolveBeside(list []ObjID, x *resolved) {
	x.piece, x.at = 0, 0
	if _, ok := g.hist.(*mgpp.History); !ok || len(list) < resolveLeast {
		x.pieces = nil // any number may ask the history, but what stands for it may remember what it was asked
		return
	}
	n := (len(list) + resolveBatch - 1) / resolveBatch
	for len(x.pieces) < n {
		x.pieces = append(x.pieces, nil)
	}
	x.pieces = x.pieces[:n]
	parallel.Batches(len(list), resolveBatch, func(from, to int) {
		places := g.places
		cells := x.pieces[from/resolveBatch][:0] // they were used up
		for _, o := range list[from:to] {
			if b := g.objs.at(o); b.soiled == 0 || b.Death != 0 {
				continue
			}
			g.eachCell(o, g.objs.at(o).soiled, func(r ref) {
				to, off, known := g.quick(&places, r, g.now)
				cells = append(cells, resolvedCell{r, known, to, off})
			})
		}
		x.pieces[from/resolveBatch] = cells
	})
}

// next returns the next cell, which is r: they are asked for in order. nil: nothing is known of it.
func (x *resolved) next(r ref) *resolvedCell {
	for x.piece < len(x.pieces) && x.at == len(x.pieces[x.piece]) {
		x.piece, x.at = x.piece+1, 0
	}
	if x.piece == len(x.pieces) {
		return nil
	}
	c := &x.pieces[x.piece][x.at]
	if c.ref != r {
		panic("graph: a cell is resolved out of turn")
	}
	x.at++
	return c
}
