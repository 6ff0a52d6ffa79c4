package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What nodes hold in a field is alike too, whoever stores it: no number is negative, all are
// enumerators, all lie in a range, or each node keeps the first that it got. A store that is the
// first to break such a law is accused, however seldom its statement runs.

// maxFieldNodes is how many nodes are asked what they hold in a field.
const maxFieldNodes = 256

// farNumber is where numbers begin that may be far from others; counts and ranks are less.
const farNumber = 1024

// custom is what nodes held in a field at the last healthy C-point.
type custom struct {
	n       int   // nodes that held a number
	lo, hi  int64 // the least and the greatest
	strange int   // held what is no enumerator
	kept    bool  // none has got another number than its first: says nothing where all are 0, as nobody has counted yet
}

// ofField returns the law of its field that an execution broke, which its statement has kept
// earlier.
func (c *comparer) ofField(t mgpp.Timestamp, earlier []mgpp.Timestamp) (broken, bool) {
	w := c.write(t)
	if !c.in.looksFor(OfField) || !w.ok || !w.hasValue || !c.fields[w.field.path] || w.cell.Pointer || len(w.cell.Parts) > 0 {
		return broken{}, false
	}
	b := broken{t: t}
	number := signed(w.value, w.cell.Size)
	strange := !enumerator(&w.cell, w.value)
	changed := w.hadValue && w.was != w.value && c.in.Cells.Object(w.obj).Birth <= c.in.Healthy
	if !strange && !changed && number >= 0 && number < farNumber {
		return b, false
	}
	u := c.custom(w)
	switch b.of = u.n; {
	case strange && u.n >= enough && 10*u.strange <= u.n: // its type says as much
		b.law = LawEnumerator
	case u.n < minRelated:
	case number < 0 && u.lo >= 0 && !c.in.named(w.cell.Addr, t, number, u):
		b.law = LawNegative
	case u.far(number) && !c.in.named(w.cell.Addr, t, number, u):
		b.law = LawFar
	case changed && c.exchanged(t):
	case changed && u.kept && (u.lo != 0 || u.hi != 0) && !slices.ContainsFunc(earlier, func(t mgpp.Timestamp) bool { return c.write(t).field == w.field && c.replaced(t) }) && c.called(t):
		b.law = LawKept
	}
	return b, b.law != ""
}

// named: the specification provides for this number in a field, unlike what others hold.
func (in *Input) named(addr trace.Addr, t mgpp.Timestamp, number int64, others *custom) bool {
	m, ok := in.Model.(interface {
		Names(addr trace.Addr, v mgpp.View, number, lo, hi int64) bool
	})
	return ok && m.Names(addr, in.Model.View(t), number, others.lo, others.hi)
}

// replaced: an execution gave a node another number than it had got before.
func (c *comparer) replaced(t mgpp.Timestamp) bool {
	w := c.write(t)
	return w.ok && c.in.changed(t) && c.in.History.LastWrite(w.cell.Addr, uint64(w.cell.Size), t-1) > c.in.Cells.Object(w.obj).Birth
}

// exchanged: what an execution replaced in a node by what another one held went to that one: two nodes have exchanged
// their numbers, and neither has got a wrong one.
func (c *comparer) exchanged(t mgpp.Timestamp) bool {
	w := c.write(t)
	if !w.ok || !w.hasValue || !w.hadValue || w.value == w.was {
		return false
	}
	for e := max(c.in.Healthy, t-min(t, maxExchanged)) + 1; e <= min(c.in.At, t+maxExchanged); e++ {
		if op := c.in.History.Op(e); op.Kind != mgpp.OpStore || int(op.Size) != w.cell.Size {
			continue
		}
		if o := c.write(e); o.ok && o.obj != w.obj && o.field == w.field && o.hasValue && o.hadValue && o.value == w.was && o.was == w.value {
			return true
		}
	}
	return false
}

// maxExchanged is within how many operations two nodes exchange their numbers.
const maxExchanged = 8

// called: up to the last healthy C-point the function in whose call an operation ran had been called. What the
// first call of all does, as the first deletion, nobody has done before.
func (c *comparer) called(t mgpp.Timestamp) bool {
	f := c.in.within(t)
	for e := c.in.Healthy; e > 0 && c.in.Healthy-e < maxLearnt; e-- {
		if c.in.within(e) == f {
			return true
		}
	}
	return false
}

// signed is a number of some bytes.
func signed(v uint64, size int) int64 {
	shift := 64 - 8*size
	return int64(v<<shift) >> shift
}

// far: a number lies far from all that nodes hold, which differ much.
func (u *custom) far(n int64) bool {
	spread := uint64(u.hi - u.lo)
	return spread >= farNumber && (n > u.hi && uint64(n-u.hi) > spread/4 || n < u.lo && uint64(u.lo-n) > spread/4)
}

// enumerator: a cell that holds enumerators only may hold a number.
func enumerator(c *Cell, v uint64) bool {
	if len(c.Values) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Values, func(e int64) bool { return signed(uint64(e), c.Size) == signed(v, c.Size) })
}

// custom learns what nodes hold in the field that was written.
func (c *comparer) custom(w *write) *custom {
	u := c.customs[w.field]
	if u != nil {
		return u
	}
	u = &custom{kept: true}
	c.customs[w.field] = u
	offset, size := w.cell.Addr-c.in.Cells.Object(w.obj).Addr, uint64(w.cell.Size)
	view := c.in.Model.View(c.in.Healthy)
	for _, o := range c.in.Cells.Alike(w.obj, view, maxFieldNodes) {
		n := c.in.Cells.Object(o)
		v, ok := read(view, n.Addr+offset, w.cell.Size)
		if !ok {
			continue
		}
		number := signed(v, w.cell.Size)
		if u.n++; u.n == 1 {
			u.lo, u.hi = number, number
		}
		u.lo, u.hi = min(u.lo, number), max(u.hi, number)
		if !enumerator(&w.cell, v) {
			u.strange++
		}
		last := c.in.History.LastWrite(n.Addr+offset, size, c.in.Healthy)
		u.kept = u.kept && c.in.History.LastWrite(n.Addr+offset, size, last-min(last, 1)) <= n.Birth
	}
	return u
}

// handed are the stores that left a new node with another number than what the call in which it was made was given,
// where all like nodes have a number by as much more than an argument of theirs. It may be the first time that the
// statement runs: the law is of the nodes.
func (c *comparer) handed() (out []broken) {
	if c.in.Args == nil || c.in.Cut || !c.in.looksFor(OfField) {
		return nil
	}
	view := c.in.Model.View(c.in.At)
	nodes := 0
	for t := c.in.Healthy + 1; t <= c.in.At && nodes < maxNewborn; t++ {
		op := c.in.History.Op(t)
		if op.Kind != mgpp.OpBirth {
			continue
		}
		o := c.in.Cells.At(op.Addr, view)
		if o == 0 || c.in.Cells.Object(o).Birth != t {
			continue
		}
		nodes++
		for _, cell := range c.in.Cells.Fields(o, view) {
			if cell.Pointer || len(cell.Parts) > 0 || len(cell.Values) > 0 || !c.fields[General(cell.Path)] {
				continue
			}
			arg, by, of := c.handedLaw(o, cell)
			args := c.in.Args(t)
			v, ok := read(view, cell.Addr, cell.Size)
			if arg == 0 || arg > len(args) || !ok || signed(v-args[arg-1], cell.Size) == by {
				continue
			}
			if w := c.in.History.LastWrite(cell.Addr, uint64(cell.Size), c.in.At); w > c.in.Healthy && c.in.attributed(w) && !c.exchanged(w) {
				out = append(out, broken{t: w, law: LawHanded, of: of, origin: Origin{Arg: arg, By: by}})
			}
		}
	}
	return out
}

// fewHanded is how many nodes tell, if they have just what they were given, all other numbers than each other, and large ones. A
// quarter of all may have another one: what is wrong may have been so in nodes before, and broken nothing there.
const fewHanded = 4

// handedLaw is the argument of the calls in which like nodes were made that they all hold in a field, and by how
// much more that is; arg 0: there is none.
func (c *comparer) handedLaw(o graph.ObjID, cell Cell) (arg int, by int64, of int) {
	offset := cell.Addr - c.in.Cells.Object(o).Addr
	view := c.in.Model.View(c.in.Healthy)
	var diff [maxArgs]int64
	alive := [maxArgs]bool{}
	var given [maxArgs]map[uint64]bool // large numbers that were the argument: nobody can have counted so far
	values := map[uint64]bool{}
	for _, like := range c.in.Cells.Alike(o, view, maxFieldNodes) {
		n := c.in.Cells.Object(like)
		v, ok := read(view, n.Addr+offset, cell.Size)
		args := c.in.Args(n.Birth)
		if !ok || args == nil {
			continue
		}
		values[v] = true
		for k := range min(len(args), maxArgs) {
			d := signed(v-args[k], cell.Size)
			if of == 0 {
				diff[k], alive[k], given[k] = d, true, map[uint64]bool{}
			}
			alive[k] = alive[k] && d == diff[k]
			if d == 0 && v > uint64(c.in.At) && given[k] != nil {
				given[k][v] = true
			}
		}
		of++
	}
	for k := range alive {
		switch n := len(given[k]); {
		case alive[k] && of >= minRelated && len(values) >= minLike:
			return k + 1, diff[k], of
		case n >= fewHanded && 4*n >= 3*of:
			return k + 1, 0, n
		}
	}
	return 0, 0, 0
}
