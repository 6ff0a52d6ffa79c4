package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// given: like nodes get a field with their birth and keep it, or have it from an argument of a call of the watched
// function, and many of them have values of their own in it, as in a key; or few have, which are larger than all
// changes are that could have counted so far; of the only one both must be so. It is what the program was given, not what it made out; another
// one fits wherever the node may be. Not so what one call stored and then overwrote.
func (l *lab) given(c Cell) bool {
	offset, size := c.Addr-l.in.Cells.Object(c.Obj).Addr, uint64(c.Size)
	if l.overwritten(c) {
		return false
	}
	if General(c.Path) != c.Path && l.givenElement(c) {
		return true
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
	if len(like) == 1 {
		return handed == 1 && large == 1
	}
	return (len(values) >= minLike || len(values) > 1 && (handed == len(like) || large == len(like))) && 4*len(values) >= len(like)
}

// workedOut: an equation says that a number should be another one, and it is none of the arguments of the call that stored it, which are
// known: it is not what the program was given.
func (l *lab) workedOut(c Cell, v uint64) bool {
	last := l.in.History.LastWrite(c.Addr, uint64(c.Size), l.in.At)
	now, ok := read(l.view, c.Addr, c.Size)
	return ok && l.in.Args != nil && l.in.Args(last) != nil && !l.in.argument(last, now, c.Size) && slices.Contains(l.said[c.Addr], v)
}

// givenElement is the same of an element of an array: each that was written in a call of a watched function, and then not cleared,
// holds what was an argument of that call.
func (l *lab) givenElement(c Cell) bool {
	values := map[uint64]bool{}
	for _, o := range append(l.besides(c), c) {
		last := l.in.History.LastWrite(o.Addr, uint64(o.Size), l.in.At)
		v, ok := read(l.view, o.Addr, o.Size)
		switch {
		case !ok || v == 0 && o.Addr != c.Addr:
		case !l.in.argument(last, v, o.Size):
			return false
		default:
			values[v] = true
		}
	}
	return len(values) >= minGiven
}

// minGiven is how many different values tell of elements.
const minGiven = 4

// flag: all like cells, eight at least, hold 0 or 1, and there are both. Another number is none of theirs.
func (l *lab) flag(c Cell) bool {
	var n [2]int
	for _, addr := range l.likeCells(c) {
		if v, ok := read(l.view, addr, c.Size); ok {
			if v > 1 {
				return false
			}
			n[v]++
		}
	}
	return n[0] > 1 && n[1] > 1 && n[0]+n[1] >= minLike
}

// likeCells are where like nodes have a field, and of an element of an array the others.
func (l *lab) likeCells(c Cell) (out []trace.Addr) {
	obj := l.in.Cells.Object(c.Obj)
	for _, o := range l.alike(c.Obj) {
		if n := l.in.Cells.Object(o); uint64(c.Addr-obj.Addr)+uint64(c.Size) <= n.Size {
			out = append(out, n.Addr+(c.Addr-obj.Addr))
		}
	}
	if General(c.Path) != c.Path {
		for _, o := range l.besides(c) {
			out = append(out, o.Addr)
		}
	}
	return out
}

// besides are the other elements of the array that an element is of.
func (l *lab) besides(c Cell) []Cell {
	return slices.DeleteFunc(l.in.Cells.Fields(c.Obj, l.view), func(o Cell) bool {
		return o.Addr == c.Addr || o.Size != c.Size || General(o.Path) != General(c.Path)
	})
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
