package graph

import (
	"sort"

	"mgtrace/mgpp"
)

// pasts are the edges that led to an object, by when they were gone. Those of an old time are among all that were gone
// later, and a program that goes round in a circle may have made a million since: of each group it is known when
// the first of it began, and of one that began later none is looked at.
type pasts struct {
	list  []pastRef
	first []uint32 // of each group of pastGroup, the last one maybe shorter, the least since
}

const pastGroup = 256

// pastRef is a pointer cell that led to an object in [since, until).
type pastRef struct {
	inRef
	until uint32
	off   offset
}

func (p *pasts) add(r pastRef) {
	if k := len(p.list) / pastGroup; k == len(p.first) {
		p.first = append(p.first, r.since)
	} else {
		p.first[k] = min(p.first[k], r.since)
	}
	p.list = append(p.list, r)
}

func (p *pasts) clear() { p.list, p.first = p.list[:0], p.first[:0] }

// at is the index of the first edge that was there at t; the length if there is none.
func (p *pasts) at(t mgpp.Timestamp) int {
	gone := len(p.list)
	if gone > 0 && mgpp.Timestamp(p.list[gone-1].until) > t {
		gone = sort.Search(gone, func(i int) bool { return mgpp.Timestamp(p.list[i].until) > t })
	}
	return p.next(gone, t)
}

// next is the index of the first from i on that had begun by t; the length if there is none. Where those at i and behind were gone
// after t, it was there.
func (p *pasts) next(i int, t mgpp.Timestamp) int {
	for i < len(p.list) && mgpp.Timestamp(p.list[i].since) > t {
		if i++; i%pastGroup == 0 {
			for i < len(p.list) && mgpp.Timestamp(p.first[i/pastGroup]) > t {
				i += pastGroup
			}
		}
	}
	return min(i, len(p.list))
}
