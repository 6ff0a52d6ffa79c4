package analysis

import (
	"cmp"
	"encoding/binary"
	"slices"

	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// wild are the words of memory that led, when the program crashed, to where a register did, and those that led to these (trace.KindWild).
type wild []mem.Word

func (w *wild) note(ev *trace.Event) {
	if len(ev.Data) == 8 {
		*w = append(*w, mem.Word{Addr: uint64(ev.Addr), Value: binary.LittleEndian.Uint64(ev.Data)})
	}
}

// A word by which the program may have come to where it died.
type sourceWord struct {
	mem.Word
	read faultloc.Read
	kind wildness
	away uint64 // from what the register held
}

// wildness is what is known of such a word, the best first.
type wildness int

const (
	wildStale  wildness = iota // a pointer leads to it that was stored when another block was there, which was freed
	wildFreed                  // it is in a freed block, and nothing that is recorded has written it
	wildStored                 // it was stored where it is
	wildLeft                   // it is in a freed block, as the program had stored it
)

// heldWild are the words of memory from which the program may have had the address where there was none, the likeliest: it has read one of
// them, and then a pointer that leads nowhere was stored there, or the block was freed.
func (a *Analysis) heldWild(at mgpp.Timestamp) (out []faultloc.Read) {
	given := a.died.given(a.Symbols)
	var words []sourceWord
	for _, w := range a.wild {
		near := uint64(maxOff)
		for _, v := range given {
			near = min(near, max(w.Value, v)-min(w.Value, v))
		}
		if near == maxOff {
			continue
		}
		x := sourceWord{Word: w, away: near, read: a.readAt(&replay.Read{Addr: w.Addr, Size: 8, Of: -1}, at)}
		x.read.ByValue = true
		if x.kind = a.wildness(&x, at); x.kind <= wildLeft {
			words = append(words, x)
		}
	}
	// Of those that are alike it was read from what was freed last, most likely.
	slices.SortStableFunc(words, func(x, y sourceWord) int {
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.away, y.away), cmp.Compare(y.read.Freed, x.read.Freed))
	})
	for _, x := range words {
		if x.kind == words[0].kind && x.away == words[0].away && len(out) < maxHolding {
			out = append(out, x.read)
		}
	}
	return out
}

// wildness says what is known of a word, and of the block that was freed there; more than wildLeft: it is not the program's.
func (a *Analysis) wildness(x *sourceWord, at mgpp.Timestamp) wildness {
	if x.read.Freed == 0 && x.read.Born == 0 && a.Hist.LastWrite(x.read.Addr, 8, at) == 0 {
		return wildLeft + 1
	}
	if a.stale(&x.read) {
		return wildStale
	}
	is, known := mgpp.Number(a.Hist.At(at), x.read.Addr, 8)
	switch {
	case x.read.Freed == 0:
		return wildStored
	case !known || is != x.Value:
		return wildFreed
	}
	return wildLeft
}

// stale finds a pointer to what was read that was stored when another block was there, which was freed.
func (a *Analysis) stale(r *faultloc.Read) bool {
	for _, p := range a.wild {
		if uint64(r.Addr)-p.Value >= maxOff {
			continue
		}
		if was, known := mgpp.Number(a.Hist.At(r.Before), trace.Addr(p.Addr), 8); !known || was != p.Value {
			continue // it was written later
		}
		if a.outlived(r, trace.Addr(p.Addr), trace.Addr(p.Value), r.Before) {
			return true
		}
	}
	return false
}

// outlived: a pointer that an address held at a time was stored when another block was where it leads, which had what was read, and was freed
// before that. The read tells of it then.
func (a *Analysis) outlived(r *faultloc.Read, pointer, to trace.Addr, at mgpp.Timestamp) bool {
	stored := a.Hist.LastWrite(pointer, 8, at)
	then := a.Hist.At(stored)
	id, ok := then.NodeAt(r.Addr)
	if in, _ := then.NodeAt(to); stored == 0 || !ok || in != id {
		return false
	}
	died := a.Hist.Node(id).Death
	if died == 0 || died > r.Before {
		return false
	}
	r.Freed, r.Left = died, a.Hist.Op(stored).PC
	return true
}
