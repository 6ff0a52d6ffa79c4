package faultloc

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxOdd bounds the operations since the last healthy C-point that are looked through.
const maxOdd = 1 << 12

// odd adds what a run does that goes wrong with its memory, whatever the specification:
//
//   - a write that hit no block, though it lies near one
//   - a free, behind which a pointer was stored that leads to where nothing ever was: it
//     was read from what was freed
//   - the statement in which the run ended
//   - the last free before that, in the same call: what it freed may still have been used
func odd(in Input, suspects []Suspect) []Suspect {
	freed := map[trace.ThreadID]mgpp.Timestamp{}
	accuse := func(t mgpp.Timestamp, kind EvidenceKind) {
		known := len(suspects)
		s := statement(in, &suspects, t)
		if known < len(suspects) {
			s.Operations = []mgpp.Timestamp{t}
		}
		if !s.has(kind) && in.looksFor(kind) {
			s.Operation = t
			s.Evidence = append(s.Evidence, Evidence{Kind: kind})
		}
	}
	for t := max(in.Healthy, in.At-min(in.At, maxOdd)) + 1; t <= in.At; t++ {
		op := in.History.Op(t)
		if !in.attributed(t) {
			continue
		}
		switch op.Kind {
		case mgpp.OpDeath:
			freed[op.Thread] = t
		case mgpp.OpStore:
			if death := freed[op.Thread]; death > 0 && in.wild(op) {
				accuse(death, Garbage)
			}
		}
		if in.Stray != nil && in.wrote(t) && in.Stray(op) {
			accuse(t, Stray)
		}
	}
	if in.Died != 0 {
		last := mgpp.Timestamp(0)
		for _, death := range freed {
			last = max(last, death)
		}
		if last > 0 {
			accuse(last, Freed)
		}
	}
	if in.Died != 0 && in.looksFor(Crash) {
		suspects = append(suspects, Suspect{Kind: Died, PC: in.Died, Evidence: []Evidence{{Kind: Crash}}})
	}
	return suspects
}

// wild: an operation stored a pointer that leads to where nothing was ever written.
func (in *Input) wild(op mgpp.Op) bool {
	if in.Cells == nil || op.Size != 8 {
		return false
	}
	v := in.Model.View(op.Time)
	cell, ok := in.Cells.Cell(op.Addr, v)
	to, known := read(v, op.Addr, 8)
	return ok && known && cell.Pointer && to != 0 && !in.ofBlock(trace.Addr(to), v) && in.History.LastWrite(trace.Addr(to), 1, op.Time) == 0
}

// ofBlock: an address lies in a block or a node, or right behind a block, where an array
// ends.
func (in *Input) ofBlock(addr trace.Addr, v mgpp.View) bool {
	for _, at := range [2]trace.Addr{addr, addr - 1} {
		if _, ok := v.NodeAt(at); ok {
			return true
		}
	}
	return in.Cells.At(addr, v) != 0
}
