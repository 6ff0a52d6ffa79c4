package index

import (
	"slices"

	"mgtrace/mgpp"
)

// wordSet is words that are asked about next, and few others: a table of them is a twentieth of
// that of all words of a part.
type wordSet struct {
	bits  [setBits / 64]uint64 // a word belongs to it if the bit of its hash is set
	words int                  // that were added
}

const (
	setBits = 1 << 16
	// setWords is how many words may be added: of more, too many others belong to it.
	setWords = setBits / 8
)

func setBit(word uint64) (at, bit uint64) {
	h := word * 0x9e3779b97f4a7c15 >> 48
	return h / 64, 1 << (h % 64)
}

func (s *wordSet) has(word uint64) bool {
	at, bit := setBit(word)
	return s.bits[at]&bit != 0
}

// add adds the words of [lo, hi); it reports whether there was room.
func (s *wordSet) add(lo, hi uint64) bool {
	for w := lo >> 3; w<<3 < hi; w++ {
		if s.words == setWords {
			return false
		}
		at, bit := setBit(w)
		s.bits[at] |= bit
		s.words++
	}
	return true
}

// expect expects questions about what was touched in (a, b], of both times, unless that is too
// much.
func (x *Index) expect(touched []mgpp.Touch, a, b uint64) {
	var s wordSet
	var words []uint64 // of nodes that lived at both times
	for _, touch := range touched {
		n, ok := x.node(touch.Node)
		lo, hi := n.start+min(touch.Lo, n.size), n.start+min(touch.Hi, n.size)
		if !ok || !s.add(lo, hi) {
			return
		}
		for w := lo >> 3; w<<3 < hi && n.alive(a) && n.alive(b); w++ {
			words = append(words, w)
		}
	}
	for _, p := range x.parts {
		if p.heads == nil {
			p.link(&s)
		}
	}
	slices.Sort(words)
	now, p := uint64(x.chunkOf(a)), x.decoded(a)
	var keys []key
	for _, w := range words {
		if p == nil || !p.wrote(w, a) {
			keys = append(keys, key{w, now})
		}
	}
	x.fail(x.table(tabCells).foresee(keys))
}
