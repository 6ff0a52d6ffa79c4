package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxAlike bounds the like nodes that are asked who wrote their field.
const maxAlike = 500

// blame turns repairs into suspicion: against the statements that last wrote
// and last changed the cell, and, where other statements give like nodes that
// field, against the likeliest of these for not having done it here.
func blame(in Input, tb *contributions, suspects []Suspect, repairs []Repair) []Suspect {
	destroyed := slices.ContainsFunc(repairs, func(r Repair) bool { return r.restores(in, tb) })
	ran := statementsSince(in)
	for i := range repairs {
		r := &repairs[i]
		last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
		suspects = accuse(in, suspects, r, r.lastChange(in))
		if in.History.Op(last).Kind == mgpp.OpStore && r.Orphans == 0 {
			suspects = accuse(in, suspects, r, last) // of a value that was there, but wrong already
		}
		if destroyed || r.Orphans > 0 || !in.looksFor(Missing) {
			continue
		}
		if s, ok := missing(in, tb, r, last, ran); ok && !slices.ContainsFunc(suspects, func(o Suspect) bool { return o.Kind == Omitted && o.PC == s.PC }) {
			suspects = append(suspects, s)
		}
	}
	return suspects
}

// accuse adds a repair to the evidence against the statement of t, if t wrote
// its cell since all was well.
func accuse(in Input, suspects []Suspect, r *Repair, t mgpp.Timestamp) []Suspect {
	if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) {
		return suspects
	}
	s := statement(in, &suspects, t)
	if s.Repair == nil {
		s.Repair = r
		s.Evidence = append(s.Evidence, r.evidence(in))
	}
	if len(s.Operations) == 0 {
		s.Operations = []mgpp.Timestamp{t}
		s.Contributes = r.mended(in)
	}
	return suspects
}

// maxInterval bounds the operations since the last healthy C-point that are
// asked for their statement.
const maxInterval = 1 << 16

// statementsSince returns the statements that wrote since the last healthy
// C-point: one that did is not the one that is missing, if there is another.
// Nil: too many, or no such point.
func statementsSince(in Input) map[string]bool {
	if in.Healthy == 0 || in.At-in.Healthy > maxInterval {
		return nil
	}
	ran := map[string]bool{}
	seen := map[trace.Addr]bool{}
	for t := in.Healthy + 1; t <= in.At; t++ {
		if pc := in.History.Op(t).PC; !seen[pc] {
			seen[pc] = true
			ran[in.Statement(pc)] = true
		}
	}
	return ran
}

func (r *Repair) evidence(in Input) Evidence {
	return Evidence{Kind: RepairCell, Cured: r.Cured, Of: len(in.Found), Created: r.Created, Orphans: r.Orphans}
}

// maxRewrites bounds the stores of a value that is there already.
const maxRewrites = 64

// lastChange returns the operation that gave the cell another value last.
func (r *Repair) lastChange(in Input) mgpp.Timestamp {
	t := in.At
	for range maxRewrites {
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t)
		if t == 0 || !in.wrote(t) {
			break
		}
		was, ok := read(in.Model.View(t-1), r.Cell.Addr, r.Cell.Size)
		is, ok2 := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
		if ok != ok2 || was != is {
			break
		}
		t--
	}
	return t
}

// restores: the repair puts back what the program had stored and an operation
// that broke the constraints for good overwrote. Then nothing is missing.
func (r *Repair) restores(in Input, tb *contributions) bool {
	last := r.lastChange(in)
	if c := tb.byOp[last]; !r.evidence(in).settles() || c == nil || c.lasting() == 0 {
		return false
	}
	before := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), last-1)
	was, ok := read(in.Model.View(last-1), r.Cell.Addr, r.Cell.Size)
	return before > 0 && in.wrote(before) && ok && was == r.Value
}

// missing finds the statement that gives like nodes this field, but did not
// here.
//
//  1. none, if the cell is wrong by what was written into it: by an operation
//     that broke the constraints for good, or, in a node that was there at the
//     last healthy C-point, by any since
//  2. the candidates are those that wrote such a value into like nodes, but
//     since the last healthy C-point not here
//  3. one that was silent since then goes before one that ran; then the one
//     that wrote most of the nodes. One that ran, or where the node is new,
//     must have written half of them
func missing(in Input, tb *contributions, r *Repair, last mgpp.Timestamp, ran map[string]bool) (Suspect, bool) {
	fresh := in.Healthy == 0 || in.Cells.Object(r.Cell.Obj).Birth > in.Healthy
	if c := tb.byOp[last]; c != nil && c.lasting() > 0 || last > in.Healthy && !fresh {
		return Suspect{}, false
	}
	writers, of := usualWriters(in, r, fresh)
	here := map[string]bool{}
	for t, n := last, 0; t > in.Healthy && n < maxRewrites; n++ {
		here[in.Statement(in.History.Op(t).PC)] = true
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
	}
	var best writer
	silent := false
	for st, w := range writers {
		quiet := ran != nil && !ran[st]
		if here[st] || (!quiet || fresh) && 2*w.often < of {
			continue
		}
		if best.often == 0 || quiet && !silent || quiet == silent && w.before(best) {
			best, silent = w, quiet
		}
	}
	if best.often == 0 {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(best.newest).PC, Operation: best.newest, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Missing, Often: best.often, Of: of}},
	}, true
}

// writer is what is known of a statement that writes a field of like nodes.
type writer struct {
	often  int // nodes
	newest mgpp.Timestamp
}

func (w writer) before(o writer) bool {
	return w.often > o.often || w.often == o.often && w.newest > o.newest
}

// maxVersions bounds how far back the writers of one field are looked for.
const maxVersions = 8

// usualWriters returns the statements that like nodes have had the repair's
// field from, and how many nodes had it from any. What counts is a store of
// the repair's value, if that is a number; of a pointer, if it is one; of NULL.
// If no node had such a value, any value counts, unless the node is new: what a
// new node holds was written for it.
func usualWriters(in Input, r *Repair, fresh bool) (map[string]writer, int) {
	like := in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxAlike)
	if w, of := fieldWriters(in, r, like, true); of > 0 || fresh {
		return w, of
	}
	return fieldWriters(in, r, like, false)
}

func fieldWriters(in Input, r *Repair, nodes []graph.ObjID, such bool) (map[string]writer, int) {
	offset, size := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, uint64(r.Cell.Size)
	out := map[string]writer{}
	of := 0
	for _, o := range nodes {
		obj := in.Cells.Object(o)
		mine := map[string]bool{}
		t := in.History.LastWrite(obj.Addr+offset, size, in.At)
		for n := 0; t > obj.Birth && n < maxVersions; n++ {
			if st := in.Statement(in.History.Op(t).PC); !mine[st] && in.attributed(t) && (!such || r.like(in, obj.Addr+offset, t)) {
				mine[st] = true
				w := out[st]
				out[st] = writer{w.often + 1, max(w.newest, t)}
			}
			t = in.History.LastWrite(obj.Addr+offset, size, t-1)
		}
		if len(mine) > 0 {
			of++
		}
	}
	return out, of
}

// like reports whether the field at addr held such a value as the repair's at t.
func (r *Repair) like(in Input, addr trace.Addr, t mgpp.Timestamp) bool {
	v, ok := read(in.Model.View(t), addr, r.Cell.Size)
	if r.Cell.Pointer {
		return ok && (v == 0) == (r.Value == 0)
	}
	return ok && v == r.Value
}
