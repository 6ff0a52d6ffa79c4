package analysis

import (
	"encoding/binary"
	"slices"

	"mgtrace/session/rerun"
	"mgtrace/trace"
)

// passed keeps what the arguments of calls lead to on their thread's stack, and text (trace.KindPassed). Mostly the call before had the
// same there, and both have one record.
type passed struct {
	// waits is what each thread has told of its next call: a record, which is its length, and for each object its address, how
	// many words it has, and these.
	waits  trace.Threads[[]uint64]
	pieces [][]uint64 // of passedPiece words each; nil: forgotten
	used   uint64     // words, from 1: 0 is the number of no record
	last   uint32     // the newest record; at used or behind, if it was taken back: its words stay until the next one comes
	of     int        // so many have it
}

const (
	passedPiece = 1 << 12
	maxPassed   = 1 << 11 // pieces that are kept, the newest: 64 MB
	maxWords    = passedPiece - 1
)

// note takes note of an object.
func (p *passed) note(ev *trace.Event) {
	w := p.waits.Of(ev.Thread)
	if len(*w)+2+len(ev.Data)/8 <= maxWords {
		*w = appendObject(*w, ev)
	}
}

func appendObject(w []uint64, ev *trace.Event) []uint64 {
	at, n := len(w)+2, len(ev.Data)/8
	w = slices.Grow(w, 2+n)[:at+n]
	w[at-2], w[at-1] = uint64(ev.Addr), uint64(n)
	for i := range n {
		w[at+i] = binary.LittleEndian.Uint64(ev.Data[8*i:])
	}
	return w
}

// drop forgets what a thread has told: its call is not one that is logged.
func (p *passed) drop(thread trace.ThreadID) {
	w := p.waits.Of(thread)
	*w = (*w)[:0]
}

// take gives what a thread has told a number, 0 if that is nothing.
func (p *passed) take(thread trace.ThreadID) uint32 {
	w := p.waits.Of(thread)
	if len(*w) == 0 {
		return 0
	}
	defer p.drop(thread)
	return p.put(*w)
}

// put gives a record a number, 0 if there is no room.
func (p *passed) put(w []uint64) uint32 {
	n := uint64(len(w)) + 1
	if slices.Equal(p.record(p.last), w) {
		p.used = max(p.used, uint64(p.last)+n)
		p.of++
		return p.last
	}
	at := max(p.used, 1)
	if at%passedPiece+n > passedPiece {
		at = (at/passedPiece + 1) * passedPiece
	}
	if at+n > 1<<32 {
		return 0
	}
	for at/passedPiece >= uint64(len(p.pieces)) {
		var piece []uint64
		if k := len(p.pieces) - maxPassed; k >= 0 {
			piece, p.pieces[k] = p.pieces[k], nil
		} else {
			piece = make([]uint64, passedPiece)
		}
		p.pieces = append(p.pieces, piece)
	}
	piece := p.pieces[at/passedPiece]
	piece[at%passedPiece] = n - 1
	copy(piece[at%passedPiece+1:], w)
	p.used, p.last, p.of = at+n, uint32(at), 1
	return p.last
}

// hold has a record stay, although the call whose it is may be taken back.
func (p *passed) hold(number uint32) {
	if number != 0 && number == p.last {
		p.of++
	}
}

// takeBack ends what take or hold has begun: where nobody has the newest record any more, the next one takes its place. Most calls of
// a program only look something up, each with arguments of its own: of 670,000 calls of m4's that were half of all that was in use.
func (p *passed) takeBack(number uint32) {
	if number == 0 || number != p.last {
		return
	}
	if p.of--; p.of == 0 {
		p.used = uint64(number)
	}
}

// record returns what has a number, nil if it is forgotten. It stays until the next one is put.
func (p *passed) record(number uint32) []uint64 {
	if number == 0 || p.pieces[number/passedPiece] == nil {
		return nil
	}
	from := p.pieces[number/passedPiece][number%passedPiece:]
	return from[1 : 1+from[0]]
}

// objects returns what lies in a record, what the registers of floating-point arguments held (address 0), and how an inlined
// call began (trace.RegsAddr); nil: that is not known.
func (p *passed) objects(number uint32) (out []rerun.Object, floats, begun []uint64) {
	for r := slices.Clone(p.record(number)); len(r) > 0; {
		end := 2 + r[1]
		switch r[0] {
		case 0:
			floats = r[2:end]
		case uint64(trace.RegsAddr):
			begun = r[2:end]
		default:
			out = append(out, rerun.Object{Addr: r[0], Words: r[2:end]})
		}
		r = r[end:]
	}
	return out, floats, begun
}
