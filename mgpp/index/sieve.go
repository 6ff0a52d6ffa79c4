package index

import "mgtrace/mgpp"

// sieve is the words that are asked about next, and what whole chunks left in them. What a chunk
// wrote is a megabyte of fresh memory; a comparison of two times wants the last writes to some
// hundred words of each.
type sieve struct {
	bits  [sieveBits / 64]uint64 // a word belongs to it if the bit of its hash is set
	words int                    // that were added
	parts map[int]*part          // by chunk: what it left
}

const (
	sieveBits = 1 << 16
	// sieveWords is how many words there may be: of more, too many others pass.
	sieveWords = sieveBits / 8
)

func sieveBit(word uint64) (at, bit uint64) {
	h := word * 0x9e3779b97f4a7c15 >> 48
	return h / 64, 1 << (h % 64)
}

func (s *sieve) has(word uint64) bool {
	at, bit := sieveBit(word)
	return s.bits[at]&bit != 0
}

// add adds the words of [lo, hi); it reports whether there was room.
func (s *sieve) add(lo, hi uint64) bool {
	for w := lo >> 3; w<<3 < hi; w++ {
		if s.words == sieveWords {
			return false
		}
		at, bit := sieveBit(w)
		s.bits[at] |= bit
		s.words++
	}
	return true
}

// sift expects questions about what was touched, unless that is too much.
func (x *Index) sift(touched []mgpp.Touch) {
	x.sieve = nil
	s := &sieve{parts: map[int]*part{}}
	for _, touch := range touched {
		n, ok := x.node(touch.Node)
		if !ok || !s.add(n.start+min(touch.Lo, n.size), n.start+min(touch.Hi, n.size)) {
			return
		}
	}
	x.sieve = s
	for _, p := range x.parts {
		if p.heads == nil {
			p.link(s)
		}
	}
}

// partOf is a part of a chunk, as far as the operation at t, in which a word can be looked for.
func (x *Index) partOf(chunk int, t, word uint64) *part {
	end := x.endOf(chunk)
	if x.parts[chunk] != nil || t < end || x.sieve == nil || !x.sieve.has(word) {
		return x.part(chunk, t)
	}
	p := x.sieve.parts[chunk]
	if p == nil {
		p = &part{until: end, only: x.sieve}
		p.link(x.sieve)
		x.fail(x.decode(chunk, p))
		if len(x.sieve.parts) == maxParts {
			clear(x.sieve.parts)
		}
		x.sieve.parts[chunk] = p
	}
	return p
}

// leave takes a write into a part of which only what was left matters: older writes of the same
// bytes of the word go.
func (p *part) leave(word uint64, r rec) {
	if !p.only.has(word) {
		return
	}
	h := p.slot(word)
	if i := *h; i != 0 && p.recs[i-1].mask&^r.mask == 0 {
		p.recs[i-1] = r
		return
	}
	p.words, p.recs, p.prev = append(p.words, word), append(p.recs, r), append(p.prev, *h)
	*h = uint32(len(p.words))
	if fullest(len(p.words)) > len(p.heads) {
		p.link(p.only)
	}
}
