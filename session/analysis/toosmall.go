package analysis

import (
	"fmt"
	"regexp"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// Limits of the search for what was written into a block as into an array.
const (
	maxFilled  = 1 << 12 // operations before the one that left it
	minStrided = 2       // stores as far apart as it is from the last of them
)

// tooSmall is the allocation of a block beyond whose end was written: it may have asked for too few bytes. It goes first if it asked for
// as many as a text has without its end, or for no whole number of what was being filled in.
func (a *Analysis) tooSmall(f *eval.MemoryFault) (s report.Suspect, first, ok bool) {
	n, op := a.Hist.Node(f.Node), a.Hist.Op(f.Time)
	birth := a.Hist.Op(n.Birth)
	end := n.Start + trace.Addr(n.Size)
	if f.Kind != "bounds" || n.Birth == 0 || n.Before || birth.PC == 0 || birth.Size != n.Size || op.Addr+trace.Addr(op.Size) <= end {
		return s, false, false
	}
	if t := a.Graph.Object(f.Obj).Type; t != nil && t.Layout != nil && uint64(t.Layout.Size) == n.Size {
		return s, false, false // it is as large as it should be
	}
	bytes := report.Plural(int(n.Size), "byte", "bytes")
	text := fmt.Sprintf("it allocated %s, which may be too few", bytes)
	if a.withoutEnd(&n, &op) && lengthAlone.MatchString(a.Statement(birth.PC, birth.Stack).Source) {
		first, text = true, fmt.Sprintf("it allocated %s, as many as the text has that was stored there without the 0 at its end", bytes)
	} else if d, odd := a.noWhole(&n, f); odd {
		first, text = true, fmt.Sprintf("it allocated %s, and what was stored there lies %s apart: that is no whole number of them", bytes, report.Plural(int(d), "byte", "bytes"))
	}
	s = a.accomplice(n.Birth, text)
	s.Why = report.Sentence(text)
	return s, first, true
}

// lengthAlone is a call of strlen to which nothing is added.
var lengthAlone = regexp.MustCompile(`^[^+]*\bstrlen *\([^+]*$`)

// withoutEnd: a block is full of text, of which an operation has stored the end behind it.
func (a *Analysis) withoutEnd(n *mgpp.Node, op *mgpp.Op) bool {
	if op.Kind != mgpp.OpBulk || op.Addr+trace.Addr(op.Size) != n.Start+trace.Addr(n.Size)+1 || n.Size > maxFilled {
		return false
	}
	b := mgpp.Bytes{Data: make([]byte, n.Size), Written: make([]bool, n.Size)}
	a.Hist.At(op.Time).Read(n.Start, &b)
	for i, c := range b.Data {
		if !b.Written[i] || c == 0 {
			return false
		}
	}
	return true
}

// noWhole says how far apart a statement stored into a block, each time as far, until it came beyond its end, if with the first of what was
// stored so that can not be an array to the end of the block.
func (a *Analysis) noWhole(n *mgpp.Node, f *eval.MemoryFault) (apart uint64, odd bool) {
	type store struct {
		at   uint64 // from the beginning of the block
		size uint64
	}
	by := map[trace.Addr][]store{} // by statement, the newest first
	var op mgpp.Brief
	for t := f.Time; t > n.Birth && f.Time-t < maxFilled; t-- {
		a.Hist.Brief(t, &op)
		if pc := a.Hist.Deed(t).PC; op.Kind == mgpp.OpStore && op.Addr >= n.Start && (t == f.Time || inBlock(n, op.Addr)) {
			by[pc] = append(by[pc], store{uint64(op.Addr - n.Start), op.Size})
		}
	}
	even := func(list []store) (d uint64, ok bool) {
		if len(list) <= minStrided || list[0].at <= list[1].at {
			return 0, false
		}
		d = list[0].at - list[1].at
		for i := range list[:minStrided] {
			if list[i].at-list[i+1].at != d {
				return 0, false
			}
		}
		return d, d >= list[0].size
	}
	apart, ok := even(by[f.PC])
	if !ok {
		return 0, false
	}
	lowest := n.Size
	for _, list := range by {
		if d, ok := even(list); ok && d == apart {
			lowest = min(lowest, list[len(list)-1].at)
		}
	}
	return apart, n.Size%apart > lowest // else as much as that may lie before the array
}
