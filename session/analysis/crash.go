package analysis

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/eval"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/report"
	"mgtrace/trace"
)

// A program may die before anything is broken: a pointer that it follows is NULL. There is no inconsistency to trace back, but
// the call in which it died can be executed again.

// sole: it is about a crash at which nothing is broken.
func (p *point) sole() bool { return p.Kind == "crash" && len(p.found) == 0 && p.fault == nil }

// crashed locates such a crash, if the program died in its own code.
func (a *Analysis) crashed() (c report.CPoint, ok bool) {
	if a.died.pc == 0 || a.Exit == nil || a.Exit != a.signal || a.checked == 0 || a.o.NoLocate || len(a.points) > 0 {
		return c, false
	}
	p := &point{CPoint: eval.CPoint{Kind: "crash"}, time: a.beforeAbort(), healthy: a.whole}
	a.Graph.Exact()
	in := a.question(p)
	res := a.watched(p, in, faultloc.Crashed)
	c = report.CPoint{Kind: p.Kind, File: a.signal.File, Path: a.signal.Path, Line: a.signal.Line, Timestamp: uint64(p.time), Fault: report.Crash}
	c.Inconsistencies = []report.Inconsistency{{Constraint: report.Crash, Reason: "the program died of " + a.signal.Died() + ", and nothing was inconsistent", Total: 1}}
	if a.died.aborted && !slices.ContainsFunc(res.Suspects, func(s faultloc.Suspect) bool { return s.Kind != faultloc.Died }) {
		return c, false // where it aborted is told in any case
	}
	_, c.Suspects = a.inWords(res.Suspects, p.time)
	for i := range c.Suspects {
		c.Suspects[i].Contributes = []string{report.Crash}
	}
	return c, len(c.Suspects) > 0
}

// beforeAbort is the last operation that the program did before it ended itself: assert and its kin allocate for what they say.
func (a *Analysis) beforeAbort() mgpp.Timestamp {
	t := a.Hist.Now()
	for ; a.died.aborted && t > 0; t-- {
		pc := a.Hist.Op(t).PC
		if im, ok := a.Symbols.Image(pc); pc != a.died.pc && (!ok || im.Traced) {
			break
		}
	}
	return t
}

// beneath reports that the same function called what did an operation and, from the same place or another, that in which the program died, by
// the return addresses of both: they end alike in the program's own code.
func (a *Analysis) beneath(t mgpp.Timestamp) bool {
	op := a.Hist.Op(t)
	if op.Thread != a.died.thread || len(op.Stack) == 0 {
		return false
	}
	x, y := op.Stack, a.died.calls
	for len(x) > 1 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		if ret := x[len(x)-1]; a.traced(ret) {
			if f, _, _ := a.Symbols.Where(ret - 1); f.File != "" { // else it is what calls main
				return true
			}
		}
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return false
}

// Limits of the search for pointers to where the program died.
const (
	maxScanned = 1 << 24 // operations: a second
	maxHolding = 8
	maxOff     = 1 << 12 // bytes from where a pointer leads
)

// holding are the pointers of nodes, and of declared objects in static memory, that were stored last, lead nowhere, and from which the
// address may have come at which the program found no memory. It has followed one of them most likely. Nothing is told of NULL: many are.
// Without a specification any word may be a pointer, if a register holds it of which the address was computed.
func (a *Analysis) holding(at mgpp.Timestamp) (out []faultloc.Read) {
	if len(a.wild) > 0 {
		return a.heldWild(at)
	}
	fault := uint64(a.died.fault)
	if fault < maxOff || a.died.aborted {
		return nil
	}
	v, given := a.Hist.At(at), a.died.given(a.Symbols)
	mayLead := func(at trace.Addr, value uint64) bool {
		if a.o.Spec == "" {
			return at%8 == 0 && slices.Contains(given, value)
		}
		c, ok := locatorCells{a.Graph}.Cell(at, v)
		return ok && c.Pointer && c.Addr == at
	}
	var op mgpp.Brief
	for t := at; t > 0 && at-t < maxScanned && len(out) < maxHolding; t-- {
		if a.Hist.Brief(t, &op); op.Kind != mgpp.OpStore || op.Size != 8 || !op.Valued || fault-op.Value >= maxOff {
			continue
		}
		is, known := mgpp.Number(v, op.Addr, 8)
		if _, leads := v.NodeAt(trace.Addr(op.Value)); !known || is != op.Value || leads || !mayLead(op.Addr, op.Value) {
			continue
		}
		r := a.readAt(&replay.Read{Addr: uint64(op.Addr), Size: 8, Of: -1}, at)
		r.ByValue = true
		out = append(out, r)
	}
	return out
}

// followed says what a statement had to do with the address at which the program died.
func (a *Analysis) followed(s *faultloc.Suspect, e *faultloc.Evidence) string {
	led := "the program followed it to where it died"
	switch {
	case e.ByAddress:
		led = "the program died where it leads"
	case e.Depth == 1:
		led = "it led to what the program followed to where it died"
	case e.Depth > 1:
		led = "by some steps it led to what the program followed to where it died"
	}
	out := ""
	switch e.Read {
	case faultloc.ReadNull:
		out = "it left a NULL, and " + led
	case faultloc.ReadNowhere:
		out = "it stored a pointer that leads to nothing that is known, and " + led
	case faultloc.ReadIndex:
		out = "it stored a number by which the program came beyond a block, and to where it died"
	case faultloc.ReadAsked:
		out := "it was the last to store what the condition asked for by which the program ended itself"
		if by := a.storedBefore(s.Operation); len(by) > 0 {
			out += "; before it " + strings.Join(by, ", ") + " did"
		}
		return out
	case faultloc.ReadCircle:
		out = "it stored the link that closed the circle of nodes along which the function called itself until the stack was full"
	case faultloc.ReadDivisor:
		out = "it left the 0 by which the program divided"
	case faultloc.ReadFreedBlock:
		out = "it freed the block from which a pointer was read after that, and " + led
		switch {
		case e.By == 0:
		case a.Symbols.Library(e.By): // a container has moved it
			out += "; a pointer still led to the block"
		default:
			out += "; what was stored at " + a.Symbols.Place(e.By) + " still led to the block"
		}
	case faultloc.ReadUnwritten:
		out = "it allocated the block from which a pointer was read that nothing had written, and " + led
	default:
		out = "what it stored was read, and " + led
	}
	if e.Survives {
		out += "; with what was there before, the call would have come to its end, and nothing would be broken" + experiment
	}
	return out
}

// tallied says what the number counted for which a condition asked.
func tallied(e *faultloc.Evidence) string {
	out := fmt.Sprintf("the condition by which the program ended itself asked for a number that %d stores had kept at how many blocks of %d bytes pointers lead to from there", e.Of, e.Bytes)
	if e.But != 0 {
		out += ", less one"
	}
	switch {
	case e.Moved > 0:
		return out + fmt.Sprintf("; this brought %d more, and no store of the number came with it", e.Moved)
	case e.Moved < 0:
		return out + fmt.Sprintf("; this took %d away, and no store of the number came with it", -e.Moved)
	}
	return out + "; this stored the number, and not as many blocks came or went"
}

// Limits of what is told of who stored in a cell before.
const (
	maxStorers = 3
	maxStored  = 1 << 10 // operations
)

// storedBefore are the other statements that stored before an operation where that did, the newest first.
func (a *Analysis) storedBefore(t mgpp.Timestamp) (places []string) {
	op := a.Hist.Op(t)
	own := a.Symbols.Place(op.PC)
	for n := 0; n < maxStored && len(places) < maxStorers; n++ {
		if t = a.Hist.LastWrite(op.Addr, op.Size, t-1); t == 0 {
			break
		}
		if at := a.Symbols.Place(a.Hist.Op(t).PC); at != own && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	return places
}
