package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where a field should have been stored, the statement that gives it to like nodes did not run.

// maxAlike bounds the like nodes that are asked who wrote their field.
const maxAlike = 500

// missing finds the statement that gives like nodes this field, but did not
// here.
//
//  1. none, if the cell is wrong by what was written into it: by an operation
//     that broke the constraints for good, or, in a node that was there at the
//     last healthy C-point, by any since
//  2. the candidates are those that wrote such a value into like nodes, but
//     since the last healthy C-point not here; where the cell has had a value,
//     those that give a new node its first one are none
//  3. one that led several like nodes where the repair leads since then goes first: a loop left one out.
//     One that was silent since then goes before one that ran; then the one
//     that wrote most of the nodes. One that ran, or where the node is new,
//     must have written half of them, if it did not lead several there
//  4. none that has done its work since then, for another node, and none that counts the other way
func missing(in Input, tb *contributions, r *Repair, last mgpp.Timestamp, ran map[string]bool) (Suspect, bool) {
	fresh := in.Healthy == 0 || in.Cells.Object(r.Cell.Obj).Birth > in.Healthy
	if c := tb.byOp[last]; c != nil && c.lasting() > 0 || last > in.Healthy && !fresh {
		return Suspect{}, false
	}
	if fresh && last > in.Healthy && !usualValue(in, r, last) {
		return Suspect{}, false
	}
	writers, of := usualWriters(in, r, fresh, last > in.Cells.Object(r.Cell.Obj).Birth)
	here := map[string]bool{}
	for t, n := last, 0; t > in.Healthy && n < maxRewrites; n++ {
		here[in.Statement(in.History.Op(t).PC)] = true
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
	}
	var best writer
	for st, w := range writers {
		w.silent = ran != nil && !ran[st]
		if here[st] || (!w.silent || fresh) && w.there < several && 2*w.often < of {
			continue
		}
		if (best.often == 0 || w.before(best)) && (w.silent || w.there >= several || !in.ranItsFill(w.newest)) && !r.otherWay(in, w.newest) {
			best = w
		}
	}
	if best.often == 0 {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(best.newest).PC, Operation: best.newest, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Missing, Often: best.often, Of: of, There: best.there}},
	}, true
}

// otherWay: an operation's instruction has always counted by the same step, in three executions at least, and the repair is a
// number on the other side of what the cell holds: what counts up (v->refs++) is not missing where the number should be less.
func (r *Repair) otherWay(in Input, of mgpp.Timestamp) bool {
	now, known := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	by, counts := in.step(of)
	size := int(in.History.Op(of).Size)
	if !known || !counts || !r.ofNumber() || signed(by, size) < 0 == (signed(r.Value-now, r.Cell.Size) < 0) {
		return false
	}
	executions := 1
	in.earlier(of, of, func(e mgpp.Timestamp) bool {
		was, changed := in.step(e)
		counts = counts && changed && was == by
		executions++
		return counts && executions < many
	})
	return counts && executions >= enough
}

// ranItsFill: since the last healthy C-point a statement ran as often as it does between two C-points: as often as in three of four of those
// before that in which it ran, of three at least, and as often as another one of its function, which it never ran more often than. What it
// does in such a call is done, for another node. Where its function has no other one it ran more often nowhere.
func (in *Input) ranItsFill(of mgpp.Timestamp) bool {
	now, _ := slices.BinarySearch(in.Points, in.At)
	if now == 0 || in.Points[now-1] > in.Healthy {
		return false
	}
	st, f := in.statement(of), in.function(of)
	names := map[trace.Addr]string{} // of the statements of that function
	times := map[string]map[int]int{}
	interval := now
	for t := in.At; t > 0 && in.At-t < maxLearnt; t-- {
		for interval > 0 && in.Points[interval-1] >= t {
			interval--
		}
		pc := in.History.Deed(t).PC
		name, known := names[pc]
		if !known {
			if pc != 0 {
				if is := in.Statement(pc); is == st || f != "" && in.function(t) == f {
					name = is
				}
			}
			names[pc] = name
		}
		if name == "" {
			continue
		}
		if times[name] == nil {
			times[name] = map[int]int{}
		}
		times[name][interval]++
	}
	own := times[st]
	n, before, more := own[now], 0, 0
	for i, often := range own {
		if i != now {
			before++
			if often > n {
				more++
			}
		}
	}
	if n == 0 || before < enough || 4*more > before {
		return false
	}
	for other, theirs := range times {
		if other != st && theirs[now] == n && !exceeds(own, theirs) {
			return true
		}
	}
	return len(times) == 1 && more == 0
}

// exceeds: of two counts by interval the first is somewhere the larger one.
func exceeds(a, b map[int]int) bool {
	for i, n := range a {
		if n > b[i] {
			return true
		}
	}
	return false
}

// elsewhere: the function of a statement was called since the last healthy C-point, but for other nodes than that of a repair,
// which is not new, and the one it should lead to: it is not one of its statements that is missing.
func (in *Input) elsewhere(r *Repair, of mgpp.Timestamp) bool {
	f, st := in.function(of), in.Statement(in.History.Op(of).PC)
	if f == "" || in.At-in.Healthy > maxUnlike || in.Cells.Object(r.Cell.Obj).Birth > in.Healthy {
		return false
	}
	called := false
	for t := in.Healthy + 1; t <= in.At; t++ {
		if !in.attributed(t) || in.function(t) != f || in.Statement(in.History.Op(t).PC) == st {
			continue
		}
		if r.near(*in, t) {
			return false
		}
		called = true
	}
	return called
}

// usualValue: the statement of operation last gave like nodes the same value up to
// the last healthy C-point, or several of them since then in which another one replaced it. Then it is not what it wrote that is wrong.
func usualValue(in Input, r *Repair, last mgpp.Timestamp) bool {
	st := in.Statement(in.History.Op(last).PC)
	value, ok := read(in.Model.View(last), r.Cell.Addr, r.Cell.Size)
	if !ok {
		return false
	}
	offset, size := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, uint64(r.Cell.Size)
	replacedIn := 0
	for _, o := range in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxAlike) {
		obj := in.Cells.Object(o)
		t, replaced := in.History.LastWrite(obj.Addr+offset, size, in.At), false
		for n := 0; t > obj.Birth && n < maxVersions; n++ {
			if in.Statement(in.History.Op(t).PC) != st {
				replaced = true
			} else if t <= in.Healthy || replaced {
				v, ok := read(in.Model.View(t), obj.Addr+offset, r.Cell.Size)
				if ok && (v == value || r.Cell.Pointer && (v == 0) == (value == 0)) {
					if replacedIn++; t <= in.Healthy || replacedIn >= enough {
						return true
					}
					break
				}
			}
			t = in.History.LastWrite(obj.Addr+offset, size, t-1)
		}
	}
	return false
}

// ownHabit: a suspect is the statement that always makes such a repair in such calls, and did not. That others store
// the field elsewhere says nothing then.
func (r *Repair) ownHabit(s Suspect) bool {
	return r.omittedBy(s) && slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Habit && !e.Alone })
}

// writer is what is known of a statement that writes a field of like nodes.
type writer struct {
	often  int // nodes
	newest mgpp.Timestamp
	there  int  // so many it led where the repair leads, since the last healthy C-point
	silent bool // it has not run since then
}

func (w writer) before(o writer) bool {
	switch {
	case (w.there >= several || o.there >= several) && w.there != o.there:
		return w.there > o.there
	case w.silent != o.silent:
		return w.silent
	}
	return w.often > o.often || w.often == o.often && w.newest > o.newest
}

// several like nodes that one statement leads to the same node are those of a loop.
const several = 2

// maxVersions bounds how far back the writers of one field are looked for.
const maxVersions = 8

// usualWriters returns the statements that like nodes have had the repair's
// field from, and how many nodes had it from any. What counts is a store of
// the repair's value, if that is a number; of a pointer, if it is one; of NULL.
// If no node had such a value, any value counts, unless the node is new: what a
// new node holds was written for it.
func usualWriters(in Input, r *Repair, fresh, again bool) (map[string]writer, int) {
	like := in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxAlike)
	if w, of := fieldWriters(in, r, like, true, again); of > 0 || fresh {
		return w, of
	}
	return fieldWriters(in, r, like, false, again)
}

// fieldWriters counts who wrote the field of the nodes: such a value only, if such;
// not the first value of all, if again.
func fieldWriters(in Input, r *Repair, nodes []graph.ObjID, such, again bool) (map[string]writer, int) {
	offset, size := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, uint64(r.Cell.Size)
	out := map[string]writer{}
	of := 0
	for _, o := range nodes {
		obj := in.Cells.Object(o)
		mine := map[string]bool{}
		t := in.History.LastWrite(obj.Addr+offset, size, in.At)
		for n := 0; t > obj.Birth && n < maxVersions; n++ {
			before := in.History.LastWrite(obj.Addr+offset, size, t-1)
			first := before <= obj.Birth
			if st := in.Statement(in.History.Op(t).PC); !mine[st] && in.attributed(t) && (!such || r.like(in, obj.Addr+offset, t)) && !(first && again) && !r.tagged(in, obj.Addr+offset, t) {
				mine[st] = true
				w := out[st]
				w.often, w.newest = w.often+1, max(w.newest, t)
				if t > in.Healthy && r.leads(in, obj.Addr+offset, t) {
					w.there++
				}
				out[st] = w
			}
			t = before
		}
		if len(mine) > 0 {
			of++
		}
	}
	return out, of
}

// like reports whether the field at addr held such a value as the repair's at t. What another
// member of a union held is none.
func (r *Repair) like(in Input, addr trace.Addr, t mgpp.Timestamp) bool {
	v, ok := read(in.Model.View(t), addr, r.Cell.Size)
	if c, known := in.Cells.Cell(addr, in.Model.View(t)); !known || c.Path != r.Cell.Path {
		return false
	}
	if r.Cell.Pointer {
		return ok && (v == 0) == (r.Value == 0)
	}
	return ok && v == r.Value
}

// leads: the pointer at addr led at t where the repair leads.
func (r *Repair) leads(in Input, addr trace.Addr, t mgpp.Timestamp) bool {
	v, ok := read(in.Model.View(t), addr, r.Cell.Size)
	return ok && r.Cell.Pointer && r.Value&^r.Cell.Tags != 0 && (v^r.Value)&^r.Cell.Tags == 0
}

// tagged: a pointer with a tag leads after operation t to where it led before, as where only the tag is set, and the
// repair is where it leads to.
func (r *Repair) tagged(in Input, addr trace.Addr, t mgpp.Timestamp) bool {
	if r.Cell.Tags == 0 {
		return false
	}
	now, known := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	before, was := read(in.Model.View(t-1), addr, r.Cell.Size)
	v, ok := read(in.Model.View(t), addr, r.Cell.Size)
	return ok && was && known && (now^r.Value)&^r.Cell.Tags != 0 && (before^v)&^r.Cell.Tags == 0
}
