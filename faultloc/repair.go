package faultloc

import (
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
	maxRepairValues = 48
	maxRepairFound  = 256 // inconsistencies that a repair must cure, beyond which only these are tried
	maxAlike        = 500
	maxRepairs      = 8
)

// repair searches for (cell, value) pairs that would make all inconsistencies
// hold and create none.
func repair(in Input) []Repair {
	if in.Cells == nil || len(in.Found) == 0 {
		return nil
	}
	view := in.Model.View(in.At)
	found := in.Found[:min(len(in.Found), maxRepairFound)]
	var out []Repair
	for _, c := range repairCells(in, found, view) {
		for _, value := range repairValues(in, c, found, view) {
			var data [8]byte
			binary.LittleEndian.PutUint64(data[:], value)
			hypo := in.History.With(view, c.Addr, data[:c.Size])
			if !cures(in.Model, found, hypo) {
				continue
			}
			created := newOnes(in, hypo)
			if created != 0 {
				continue
			}
			out = append(out, Repair{Cell: c, Value: value, Target: objectAt(in, c, value, found, view), Created: created})
			break
		}
		if len(out) == maxRepairs {
			break
		}
	}
	return out
}

// repairCells lists the fields that the inconsistencies read, in the order in
// which they read them, each once: fields that all of them read come first.
func repairCells(in Input, found []eval.Inconsistency, view mgpp.View) []Cell {
	count := map[trace.Addr]int{}
	var cells []Cell
	for _, inc := range found {
		mine := map[trace.Addr]bool{}
		for _, d := range in.Model.Eval(inc.Instance, view).Deps {
			if d.Kind != eval.DepBytes || d.Size > 8 {
				continue
			}
			c, ok := in.Cells.Cell(d.Addr, view)
			if !ok || mine[c.Addr] {
				continue
			}
			mine[c.Addr] = true
			if count[c.Addr]++; count[c.Addr] == 1 && len(cells) < 4*maxRepairCells {
				cells = append(cells, c)
			}
		}
	}
	slices.SortStableFunc(cells, func(a, b Cell) int { return count[b.Addr] - count[a.Addr] })
	return cells[:min(len(cells), maxRepairCells)]
}

// repairValues lists plausible values of a cell: what it held before, what the
// same field holds in other nodes, for pointers NULL and the nodes nearby, for
// numbers their neighbours.
func repairValues(in Input, c Cell, found []eval.Inconsistency, view mgpp.View) []uint64 {
	now, known := read(view, c)
	var vals []uint64
	add := func(v uint64) {
		if (!known || v != now) && !slices.Contains(vals, v) && len(vals) < maxRepairValues {
			vals = append(vals, v)
		}
	}
	if t := in.History.LastWrite(c.Addr, uint64(c.Size), in.At); t > 0 {
		if v, ok := read(in.Model.View(t-1), c); ok {
			add(v)
		}
	}
	if c.Pointer {
		add(0)
		for _, o := range nearby(in, c, found, view) {
			add(uint64(in.Cells.Object(o).Addr))
		}
		return vals
	}
	for _, v := range c.Values {
		add(uint64(v))
	}
	obj := in.Cells.Object(c.Obj)
	for _, o := range in.Cells.Alike(c.Obj, view, 16) {
		other := c
		other.Addr = in.Cells.Object(o).Addr + (c.Addr - obj.Addr)
		if v, ok := read(view, other); ok {
			add(v)
		}
	}
	if known {
		add(now + 1)
		add(now - 1)
	}
	add(0)
	add(1)
	return vals
}

// nearby: the nodes bound by the inconsistencies, and theirs and the cell's neighbours.
func nearby(in Input, c Cell, found []eval.Inconsistency, view mgpp.View) []graph.ObjID {
	var out []graph.ObjID
	add := func(o graph.ObjID) {
		if o != 0 && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	for _, inc := range found[:min(len(found), 16)] {
		for _, o := range inc.Instance.Nodes {
			add(o)
		}
	}
	add(c.Obj)
	for _, o := range slices.Clone(out) {
		for _, n := range in.Cells.Near(o, view, 8) {
			add(n)
		}
	}
	return out
}

func objectAt(in Input, c Cell, value uint64, found []eval.Inconsistency, view mgpp.View) graph.ObjID {
	if !c.Pointer || value == 0 {
		return 0
	}
	for _, o := range nearby(in, c, found, view) {
		if uint64(in.Cells.Object(o).Addr) == value {
			return o
		}
	}
	return 0
}

// read returns the cell's value, false if a byte of it is unknown.
func read(v mgpp.View, c Cell) (uint64, bool) {
	var data [8]byte
	var written [8]bool
	b := mgpp.Bytes{Data: data[:c.Size], Written: written[:c.Size]}
	if !v.Read(c.Addr, &b) || slices.Contains(b.Written, false) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(data[:]), true
}

// cures reports whether none of found is broken in the view.
func cures(m eval.Model, found []eval.Inconsistency, v mgpp.View) bool {
	for _, inc := range found {
		if m.Eval(inc.Instance, v).Verdict == eval.Broken {
			return false
		}
	}
	return true
}

// newOnes counts inconsistencies of the view that are not among Found.
func newOnes(in Input, v mgpp.View) int {
	n := 0
	for _, inc := range in.Model.All(v) {
		if !slices.ContainsFunc(in.Found, func(f eval.Inconsistency) bool { return f.Instance == inc.Instance }) {
			n++
		}
	}
	return n
}

// blameRepairs turns repairs into suspicion: against the statement that last
// wrote the cell, and, where like nodes have that field from another statement,
// against that one for not having done it here.
func blameRepairs(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	for i := range repairs {
		r := &repairs[i]
		last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
		if last > in.Healthy {
			s := statement(in, &suspects, last)
			s.Repair = r
			s.Evidence = append(s.Evidence, Evidence{Kind: RepairCell, Cured: len(in.Found), Of: len(in.Found), Created: r.Created})
		}
		if s, ok := missing(in, r, last); ok && !slices.ContainsFunc(suspects, func(o Suspect) bool { return o.Kind == Omitted && o.PC == s.PC }) {
			suspects = append(suspects, s)
		}
	}
	return suspects
}

// missing finds the statement that gives like nodes this field, but did not here.
func missing(in Input, r *Repair, last mgpp.Timestamp) (Suspect, bool) {
	view := in.Model.View(in.At)
	obj := in.Cells.Object(r.Cell.Obj)
	writers := map[string]int{}
	example := map[string]mgpp.Timestamp{}
	total := 0
	for _, o := range in.Cells.Alike(r.Cell.Obj, view, maxAlike) {
		t := in.History.LastWrite(in.Cells.Object(o).Addr+(r.Cell.Addr-obj.Addr), uint64(r.Cell.Size), in.At)
		if t == 0 {
			continue
		}
		total++
		st := in.Statement(in.History.Op(t).PC)
		writers[st]++
		example[st] = max(example[st], t)
	}
	best := ""
	for st, n := range writers {
		if n > writers[best] || n == writers[best] && st < best {
			best = st
		}
	}
	if best == "" || last > 0 && in.Statement(in.History.Op(last).PC) == best {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(example[best]).PC, Operation: example[best], Repair: r,
		Evidence: []Evidence{
			{Kind: RepairCell, Cured: len(in.Found), Of: len(in.Found), Created: r.Created},
			{Kind: Missing, Often: writers[best], Of: total},
		},
	}, true
}
