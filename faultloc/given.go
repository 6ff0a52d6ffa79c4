package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// given: like nodes get a field with their birth and keep it, or have it from an argument of a call of the watched
// function, and many of them have values of their own in it, as in a key; or few have, which are larger than all
// changes are that could have counted so far. It is what the program was given, not what it made out; another
// one fits wherever the node may be. Not so what one call stored and then overwrote.
func (l *lab) given(c Cell) bool {
	offset, size := c.Addr-l.in.Cells.Object(c.Obj).Addr, uint64(c.Size)
	if l.overwritten(c) {
		return false
	}
	like := l.alike(c.Obj)
	values := map[uint64]bool{}
	handed, large := 0, 0
	if len(like) < minLike && !slices.Contains(like, c.Obj) {
		like = append([]graph.ObjID{c.Obj}, like...) // of few nodes its own tells as much as another one
	}
	for _, o := range like {
		n := l.in.Cells.Object(o)
		last := l.in.History.LastWrite(n.Addr+offset, size, l.in.At)
		v, ok := read(l.view, n.Addr+offset, c.Size)
		asked := ok && l.in.argument(last, v, c.Size)
		if last <= n.Birth || !asked && l.in.History.LastWrite(n.Addr+offset, size, last-1) > n.Birth {
			return false
		}
		if ok {
			values[v] = true
		}
		if asked {
			handed++
		}
		if n := signed(v, c.Size); ok && max(n, -n) > int64(l.in.last()) {
			large++
		}
	}
	return (len(values) >= minLike || len(values) > 1 && (handed == len(like) || large == len(like))) && 4*len(values) >= len(like)
}

// overwritten: what a field holds was stored over what the same call had stored before, and it is not what
// the call was given. Which call that was is known where functions are watched.
func (l *lab) overwritten(c Cell) bool {
	in, size := &l.in, uint64(c.Size)
	last := in.History.LastWrite(c.Addr, size, in.At)
	if last == 0 || len(in.Moments) == 0 {
		return false
	}
	before := in.History.LastWrite(c.Addr, size, last-1)
	if before <= in.Cells.Object(c.Obj).Birth {
		return false
	}
	if i, _ := slices.BinarySearch(in.Moments, before); i < len(in.Moments) && in.Moments[i] < last {
		return false // between two calls
	}
	v, ok := read(l.view, c.Addr, c.Size)
	return ok && !in.argument(last, v, c.Size)
}

// argument: a number is an argument of the call of the watched function in which an operation ran.
func (in *Input) argument(t mgpp.Timestamp, v uint64, size int) bool {
	return in.Args != nil && slices.ContainsFunc(in.Args(t), func(a uint64) bool { return signed(a, size) == signed(v, size) })
}
