package analysis

import (
	"fmt"

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
	b := mgpp.Bytes{Data: make([]byte, n), Written: make([]bool, n)}
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
