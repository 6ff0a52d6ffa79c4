package faultloc

import (
	"slices"
	"strings"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// Where a habit was not kept, the statement that did not run is accused.

// unkept accuses statements that did not run where they always do, as far as they
// write such a field as the inconsistencies read.
func unkept(in Input, tb *contributions, h *habits, suspects []Suspect, repairs []Repair, l *lab) []Suspect {
	fields := l.fields()
	for _, b := range h.breaches(tb) {
		example := h.last[b.missing]
		if !in.wrote(example) {
			continue
		}
		op := in.History.Op(example)
		cell, ok := in.Cells.Cell(op.Addr, in.Model.View(example))
		if !ok {
			continue
		}
		value, known := read(in.Model.View(example), cell.Addr, cell.Size)
		s := Suspect{Kind: Omitted, PC: op.PC, Operation: example}
		for i := range repairs {
			if r := &repairs[i]; general(r.Cell.Path) == general(cell.Path) && r.Orphans == 0 && r.Created == 0 && s.Repair == nil && known && (b.text && cell.Pointer || (value == 0) == (r.Value == 0)) {
				s.Repair, s.Contributes = r, r.mended(in)
				s.Evidence = append(s.Evidence, r.evidence(in))
			}
		}
		if s.Repair == nil && !fields[general(cell.Path)] && !concerns(in, example) {
			continue
		}
		s.Evidence = append(s.Evidence, Evidence{Kind: Habit, Often: b.often, Of: b.of, Beside: b.beside, Between: b.between, Alone: s.Repair == nil || !b.text && !s.Evidence[0].settles(), Only: b.only})
		suspects = append(suspects, s)
	}
	return suspects
}

// concerns: the operation changed what a constraint asks of which an instance is broken.
func concerns(in Input, t mgpp.Timestamp) bool {
	touched := in.Model.Touched(t)
	return slices.ContainsFunc(in.Found, func(inc eval.Inconsistency) bool {
		return slices.ContainsFunc(touched, func(i eval.Instance) bool { return i.Constraint == inc.Instance.Constraint })
	})
}

// general is a field's path without its indices.
func general(path string) string {
	for {
		i := strings.IndexByte(path, '[')
		j := strings.IndexByte(path, ']')
		if i < 0 || j < i {
			return path
		}
		path = path[:i] + path[j+1:]
	}
}
