package faultloc

import (
	"cmp"
	"encoding/binary"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Limits of the repair search: it is a search for the one cell, so it may stay
// near the inconsistency, and its cost must not grow with the structure.
const (
	maxRepairCells  = 96
	maxReads        = 4 * maxRepairCells // of one inconsistency, and of all
	maxRepairValues = 48
	maxRepairFound  = 256 // inconsistencies whose dependencies are candidates
	smallNumber     = 4096
	maxRange        = 64 // like nodes that are asked for the range of a field
	maxSample       = 16 // and whose values are tried
	fewRead         = 8  // cells that an inconsistency reads that tells precisely what is wrong
	maxWanting      = 8  // inconsistencies that are asked which values they want
	maxSaid         = 4  // values that equations say one cell holds
	maxInto         = 8  // cells that lead to one node
	maxRepairs      = 8
	maxFlawed       = 4  // repairs that break something
	maxMoved        = 16 // values in motion
	maxMovedTrials  = 120
	maxNewborn      = 8 // nodes made since the last healthy C-point
)

// candidate is a cell that may be wrong.
type candidate struct {
	Cell
	reaches int  // inconsistencies that depend on it
	astray  bool // a pointer that leads to no node
	fresh   bool // written since the last healthy C-point
	among   int  // the fewest cells that an inconsistency reads that reads it
}

// repair searches for (cell, value) pairs that make inconsistencies hold and
// break nothing.
//
//  1. cells: what the inconsistencies read, that which most of them read first
//  2. values: those that are plausible for the cell
//  3. each pair is tried; of each cell the value that cures most is kept
//  4. a repair goes if another cures all that it does, and more
//
// What was computed from a wrong value does not fit the right one. So those that break
// something, but cure more, are kept too where none mends all.
func (l *lab) repair(tb *contributions) []Repair {
	if l.in.Cells == nil || len(l.in.Found) == 0 {
		return nil
	}
	moved := append(l.inMotion(tb), l.newborn(tb)...)
	l.ask()
	var out, flawed []Repair
	most := 0
	cells := l.cells()
	for _, c := range cells {
		if c.reaches < most && most == len(l.in.Found) || l.exhausted() || len(out) == maxRepairs {
			break
		}
		r, ok := l.mend(c, moved)
		if !ok {
			r, ok = l.mendTold(c.Cell)
		}
		switch {
		case !ok || r.Created > 0 && r.Orphans > 0:
		case r.Created > 0:
			flawed = append(flawed, r)
		default:
			if c.Pointer || l.applies(r) {
				most = max(most, r.Cured)
			}
			out = append(out, r)
		}
	}
	// What was not written since all was well is no place where something went wrong, and what
	// should lead from nodes that were may mend as well.
	fresh := func(r Repair) bool { return l.in.fresh(r.Cell) }
	if all := len(l.in.Found); most < all || !slices.ContainsFunc(out, fresh) {
		l.limit = min(maxTrials, l.trials+maxMovedTrials)
		sound := slices.ContainsFunc(out, func(r Repair) bool { return r.Cured == all && r.Orphans == 0 })
		for _, c := range l.movedCells(tb, cells) {
			r, ok := l.mend(c, moved)
			if ok && r.Created == 0 && (r.Cured > most || most == all && r.Cured == all && r.Orphans == 0 && (fresh(r) || !sound)) {
				most = r.Cured
				out = append(out, r)
			}
		}
		l.limit = maxTrials
	}
	out = slices.DeleteFunc(out, func(r Repair) bool {
		return slices.ContainsFunc(out, func(s Repair) bool { return s.Cured > r.Cured && includes(s.cured, r.cured) })
	})
	if most == len(l.in.Found) {
		return out
	}
	if r, ok := l.joint(out); ok {
		out = append(out, r)
	}
	slices.SortStableFunc(flawed, func(a, b Repair) int { return b.gain() - a.gain() })
	return append(out, flawed[:min(len(flawed), maxFlawed)]...)
}

// fresh: a cell was written since the last healthy C-point.
func (in *Input) fresh(c Cell) bool {
	return in.History.LastWrite(c.Addr, uint64(c.Size), in.At) > in.Healthy
}

// gain orders repairs: what they cure, less what they break.
func (r *Repair) gain() int { return r.Cured - r.Created }

// mend finds the value of a cell that cures most and breaks least; among
// equals one that cuts nothing off, then the first.
func (l *lab) mend(c candidate, moved []uint64) (best Repair, ok bool) {
	inherited := l.inherited(c.Cell)
	for _, value := range l.values(c.Cell, inherited, moved) {
		if l.exhausted() {
			break
		}
		hypo := l.with(c.Cell, value)
		o, worth := l.try(hypo, max(1, best.gain()))
		if !worth || o.n-o.created < max(1, best.gain()) {
			continue
		}
		r := Repair{Cell: c.Cell, Value: value, Cured: o.n, Created: o.created, cured: o.cured, Orphans: l.orphans(hypo, c.Addr, uint64(c.Size))}
		if c.Pointer && l.ownLoop(c.Cell, value) {
			r.Orphans++
		}
		if ok && r.Created > best.Created && slices.Contains(inherited, best.Value) {
			continue
		}
		if !ok || r.gain() > best.gain() || r.Created < best.Created || r.Created == best.Created && r.Orphans < best.Orphans {
			best, ok = r, true
		}
		if all := len(l.in.Found); (o.n == all || o.n >= c.reaches && all > maxRepairFound) && r.Created == 0 && r.Orphans == 0 {
			break
		}
	}
	if ok && c.Pointer {
		best.Target = l.in.Cells.At(trace.Addr(best.Value), l.view)
		best.Dangles = l.dangles(best.Target, l.view)
	}
	best.Hides = ok && (!c.Pointer || l.bounds(best)) && (l.hides(l.with(c.Cell, best.Value), best.cured) || l.escapes(best))
	best.Given = ok && !c.Pointer && l.given(c.Cell) && !l.workedOut(c.Cell, best.Value)
	best.Flag = ok && !c.Pointer && signed(best.Value, c.Size)>>1 != 0 && l.flag(c.Cell)
	return best, ok
}

// escapes: what is broken is not asked of a node any more with a number that it never held, nor does another one hold it: a state that there is not.
func (l *lab) escapes(r Repair) bool {
	c := r.Cell
	if c.Pointer || len(c.Values) > 0 || l.applies(r) || slices.Contains(l.held(c, maxVersions), r.Value) || slices.Contains(l.said[c.Addr], r.Value) {
		return false
	}
	offset := c.Addr - l.in.Cells.Object(c.Obj).Addr
	return !slices.ContainsFunc(l.alike(c.Obj), func(o graph.ObjID) bool {
		v, ok := read(l.view, l.in.Cells.Object(o).Addr+offset, c.Size)
		return ok && v == r.Value
	})
}

// mendTold is the number with which all would hold that equations say a cell holds, where others of that node would break that say no other
// number: with the right one the program would have gone on otherwise, as with a node that nothing leads to any more.
func (l *lab) mendTold(c Cell) (r Repair, ok bool) {
	m, can := l.in.Model.(sayer)
	if !can || c.Pointer || len(c.Parts) > 0 || l.exhausted() {
		return r, false
	}
	var value uint64
	for _, inc := range l.in.Found {
		v, found := said(m, inc.Instance, l.view, c.Addr)
		if !found || ok && v != value {
			return r, false
		}
		value, ok = v, true
	}
	if !ok {
		return r, false
	}
	hypo := l.with(c, value)
	o, worth := l.try(hypo, anyLead)
	if !worth || o.n < len(l.in.Found) || len(o.made) > maxFollows {
		return r, false
	}
	for _, i := range o.made {
		if _, told := said(m, i, hypo, c.Addr); told || !slices.Contains(i.Nodes[:], c.Obj) {
			return r, false
		}
	}
	if l.hides(hypo, o.cured) {
		return r, false
	}
	return Repair{Cell: c, Value: value, Cured: o.n, Follows: len(o.made), Given: l.given(c) && !l.workedOut(c, value), cured: o.cured}, true
}

// maxFollows bounds what would ask for more with a number.
const maxFollows = 4

// bounds: a pointer says how far loops go, as the end of a vector does: with another one, an element that was broken is none any more. (Of the
// first element that is not seen: an instance without a loop has the index 0, too, and is absent where a node is cut off from its root.)
func (l *lab) bounds(r Repair) bool {
	hypo := r.on(l.view)
	for i, inc := range l.in.Found {
		if r.cured[i] && inc.Instance.Index != [3]int64{} && l.in.Model.Verdict(inc.Instance, hypo) == eval.Absent {
			return true
		}
	}
	return false
}

// ownLoop: a pointer would lead to its own node, to which nothing else leads: that does not make it a part of
// anything. The only node there is may be all of a ring.
func (l *lab) ownLoop(c Cell, value uint64) bool {
	return value != 0 && l.in.Cells.At(trace.Addr(value), l.view) == c.Obj && len(l.in.Cells.Into(c.Obj, l.view, 1)) == 0 && len(l.alike(c.Obj)) > 0
}

// dangles: a node, or the last of a chain that begins with it, leads to what was freed since the last healthy C-point, on a view. Were the
// node led to again, so would that be.
func (l *lab) dangles(o graph.ObjID, v mgpp.View) bool {
	if o == 0 {
		return false
	}
	healthy := l.in.Model.View(l.in.Healthy)
	return slices.ContainsFunc(l.in.Cells.Fields(o, l.view), func(c Cell) bool {
		offset := c.Addr - l.in.Cells.Object(o).Addr
		for at, n := o, 0; c.Pointer && at != 0 && n < maxChain; n++ {
			to, ok := read(v, l.in.Cells.Object(at).Addr+offset, c.Size)
			if !ok || to == 0 {
				return false
			}
			if at = l.in.Cells.At(trace.Addr(to), l.view); at != 0 {
				continue
			}
			was := l.in.Cells.At(trace.Addr(to), healthy)
			return was != 0 && l.in.Cells.Object(was).Death > l.in.Healthy
		}
		return false
	})
}

// maxChain bounds the nodes of a chain.
const maxChain = 64

// alike returns live objects of an object's type, nearest in time first.
func (l *lab) alike(o graph.ObjID) []graph.ObjID {
	like, known := l.like[o]
	if !known {
		like = l.in.Cells.Alike(o, l.view, maxRange)
		l.like[o] = like
	}
	return like
}

// with is the graph at the C-point with another value in a cell.
func (l *lab) with(c Cell, value uint64) mgpp.View { return with(l.view, c, value) }

// with is a view with another value in a cell.
func with(v mgpp.View, c Cell, value uint64) mgpp.View {
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], value)
	return mgpp.With(v, c.Addr, data[:c.Size])
}

// applies: what the repair cures holds then. A number that makes a guard false, so that
// nothing is asked of the node any more, or that makes a constraint look at less, is no
// reason to look no further.
func (l *lab) applies(r Repair) bool {
	if r.Hides {
		return false
	}
	hypo := r.on(l.view)
	for i, inc := range l.in.Found {
		if r.cured[i] && l.in.Model.Verdict(inc.Instance, hypo) == eval.NotApplicable {
			return false
		}
	}
	return true
}

// includes: a holds wherever b does.
func includes(a, b []bool) bool {
	for i := range b {
		if b[i] && !a[i] {
			return false
		}
	}
	return true
}

// cells lists the fields that the inconsistencies read, in the order in which
// they read them, each once; pointers that lead nowhere come first, then those that most
// of them read, then those that were written since the last healthy C-point: a population
// has many cells, and there are not trials for all.
func (l *lab) cells() []candidate {
	if l.wrong == nil {
		l.paths = map[string]bool{}
		l.wrong = l.findCells()
	}
	return l.wrong
}

// fields are the paths, without indices, of what the inconsistencies read, be it too much for
// candidates.
func (l *lab) fields() map[string]bool {
	l.cells()
	return l.paths
}

func (l *lab) findCells() []candidate {
	at := map[trace.Addr]int{}
	cellOf := map[trace.Addr]Cell{} // instances read much the same; of size 0: there is none
	var out []candidate
	cut := false
	for _, inc := range l.in.Found[:min(len(l.in.Found), maxRepairFound)] {
		mine := map[trace.Addr]bool{}
		reads := l.reads(inc.Instance)
		cut = cut || len(reads) >= maxReads
		for _, addr := range reads {
			c, known := cellOf[addr]
			if !known {
				c, _ = l.in.Cells.Cell(addr, l.view)
				cellOf[addr] = c
				l.paths[General(c.Path)] = true
			}
			if c.Size == 0 || mine[c.Addr] {
				continue
			}
			mine[c.Addr] = true
			if i, known := at[c.Addr]; known {
				out[i].reaches++
				out[i].among = min(out[i].among, len(reads))
			} else if len(out) < maxReads {
				at[c.Addr] = len(out)
				v, known := read(l.view, c.Addr, c.Size)
				astray := c.Pointer && known && v != 0 && l.in.Cells.At(trace.Addr(v), l.view) == 0
				out = append(out, candidate{c, 1, astray, l.in.fresh(c), len(reads)})
			} else {
				cut = true
			}
		}
	}
	if cut {
		for _, c := range l.left() {
			if _, known := at[c.Addr]; !known {
				out = append(out, candidate{c, 1, true, l.in.fresh(c), maxReads})
			}
		}
	}
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	many := len(out) > fewTrials // there may be no trials for all
	precise := func(c *candidate) bool { return many && c.fresh && c.among <= fewRead }
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(first(a.astray, b.astray), first(precise(&a), precise(&b)), b.reaches-a.reaches, first(a.fresh, b.fresh))
	})
	return out[:min(len(out), maxRepairCells)]
}

// movedCells are the pointers that were stored right before the C-point, and those of the nodes that
// contributing operations wrote, or linked, since the last healthy C-point: what should lead from there is
// read by no inconsistency as long as it does not.
func (l *lab) movedCells(tb *contributions, have []candidate) []candidate {
	var nodes []graph.ObjID
	add := func(o graph.ObjID) {
		if o != 0 && !slices.Contains(nodes, o) && len(nodes) < maxMoved {
			nodes = append(nodes, o)
		}
	}
	for _, t := range tb.order {
		if t <= l.in.Healthy {
			break
		}
		op := l.in.History.Op(t)
		add(l.in.Cells.At(op.Addr, l.view))
		if v, ok := read(l.in.Model.View(t), op.Addr, 8); ok && op.Kind == mgpp.OpStore && op.Size == 8 {
			add(l.in.Cells.At(trace.Addr(v), l.view))
		}
	}
	for _, o := range nodes { // what a new node leads to may have to lead back
		if l.in.Cells.Object(o).Birth <= l.in.Healthy {
			continue
		}
		for _, c := range l.in.Cells.Fields(o, l.view) {
			if v, ok := read(l.view, c.Addr, c.Size); ok && c.Pointer {
				add(l.in.Cells.At(trace.Addr(v), l.view))
			}
		}
	}
	var out []candidate
	take := func(c Cell) {
		known := func(h candidate) bool { return h.Addr == c.Addr }
		if c.Pointer && !slices.ContainsFunc(have, known) && !slices.ContainsFunc(out, known) && len(out) < maxRepairCells {
			out = append(out, candidate{Cell: c})
		}
	}
	for t := l.in.At; t > l.in.Healthy && l.in.At-t < maxStored; t-- {
		if op := l.in.History.Op(t); op.Kind == mgpp.OpStore && op.Size == 8 && l.in.attributed(t) {
			if c, ok := l.in.Cells.Cell(op.Addr, l.view); ok && c.Addr == op.Addr {
				take(c)
			}
		}
	}
	for _, o := range nodes {
		for _, c := range l.in.Cells.Fields(o, l.view) {
			take(c)
		}
	}
	return out
}

// maxStored is how many of the newest operations are looked at for pointers that they stored.
const maxStored = 32

// newborn returns the nodes that contributing operations made since the last healthy
// C-point, and the newest that others made: what hangs nowhere may be what is missing.
func (l *lab) newborn(tb *contributions) []uint64 {
	var out []uint64
	add := func(t mgpp.Timestamp) {
		if op := l.in.History.Op(t); op.Kind == mgpp.OpBirth && len(out) < maxNewborn {
			if o := l.in.Cells.At(op.Addr, l.view); o != 0 && !slices.Contains(out, uint64(op.Addr)) {
				out = append(out, uint64(op.Addr))
			}
		}
	}
	for _, t := range tb.order {
		if t > l.in.Healthy {
			add(t)
		}
	}
	for t := l.in.At; t > l.in.Healthy && l.in.At-t < maxNewborn*maxNewborn; t-- {
		add(t)
	}
	return out
}

// reads returns where the cells lie that an instance depends on.
func (l *lab) reads(i eval.Instance) []trace.Addr {
	var out []trace.Addr
	eval.Leaves(l.in.Model, l.in.Model.Eval(i, l.view).Deps, l.view, func(d eval.Dep) bool {
		switch {
		case d.Kind == eval.DepBytes && d.Size <= 8:
			out = append(out, d.Addr)
		case d.Kind == eval.DepIn:
			out = append(out, l.in.Cells.Into(d.Obj, l.view, maxInto)...)
		}
		return len(out) < maxReads
	})
	return out
}

// inMotion returns the pointers that contributing operations stored and
// overwrote: what a rotation lost is among them.
func (l *lab) inMotion(tb *contributions) []uint64 {
	var out []uint64
	for _, t := range tb.order {
		op := l.in.History.Op(t)
		if op.Kind != mgpp.OpStore || op.Size != 8 {
			continue
		}
		for _, at := range [2]mgpp.Timestamp{t - 1, t} {
			v, ok := read(l.in.Model.View(at), op.Addr, 8)
			if ok && v != 0 && !slices.Contains(out, v) && len(out) < maxMoved && l.in.Cells.At(trace.Addr(v), l.view) != 0 {
				out = append(out, v)
			}
		}
	}
	return out
}

// values lists plausible values of a cell: what it inherits; what it held before; for pointers
// what an order of two of them or a difference suggests, what is in motion, the nodes nearby, and NULL where such pointers end; for numbers what an equation says, what the same field
// holds in other nodes, their neighbours and, in a byte, other bits.
func (l *lab) values(c Cell, inherited, moved []uint64) []uint64 {
	now, known := read(l.view, c.Addr, c.Size)
	var out []uint64
	add := func(v uint64) {
		if c.Size < 8 {
			v &= 1<<(8*c.Size) - 1
		}
		if (!known || v != now && c.inOnePart(v, now)) && !slices.Contains(out, v) && len(out) < maxRepairValues {
			out = append(out, v)
		}
	}
	number := !c.Pointer && len(c.Values) == 0
	if number {
		for _, v := range l.said[c.Addr] {
			if fits(v, c.Size) {
				add(v)
			}
		}
	}
	if c.Pointer {
		for _, v := range slices.Concat(l.said[c.Addr], l.suit[c.Addr]) {
			add(v)
		}
	}
	plausible := l.plausible(c)
	for _, v := range l.wants {
		if number && fits(v, c.Size) && plausible(v) || c.Pointer && v != 0 && l.fits(c, v) {
			add(v)
		}
	}
	if known && number {
		for _, d := range l.lacks {
			for _, v := range [2]uint64{now + uint64(d), now - uint64(d)} {
				if fits(v, c.Size) && plausible(v) && int64(v) >= 0 {
					add(v)
				}
			}
		}
	}
	for _, v := range inherited {
		add(v)
	}
	for _, v := range l.held(c, 3) {
		add(v)
	}
	if c.Pointer {
		l.pointers(c, now, known, moved, add)
	} else {
		l.numbers(c, now, known, add)
	}
	return out
}

// held is what a cell held before each of its last writes, the newest first.
func (l *lab) held(c Cell, writes int) (out []uint64) {
	t := l.in.History.LastWrite(c.Addr, uint64(c.Size), l.in.At)
	for ; t > 0 && writes > 0; writes-- {
		if v, ok := read(l.in.Model.View(t-1), c.Addr, c.Size); ok {
			out = append(out, v)
		}
		t = l.in.History.LastWrite(c.Addr, uint64(c.Size), t-1)
	}
	return out
}

// fits: a number has room in so many bytes.
func fits(v uint64, size int) bool {
	if size >= 8 {
		return true
	}
	return v>>(8*size) == 0 || uint64(signed(v, size)) == v
}

// places is Places, of no object its beginning.
func (c *Cell) places(o graph.ObjID) []uint64 {
	if c.Places == nil || o == 0 {
		return []uint64{0}
	}
	return c.Places(o)
}

// fits: a pointer leads to where a cell's pointers may lead to.
func (l *lab) fits(c Cell, v uint64) bool {
	o := l.in.Cells.At(trace.Addr(v), l.view)
	if o == 0 {
		return false
	}
	at := v - uint64(l.in.Cells.Object(o).Addr)
	return slices.Contains(c.places(o), at) || c.Leads != nil && c.Leads(o, at)
}

// plausible tells which numbers a field may hold by what it holds in like nodes, and has held here: none
// large that is far beyond the least and the greatest. A count that were a key would be no repair, and
// to try it may take for ever.
func (l *lab) plausible(c Cell) func(uint64) bool {
	if c.Pointer || len(l.wants) == 0 {
		return func(uint64) bool { return true }
	}
	lo, hi, known := int64(0), int64(0), false
	note := func(v uint64, ok bool) {
		switch n := signed(v, c.Size); {
		case !ok:
		case !known:
			lo, hi, known = n, n, true
		default:
			lo, hi = min(lo, n), max(hi, n)
		}
	}
	note(read(l.view, c.Addr, c.Size))
	for _, v := range l.held(c, maxVersions) {
		note(v, true)
	}
	offset := c.Addr - l.in.Cells.Object(c.Obj).Addr
	for _, o := range l.alike(c.Obj) {
		note(read(l.view, l.in.Cells.Object(o).Addr+offset, c.Size))
	}
	spread := hi - lo
	if spread < 0 { // they lie too far apart for a number
		spread = 0
	}
	return func(v uint64) bool {
		n := signed(v, c.Size)
		return !known || n >= -smallNumber && n <= smallNumber || n >= lo-spread-2 && n <= hi+spread+2
	}
}

// ask asks the inconsistencies which values their comparisons want, by how much those that they compare
// differ, and what their equations say that cells hold, be it far from what there was in them before.
func (l *lab) ask() {
	m, ok := l.in.Model.(interface {
		Wants(eval.Instance, mgpp.View) []uint64
		Lacks(eval.Instance, mgpp.View) []int64
		Suits(eval.Instance, mgpp.View, func(addr trace.Addr, bits uint64))
		sayer
	})
	if !ok {
		return
	}
	l.wants, l.lacks, l.said, l.suit = nil, nil, map[trace.Addr][]uint64{}, map[trace.Addr][]uint64{}
	for _, inc := range l.in.Found[:min(len(l.in.Found), maxWanting)] {
		for _, v := range m.Wants(inc.Instance, l.view) {
			l.wants = include(l.wants, v, maxRepairValues/2)
		}
		for _, d := range m.Lacks(inc.Instance, l.view) {
			l.lacks = include(l.lacks, d, maxWanting)
		}
		m.Says(inc.Instance, l.view, func(addr trace.Addr, v uint64) {
			l.said[addr] = include(l.said[addr], v, maxSaid)
		})
		m.Suits(inc.Instance, l.view, func(addr trace.Addr, v uint64) {
			l.suit[addr] = include(l.suit[addr], v, maxSaid)
		})
	}
}

// include adds a value to a list of at most so many, if it is not there.
func include[T comparable](list []T, v T, most int) []T {
	if slices.Contains(list, v) || len(list) >= most {
		return list
	}
	return append(list, v)
}

// pointers may carry a tag. What it is now is tried with each, then others alone, then what was stored with others.
func (l *lab) pointers(c Cell, now uint64, known bool, moved []uint64, add func(uint64)) {
	mask := c.Tags
	if mask == 0 {
		mask = 7 // of one that is not declared
	}
	tag := uint64(0)
	if known {
		tag = now & mask
	}
	var leads []uint64 // where it may lead to
	loops := l.loops(c)
	var stored []uint64 // by others, and it may lead there
	for _, v := range moved {
		if o := l.in.Cells.At(trace.Addr(v), l.view); len(c.places(o)) > 0 && (o != c.Obj || loops) {
			stored, leads = append(stored, v), append(leads, v&^c.Tags)
		}
	}
	for _, o := range l.nearby(c) {
		if o == c.Obj && !loops {
			continue
		}
		for _, at := range c.places(o) {
			leads = append(leads, uint64(l.in.Cells.Object(o).Addr)+at)
		}
	}
	for _, to := range leads {
		add(to | tag)
	}
	if l.ends(c) {
		add(0)
	}
	if !known {
		return
	}
	flips := l.flips(c)
	for _, bit := range flips {
		add(now ^ bit)
	}
	for _, v := range stored {
		if len(flips) > 0 && v&^c.Tags != now&^c.Tags {
			add(v)
		}
	}
}

// loops: a pointer like this one leads to its own node, as in a ring of one; or there are too
// few to tell.
func (l *lab) loops(c Cell) bool {
	offset := c.Addr - l.in.Cells.Object(c.Obj).Addr
	like := l.alike(c.Obj)
	return len(like) < minLike || slices.ContainsFunc(like, func(o graph.ObjID) bool {
		v, ok := read(l.view, l.in.Cells.Object(o).Addr+offset, c.Size)
		return ok && l.in.Cells.At(trace.Addr(v), l.view) == o
	})
}

// ends: a pointer like this one is NULL, or was; or there are too few to tell. Where none ever
// was, NULL makes what a pointer should lead to go away, and mends nothing.
func (l *lab) ends(c Cell) bool {
	offset := c.Addr - l.in.Cells.Object(c.Obj).Addr
	like := l.alike(c.Obj)
	return len(like) < minLike || slices.ContainsFunc(like, func(o graph.ObjID) bool {
		n := l.in.Cells.Object(o)
		t := l.in.At
		for range maxVersions {
			view := l.in.Model.View(t)
			v, ok := read(view, n.Addr+offset, c.Size)
			if same, known := l.in.Cells.Cell(n.Addr+offset, view); ok && v&^c.Tags == 0 && known && same.Path == c.Path { // of a union
				return true
			}
			if t = l.in.History.LastWrite(n.Addr+offset, uint64(c.Size), t); t <= n.Birth {
				break
			}
			t--
		}
		return false
	})
}

// flips are the bits of a pointer's tag that may be otherwise: those that the specification declares and that are not the
// same in all pointers like this one; where it declares none, the two lowest, if such a pointer has one of them.
func (l *lab) flips(c Cell) (out []uint64) {
	offset := c.Addr - l.in.Cells.Object(c.Obj).Addr
	var ones, zeros uint64
	for _, o := range l.alike(c.Obj) {
		n := l.in.Cells.Object(o)
		v, ok := read(l.view, n.Addr+offset, c.Size)
		if !ok {
			continue
		}
		if to := l.in.Cells.At(trace.Addr(v&^c.Tags), l.view); c.Tags != 0 || v&3 != 0 && to != 0 && uint64(l.in.Cells.Object(to).Addr) == v&^7 {
			ones, zeros = ones|v, zeros|^v
		}
	}
	if c.Tags == 0 {
		if ones != 0 {
			out = []uint64{1, 2}
		}
		return out
	}
	for rest := c.Tags & ones & zeros; rest != 0 && len(out) < maxFlips; rest &= rest - 1 {
		out = append(out, rest&-rest)
	}
	return out
}

// maxFlips bounds the bits of a tag that are tried.
const maxFlips = 4

func (l *lab) numbers(c Cell, now uint64, known bool, add func(uint64)) {
	for _, v := range c.Values {
		add(uint64(v))
	}
	if len(c.Values) > 0 {
		return // an enumeration has no other values
	}
	offset := c.Addr - l.in.Cells.Object(c.Obj).Addr
	like := l.alike(c.Obj)
	for _, o := range like[:min(len(like), maxSample)] {
		if v, ok := read(l.view, l.in.Cells.Object(o).Addr+offset, c.Size); ok {
			add(v)
		}
	}
	negative := slices.ContainsFunc(like, func(o graph.ObjID) bool {
		v, ok := read(l.view, l.in.Cells.Object(o).Addr+offset, c.Size)
		return ok && signed(v, c.Size) < 0
	})
	less := func(v uint64) {
		if v != 0 || negative { // below 0 only where like nodes are
			add(v - 1)
		}
	}
	if known {
		add(now + 1)
		less(now)
	}
	near := l.near(c.Obj)
	for _, o := range near[:min(len(near), 4)] { // between neighbours in an order
		if n := l.in.Cells.Object(o); n.Type != l.in.Cells.Object(c.Obj).Type {
			continue
		}
		if v, ok := read(l.view, l.in.Cells.Object(o).Addr+offset, c.Size); ok {
			add(v + 1)
			less(v)
		}
	}
	for bit := 0; known && c.Size == 1 && bit < 8; bit++ {
		add(now ^ 1<<bit)
	}
}

// nearby returns the nodes bound by the inconsistencies, the cell's own, and
// the neighbours of all these.
func (l *lab) nearby(c Cell) []graph.ObjID {
	var out []graph.ObjID
	add := func(o graph.ObjID) {
		if o != 0 && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	for _, o := range l.about() {
		add(o)
	}
	add(c.Obj)
	for _, o := range slices.Clone(out) {
		for _, n := range l.near(o) {
			add(n)
		}
	}
	return out
}

// near returns some of the neighbours of a node. Those of the same nodes are asked for by each cell.
func (l *lab) near(o graph.ObjID) []graph.ObjID {
	n, known := l.neighbours[o]
	if !known {
		n = l.in.Cells.Near(o, l.view, 8)
		l.neighbours[o] = n
	}
	return n
}

// about returns the nodes that the inconsistencies are about, of some of these.
func (l *lab) about() []graph.ObjID {
	if l.subjects == nil {
		l.subjects = []graph.ObjID{}
		for _, inc := range l.mixed() {
			l.subjects = append(append(l.subjects, inc.Instance.Nodes[:]...), inc.Instance.SCC)
		}
	}
	return l.subjects
}

// mixed returns some of the inconsistencies, of each constraint as many.
func (l *lab) mixed() []eval.Inconsistency {
	byConstraint := map[int]int{}
	var turns [maxMixed][]eval.Inconsistency // the n-th of each constraint
	for _, inc := range l.in.Found {
		if n := byConstraint[inc.Instance.Constraint]; n < maxMixed {
			turns[n] = append(turns[n], inc)
			byConstraint[inc.Instance.Constraint]++
		}
	}
	all := slices.Concat(turns[:]...)
	return all[:min(len(all), maxMixed)]
}

// maxMixed bounds the inconsistencies whose nodes are taken as near.
const maxMixed = 16
