package faultloc

import (
	"slices"
	"strings"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where a habit was not kept, the statement that did not run is accused.

// unkept accuses statements that did not run where they always do, as far as they
// write such a field as the inconsistencies read, or free nodes that those count.
func unkept(in Input, tb *contributions, h *habits, suspects []Suspect, repairs []Repair, l *lab) []Suspect {
	fields := l.fields()
	for _, b := range h.breaches(tb) {
		example := h.last[b.missing]
		op := in.History.Op(example)
		if op.Kind == mgpp.OpDeath && concerns(in, example) && in.leftOver(example) {
			e := b.evidence(false)
			e.Left = true
			suspects = append(suspects, Suspect{Kind: Omitted, PC: op.PC, Operation: example, Evidence: []Evidence{e}})
			continue
		}
		if !in.wrote(example) {
			continue
		}
		cell, ok := in.Cells.Cell(op.Addr, in.Model.View(example))
		if !ok {
			continue
		}
		value, known := read(in.Model.View(example), cell.Addr, cell.Size)
		s := Suspect{Kind: Omitted, PC: op.PC, Operation: example}
		for i := range repairs {
			if r := &repairs[i]; General(r.Cell.Path) == General(cell.Path) && r.Orphans == 0 && r.Created == 0 && s.Repair == nil && known && (b.text && cell.Pointer || (value == 0) == (r.Value == 0)) {
				s.Repair, s.Contributes = r, r.mended(in)
				s.Evidence = append(s.Evidence, r.evidence(in))
			}
		}
		if s.Repair == nil && !fields[General(cell.Path)] && !concerns(in, example) {
			continue
		}
		e := b.evidence(s.Repair == nil || !b.text && !s.Evidence[0].settles())
		if s.Repair != nil && h.replaced(s.Repair, b) {
			e.Alone, e.Only = true, false
		}
		e.Inside = in.inside(example, b.beside)
		s.Evidence = append(s.Evidence, e)
		suspects = append(suspects, s)
	}
	return suspects
}

// replaced: where a statement did not run, another one has written the cell of a repair that never ran there before: it is
// that one which left the wrong value, and nothing is missing.
func (h *habits) replaced(r *Repair, b breach) bool {
	for t := b.beside - min(b.beside, habitWindow); t <= min(h.in.At, b.beside+habitWindow); t++ {
		op := h.in.History.Op(t)
		if t <= h.in.Healthy || op.Kind != mgpp.OpStore || op.Addr != r.Cell.Addr || op.Thread != h.in.History.Op(b.beside).Thread {
			continue
		}
		st, beside := h.statement(op.Time), h.statement(b.beside)
		if st != b.missing && st != beside && h.near[behind][two(beside, st)]+h.near[before][two(beside, st)] == 0 {
			return true
		}
	}
	return false
}

// inside is the operation that is nearest to one beside which a statement did not run, of those that the same function has done
// there in which the statement stands: that was called, and went on without it. 0: the one beside it is of that function itself, or
// there is none.
func (in *Input) inside(example, beside mgpp.Timestamp) mgpp.Timestamp {
	f, thread := in.function(example), in.History.Op(beside).Thread
	if f == "" || in.function(beside) == f {
		return 0
	}
	for d := mgpp.Timestamp(1); d <= habitWindow; d++ {
		for _, t := range [2]mgpp.Timestamp{beside - d, beside + d} {
			if t > in.Healthy && t <= in.At && in.attributed(t) && in.History.Op(t).Thread == thread && in.function(t) == f {
				return t
			}
		}
	}
	return 0
}

// yield has habits of statements whose field would mend nothing step back where it is known beside which change a store is
// missing that mends all: the program may as well have gone another way.
func yield(suspects []Suspect) {
	if !slices.ContainsFunc(suspects, func(s Suspect) bool {
		return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Outdated && e.explains() && !e.Named })
	}) {
		return
	}
	for i := range suspects {
		for k := range suspects[i].Evidence {
			if e := &suspects[i].Evidence[k]; e.Kind == Habit && e.Alone {
				e.Only = false
			}
		}
	}
}

// evidence of a habit that was not kept; alone: what the statement writes would not mend all.
func (b *breach) evidence(alone bool) Evidence {
	return Evidence{Kind: Habit, Often: b.often, Of: b.of, Beside: b.beside, Between: b.between, Alone: alone, Only: b.only}
}

// leftOver: since the last healthy C-point a node like the one that an operation freed was taken out, and nothing leads
// to it any more: it should have been freed.
func (in *Input) leftOver(free mgpp.Timestamp) bool {
	now, before := in.Model.View(in.At), in.Model.View(free-1)
	like := in.Cells.Object(in.Cells.At(in.History.Op(free).Addr, before)).Type
	for t := in.At; t > in.Healthy && in.At-t < maxUnlinked; t-- {
		op := in.History.Op(t)
		if op.Kind != mgpp.OpStore || op.Size != 8 || !in.changed(t) {
			continue
		}
		was, ok := read(in.Model.View(t-1), op.Addr, 8)
		o := in.Cells.At(trace.Addr(was), now)
		if !ok || o == 0 || in.Cells.Object(o).Type != like || in.Cells.Object(o).Birth > in.Healthy {
			continue
		}
		if len(in.Cells.Into(o, now, 1)) == 0 {
			return true
		}
	}
	return false
}

// concerns: the operation changed what a constraint asks of which an instance is broken. Touched tells that by words; a number beside the
// one that is asked for does not matter.
func concerns(in Input, t mgpp.Timestamp) bool {
	asked := 0
	return slices.ContainsFunc(in.Model.Touched(t), func(i eval.Instance) bool {
		if !slices.ContainsFunc(in.Found, func(inc eval.Inconsistency) bool { return i.Constraint == inc.Instance.Constraint }) {
			return false
		}
		if asked++; asked > maxConcerned {
			return true
		}
		changed := func(d eval.Dep) bool { return in.Model.LastChange(d, t) == t }
		return slices.ContainsFunc(in.Model.Eval(i, in.Model.View(t)).Deps, changed) ||
			slices.ContainsFunc(in.Model.Eval(i, in.Model.View(t-1)).Deps, changed)
	})
}

// maxConcerned bounds the instances that are asked what an operation changed for them; of more it is taken to matter.
const maxConcerned = 1024

// General is a field's path without its indices.
func General(path string) string {
	for {
		i := strings.IndexByte(path, '[')
		j := strings.IndexByte(path, ']')
		if i < 0 || j < i {
			return path
		}
		path = path[:i] + path[j+1:]
	}
}
