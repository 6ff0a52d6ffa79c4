package faultloc

import (
	"maps"
	"slices"

	"mgtrace/mgpp"
)

// What stands next to each other in the text of one function runs so whoever calls it: what is
// learnt of it in insertions holds in the first deletion too. So of statements that have run many
// times, and always right behind, or before, the same other one of their function, that one is missing
// where it does not run next to them, though habits of such calls say nothing of it.

// body is what ran directly next to a statement, in calls of any function.
type body struct {
	st    int  // the other statement
	n     int  // so many times
	mixed bool // not always
}

// adjoin learns what ran directly next to a statement.
func (h *habits) adjoin(st int, around [2][]int) {
	p := h.plain[st]
	for side := range around {
		for len(h.beside[side]) <= p {
			h.beside[side] = append(h.beside[side], body{})
		}
		b := &h.beside[side][p]
		switch {
		case len(around[side]) == 0:
			b.mixed = true
		case b.n == 0:
			b.st = around[side][0]
		case h.plain[b.st] != h.plain[around[side][0]]:
			b.mixed = true
		}
		b.n++
		if len(around[side]) == 0 || h.function[around[side][0]] != h.function[st] {
			h.border[side][p] = true
		} else {
			h.pairs[side].add(p, h.plain[around[side][0]])
		}
	}
}

// torn returns the statement that always ran directly next to another one of its function, and did not
// here, where all the rest is as ever: what ran instead has run next to the missing one too.
func (h *habits) torn(side, st int, around []int) (missing, of int, ok bool) {
	p := h.plain[st]
	if p >= len(h.beside[side]) {
		return 0, 0, false
	}
	b := h.beside[side][p]
	if f := h.function[st]; b.mixed || b.n < many || f == "" || h.function[b.st] != f || h.plain[b.st] == p || h.alien[b.st] {
		return 0, 0, false
	}
	missed := h.plain[b.st]
	switch {
	case len(around) == 0, h.function[around[0]] != h.function[st]:
		ok = h.border[side][missed]
	default:
		ok = h.plain[around[0]] != missed && h.pairs[side].has(missed, h.plain[around[0]])
	}
	return b.st, b.n, ok && !slices.ContainsFunc(around, func(o int) bool { return h.plain[o] == missed })
}

// tear notes what is missing directly next to an operation.
func (h *habits) tear(found map[int]breach, side, st int, around []int, t mgpp.Timestamp) {
	missing, of, ok := h.torn(side, st, around)
	if !ok {
		return
	}
	same := func(o int) bool { return h.plain[o] == h.plain[missing] } // in such calls too
	for o, b := range found {
		if same(o) && b.often == b.of && b.of >= of {
			return
		}
	}
	maps.DeleteFunc(found, func(o int, _ breach) bool { return same(o) })
	found[missing] = breach{missing: missing, beside: t, often: of, of: of, only: true, text: true}
}
