package analysis

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// image takes over what memory held when recording began, when it was about to be part of a node, or when an
// allocator of the program's own gave it out. Then a block may lie there of which the stores did not matter so far: what the history
// does not know of it was written by somebody of whom nothing is known.
func (a *Analysis) image(ev *trace.Event) error {
	now := a.Hist.Now()
	id, ok := a.Hist.NodeAtTime(ev.Addr, now)
	if !ok || a.Hist.Node(id).Before {
		return a.apply(ev)
	}
	n := len(ev.Data)
	b := mgpp.NewBytes(n)
	if !a.Hist.At(now).Read(ev.Addr, &b) {
		return a.apply(ev) // it is no block, or reaches beyond
	}
	known := func(i int) bool { return b.Written[i] && b.Data[i] == ev.Data[i] }
	fresh := 0
	for i := 0; i < n; i++ {
		j := i
		for j < n && !known(j) {
			j++
		}
		if j == i {
			continue
		}
		piece := *ev
		piece.Kind, piece.Name = trace.KindBulk, trace.UnrecordedWrite
		piece.Addr, piece.Size, piece.Data = ev.Addr+trace.Addr(i), uint64(j-i), ev.Data[i:j]
		if err := a.apply(&piece); err != nil {
			return err
		}
		fresh += j - i
		i = j
	}
	if fresh > 0 {
		a.unrecorded++
	}
	return nil
}

// unrecordedWrite reports whether the operation at t is what a node held when it became one.
func (a *Analysis) unrecordedWrite(t mgpp.Timestamp) bool {
	return a.Hist.Op(t).Name == trace.UnrecordedWrite
}

// leftoverNote names the fields of broken constraints that hold what lay in their memory before it was a node. In a block that is
// given out again that may be what the block before held, in a field that the program does not use yet: a specification that
// reads it is wrong, and nothing else says so.
func (a *Analysis) leftoverNote(p *point) []string {
	view := a.Hist.At(p.time)
	var names []string
	hint := ""
	for _, inc := range p.found[:min(len(p.found), maxLeftover)] {
		k := inc.Instance.Constraint
		if k < 0 || k >= len(a.spec.Constraints) {
			continue
		}
		for _, o := range inc.Instance.Nodes {
			if o == 0 {
				continue
			}
			for _, f := range describe.BareFields(a.Graph, view, o) {
				b := mgpp.NewBytes(f.Size)
				name := describe.Join(a.Graph.Name(o), f.Path)
				if !view.Read(f.Addr, &b) || !a.unrecordedWrite(b.Newest) || !speaks(a.spec.Constraints[k], f.Path) || slices.Contains(names, name) {
					continue
				}
				names = append(names, name)
				if typ := a.Graph.Object(o).Type; hint == "" && f.Pointer && typ != nil && !typ.Array {
					hint = fmt.Sprintf(" (a pointer also by: cells %s: %s if …;)", typ.Name, f.Path)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := strings.Join(names[:min(len(names), maxLeftover)], ", ")
	if n := len(names) - maxLeftover; n > 0 {
		list += fmt.Sprintf(" and %s more", report.Thousands(uint64(n)))
	}
	return []string{fmt.Sprintf("%s: what lay there when the block was given out or entered; nobody is accused of that. What the program does not use before it stores it has to be left out by a guard%s", list, hint)}
}

// maxLeftover bounds the inconsistencies that are looked at, and the fields that are named.
const maxLeftover = 4

// speaks reports whether a constraint speaks of a field, by its name.
func speaks(c *check.Constraint, path string) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	return slices.Contains(strings.FieldsFunc(c.Source, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), name)
}

// unrecordedNote says how many nodes were written before anybody knew that they would be some.
func (a *Analysis) unrecordedNote() []string {
	if a.unrecorded == 0 {
		return nil
	}
	everything := ""
	if a.Relevance != nil {
		everything = " (--everything records all)"
	}
	return []string{fmt.Sprintf("%s held something already when given out or entered: who wrote that is not known%s",
		report.Plural(a.unrecorded, "block or node", "blocks or nodes"), everything)}
}
