package faultloc

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What is freed was taken out before. Where a pointer still leads to it, the statement is missing that takes such pointers away.

// maxReleased bounds the earlier frees that are asked who had taken the node out.
const maxReleased = 48

// released finds, of a pointer to a node that was freed since the last healthy C-point, the statement that took this field's pointer away
// from nodes that the same statement freed before that.
func released(in Input, r *Repair) (Suspect, bool) {
	by, of, ok := in.releasedBy(r.Cell)
	if !ok {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(by.newest).PC, Operation: by.newest, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Missing, Often: by.often, Of: of, Released: true}},
	}, true
}

// releasedBy is what is known of that statement, and of how many nodes the field's pointer was taken away.
func (in *Input) releasedBy(cell Cell) (best writer, of int, ok bool) {
	free := in.freed(cell)
	if free == 0 || in.fresh(cell) || in.History.Deed(free).PC == 0 {
		return best, 0, false
	}
	own := in.Cells.Object(cell.Obj)
	writers := map[string]writer{}
	in.earlier(free, in.Healthy, func(t mgpp.Timestamp) bool {
		for at := range in.taken(in.History.Op(t).Addr, t, 0) {
			c, ok := in.cellAt(in.History.Op(at), in.Model.View(at))
			if !ok || General(c.Path) != General(cell.Path) || in.Cells.Object(c.Obj).Type != own.Type {
				continue
			}
			st := in.statement(at)
			w := writers[st]
			w.often, w.newest = w.often+1, max(w.newest, at)
			writers[st] = w
			of++
			break
		}
		return of < maxReleased
	})
	for _, w := range writers {
		if w.before(best) {
			best = w
		}
	}
	return best, of, best.often >= enough && 2*best.often > of
}

// freed is when the node died to which a cell's pointer still leads, since the last healthy C-point; 0: it leads to no such one.
func (in *Input) freed(c Cell) mgpp.Timestamp {
	now, known := read(in.Model.View(in.At), c.Addr, c.Size)
	if !known || !c.Pointer || now == 0 || in.Cells.At(trace.Addr(now), in.Model.View(in.At)) != 0 {
		return 0
	}
	o := in.Cells.At(trace.Addr(now), in.Model.View(in.Healthy))
	if o == 0 {
		return 0
	}
	if death := in.Cells.Object(o).Death; death > in.Healthy && death <= in.At {
		return death
	}
	return 0
}

// left are pointers to nodes that were freed since the last healthy C-point, of the newest frees: where inconsistencies read more than is
// looked at, these may be among the rest. It is known who takes such pointers away: else nothing would tell beside what that is missing.
func (l *lab) left() (out []Cell) {
	frees := 0
	for t := l.in.At; t > l.in.Healthy && l.in.At-t < maxUnlike && frees < maxNewborn; t-- {
		op := l.in.History.Op(t)
		if op.Kind != mgpp.OpDeath {
			continue
		}
		frees++
		o := l.in.Cells.At(op.Addr, l.in.Model.View(t-1))
		if o == 0 {
			continue
		}
		for _, ref := range l.in.Cells.Left(l.view, o) {
			c, ok := l.in.Cells.Cell(ref.Addr, l.view)
			if !ok || !c.Pointer || len(out) == maxInto {
				continue
			}
			if _, _, known := l.in.releasedBy(c); known {
				out = append(out, c)
			}
		}
	}
	return out
}

// inherited is where a node led that was freed since the last healthy C-point and to which a pointer still leads: who takes a node out puts
// that in its place.
func (l *lab) inherited(c Cell) (out []uint64) {
	death := l.in.freed(c)
	if death == 0 {
		return nil
	}
	last := l.in.Model.View(death - 1)
	now, _ := read(l.view, c.Addr, c.Size)
	for _, f := range l.in.Cells.Fields(l.in.Cells.At(trace.Addr(now), last), last) {
		v, ok := read(last, f.Addr, f.Size)
		o := l.in.Cells.At(trace.Addr(v), l.view)
		if f.Pointer && ok && (v == 0 && l.ends(c) || o != 0 && o != c.Obj && l.fits(c, v)) {
			out = append(out, v)
		}
	}
	return out
}
