package faultloc

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where nothing is broken, a program dies all the same of a pointer that leads nowhere, and it has read that somewhere. The call is
// executed again up to there, and says on which memory the address depends (M. D. Bond et al., "Tracking Bad Apples: Reporting the Origin of Null
// and Undefined Value Errors", OOPSLA 2007, have the program carry that along).

// Read is memory on which the address depends at which the program died.
type Read struct {
	PC     trace.Addr // of the instruction that read it; 0: it is not known
	Addr   trace.Addr // 0: it is no memory, but what the call was given
	Given  trace.Addr
	Size   int
	Depth  int            // 0: the address was read there, or computed from it; else that led to memory of the depth before
	Before mgpp.Timestamp // the last operation before it was read
	Freed  mgpp.Timestamp // the operation that had freed the block there; 0: none had
	Born   mgpp.Timestamp // the operation that allocated the block there; 0: none lies there
	Of     int            // the read, by its number, to which this one led; -1: to where the program died
	// ByValue: it holds what leads to where the program died. Which way it came there is not known.
	ByValue bool
	// Left is the instruction that had stored the pointer by which the freed block was still reached; 0: it is not known.
	Left trace.Addr
}

// maxLedBy bounds what is followed back.
const maxLedBy = 8

// followed adds the statements that wrote what the program followed to where it died. Where that was in a freed block, it is who
// freed it, and where nothing had written it, who allocated it.
func followed(in Input, suspects []Suspect) []Suspect {
	if in.Died == 0 || !in.looksFor(Followed) {
		return suspects
	}
	reads, r, circle := in.cameBy()
	beyond, died := in.beyond(reads)
	for i, x := range reads[:min(len(reads), maxLedBy)] {
		if beyond[i] || x.Addr == 0 {
			continue // who has written there has nothing to do with it
		}
		e := Evidence{Kind: Followed, Depth: x.Depth, Sole: len(in.Found) == 0, ByAddress: x.ByValue}
		t := in.History.LastWrite(x.Addr, uint64(x.Size), x.Before)
		switch {
		case in.Ends && x.Depth > 0:
			continue // where that lies is mostly as it should be
		case x.Freed != 0:
			t, e.Read, e.By = x.Freed, ReadFreedBlock, x.Left
		case t <= x.Born && x.Born != 0:
			t, e.Read = x.Born, ReadUnwritten
			if is := in.what(x); is == ReadNull || is == ReadDivisor {
				e.Read = is // as calloc has left it
			} else if w, e, ok := in.unfilled(x); ok {
				suspects = in.neverFilled(suspects, w, e)
				continue
			}
		case t == 0:
			continue // nothing of it is known
		default:
			if e.Read = in.what(x); circle {
				e.Read = ReadCircle
			} else if (x.Of < 0 && died || x.Of >= 0 && beyond[x.Of]) && e.Read == ReadNumber && in.leads(x) == 0 {
				e.Read = ReadIndex
			}
			if r != nil {
				e.Survives, _ = r.Before(t)
			}
			// Right before it, by the same function; or NULL where NULL was, by what never ran while all was well: it should have been set to something.
			near := e.Read == ReadNull && x.Depth == 0 && t > in.Healthy && in.At-t < maxVain && in.Function != nil
			e.Next = near && (in.function(t) == in.Function(in.Died) || in.wrote(t) && !in.changed(t) && !in.ran(t, 1))
		}
		if !in.attributed(t) || x.Depth > 1 && e.Read == ReadNumber && !e.Survives || !e.Sole && e.Read < ReadNowhere && !(e.Read == ReadNull && x.Depth == 0 && t > in.Healthy) {
			continue // all that there is leads somewhere, and what is broken explains most that is NULL, unless it was stored since all was whole
		}
		if e.Read == ReadNowhere && in.ReadFreed != nil {
			// It may have been read from what the same call had freed.
			if f, ok := in.ReadFreed(t); ok && f.Free < t {
				suspects = charge(in, suspects, f.Free, Evidence{Kind: Used, By: f.By})
			}
		}
		suspects = charge(in, suspects, t, e)
		if e.Read == ReadAsked && e.Sole {
			suspects = tallied(in, suspects, x)
		}
	}
	return suspects
}

// cameBy is the memory by which the program came to where it died, and the call in which it did, if that was executed again for it; or the link that
// closed a circle.
func (in *Input) cameBy() (reads []Read, r Rerun, circle bool) {
	if in.Recursed != nil {
		if reads = in.Recursed(); len(reads) > 0 {
			return reads[:1], nil, true
		}
	}
	if in.Ended != nil {
		r = in.Ended()
	}
	if r != nil {
		reads = r.Followed()
	}
	if (r == nil || in.Ends && len(reads) == 0) && in.Led != nil {
		reads = in.Led()
	}
	if len(reads) == 0 && in.Holding != nil && len(in.Found) == 0 {
		reads = in.Holding()
	}
	return reads, r, false
}

// beyond says which reads were not in the block to which pointers led that their addresses were computed from, and whether that is so
// of where the program died.
func (in *Input) beyond(reads []Read) (out []bool, died bool) {
	out, led := make([]bool, len(reads)), make([]bool, len(reads))
	for _, x := range reads {
		of := in.leads(x)
		switch {
		case of == 0:
		case x.Of < 0:
			died = true
		default:
			to, ok := in.Model.View(x.Before).NodeAt(reads[x.Of].Addr)
			within := ok && to == of
			out[x.Of] = !within && (out[x.Of] || !led[x.Of])
			led[x.Of] = true
		}
	}
	return out, died
}

// unfilled is the newest store that gives a like node the field that was read where nothing had written it, by the statement that does so
// in nearly all of them, where they are allocated.
func (in *Input) unfilled(x Read) (w mgpp.Timestamp, e Evidence, ok bool) {
	c, ok := in.empty(Unset{Addr: x.Addr, Size: x.Size, Before: x.Before})
	if !ok || !in.looksFor(Unwritten) {
		return 0, e, false
	}
	w, often, of := in.writesOf(c)
	by := x.PC
	if by == 0 {
		by = in.Died
	}
	e = Evidence{Kind: Unwritten, Mends: &Repair{Cell: c}, By: by, Led: true, Often: often, Of: of}
	return w, e, w != 0 && of >= enough && 10*often >= 9*of && in.fills(w)
}

// leads is the block to which a pointer that was read leads, 0 if it is none.
func (in *Input) leads(x Read) mgpp.NodeID {
	v := in.Model.View(x.Before)
	if x.Addr == 0 {
		id, _ := v.NodeAt(x.Given)
		return id
	}
	to, known := read(v, x.Addr, x.Size)
	if !known || x.Size != 8 {
		return 0
	}
	id, _ := v.NodeAt(trace.Addr(to))
	return id
}

// what says what was read.
func (in *Input) what(x Read) WasRead {
	v := in.Model.View(x.Before)
	to, known := read(v, x.Addr, x.Size)
	switch {
	case in.Ends:
		return ReadAsked
	case in.Divides:
		if x.Depth == 0 && known && to == 0 {
			return ReadDivisor
		}
		return ReadNumber
	case x.Depth > 0, x.Size != 8, !known:
		return ReadNumber
	case to == 0:
		return ReadNull
	case trace.Addr(to) >= trace.UserEnd, in.Fault != 0 && near(trace.Addr(to), in.Fault):
		return ReadNowhere
	}
	return ReadNumber // by which another pointer led there
}

// near: one address may be found from the other by a field's offset.
func near(a, b trace.Addr) bool { return max(a, b)-min(a, b) < maxReach }

// charge adds evidence against the statement of an operation, if there is none of its kind.
func charge(in Input, suspects []Suspect, t mgpp.Timestamp, e Evidence) []Suspect {
	known := len(suspects)
	s := statement(in, &suspects, t)
	if known < len(suspects) {
		s.Operations = []mgpp.Timestamp{t}
	}
	if !s.has(e.Kind) && in.looksFor(e.Kind) {
		s.Operation = t
		s.Evidence = append(s.Evidence, e)
	}
	return suspects
}
