package index

import (
	"bytes"
	"math/bits"
)

// cells is what the operations of a chunk leave in memory, by word of 8 bytes.
type cells struct {
	list  []cell   // in the order in which they were written first
	slots []uint32 // hash table: where in list, plus 1; 0: the slot is free
	shift uint
}

// cell is a word that was written.
type cell struct {
	word    uint64 // its address / 8
	value   uint64
	time    uint32
	touched uint8 // bytes that were written
	own     uint8 // of these, since a block began there
	known   uint8 // of these, with a value that is known
}

func newCells() *cells {
	c := &cells{}
	c.grow(1 << 12)
	return c
}

func (c *cells) grow(n int) {
	c.slots = make([]uint32, n)
	c.shift = uint(64 - bits.TrailingZeros(uint(n)))
	for i := range c.list {
		*c.slot(c.list[i].word) = uint32(i + 1)
	}
}

// slot returns the slot of a word, or the free one where it belongs.
func (c *cells) slot(word uint64) *uint32 {
	mask := uint64(len(c.slots) - 1)
	for i := word * 0x9e3779b97f4a7c15 >> c.shift; ; i++ {
		s := &c.slots[i&mask]
		if *s == 0 || c.list[*s-1].word == word {
			return s
		}
	}
}

// add makes a word one that was written, whose free slot that is.
func (c *cells) add(slot *uint32, word uint64) *cell {
	c.list = append(c.list, cell{word: word})
	*slot = uint32(len(c.list))
	if 2*len(c.list) > len(c.slots) {
		c.grow(2 * len(c.slots))
	}
	return &c.list[len(c.list)-1]
}

// byteMasks[m] has all bits of the bytes that m names. Read-only.
var byteMasks = func() (t [256]uint64) {
	for m := range t {
		for b := range 8 {
			if m>>b&1 != 0 {
				t[m] |= 0xff << (8 * b)
			}
		}
	}
	return t
}()

// put writes bytes of one word: those of mask are in value, known or not.
func (c *cells) put(word, value uint64, mask, known uint8, t uint32) {
	var s *cell
	if slot := c.slot(word); *slot != 0 {
		s = &c.list[*slot-1]
	} else {
		s = c.add(slot, word)
	}
	s.value = s.value&^byteMasks[mask] | value&byteMasks[known]
	s.time = t
	s.touched |= mask
	s.own |= mask
	s.known = s.known&^mask | known
}

// store writes up to 8 bytes.
func (c *cells) store(addr, value uint64, width uint8, t uint32) {
	off := addr & 7
	mask := uint16(1)<<width - 1
	value &= byteMasks[uint8(mask)]
	m := mask << off
	c.put(addr>>3, value<<(8*off), uint8(m), uint8(m), t)
	if over := m >> 8; over != 0 {
		c.put(addr>>3+1, value>>(8*(8-off)), uint8(over), uint8(over), t)
	}
}

// write writes size bytes, of which the first are data.
func (c *cells) write(addr, size uint64, data []byte, t uint32) {
	eachWord(addr, size, data, func(word, value uint64, mask, known uint8) { c.put(word, value, mask, known, t) })
}

// overwrite writes the words of [lo, hi) that were written before, of which the first bytes
// are data, or each byte is if they fill it.
func (c *cells) overwrite(lo, hi uint64, data []byte, fill bool, t uint32) {
	c.within(lo, hi, func(s *cell) {
		off := s.word<<3 - lo
		if fill {
			off = 0
		}
		value, known := wordOf(data, off)
		c.put(s.word, value, 0xff, known, t)
	})
}

// wordOf is the word at an offset of a write, as far as its first bytes, data, tell it.
func wordOf(data []byte, off uint64) (value uint64, known uint8) {
	for k := range uint64(8) {
		if off+k < uint64(len(data)) {
			value |= uint64(data[off+k]) << (8 * k)
			known |= 1 << k
		}
	}
	return value, known
}

// cut gives f what of a write is taken down word by word: all, or the ends of a long one, of
// which the words [lo, hi) between are not. data is its first bytes, each of which all others are like if they fill it.
func cut(addr, size uint64, data []byte, fill bool, long uint64, f func(addr, size uint64, data []byte)) (lo, hi uint64) {
	lo, hi = (addr+7)&^7, (addr+size)&^7
	if hi < lo || hi-lo < max(long, 1) {
		if fill {
			data = bytes.Repeat(data[:1], int(size))
		}
		f(addr, size, data)
		return 0, 0
	}
	f(addr, lo-addr, data)
	if !fill {
		data = data[min(hi-addr, uint64(len(data))):]
	}
	f(hi, addr+size-hi, data)
	return lo, hi
}

// eachWord cuts a write into words.
func eachWord(addr, size uint64, data []byte, f func(word, value uint64, mask, known uint8)) {
	for i := uint64(0); i < size; {
		off := (addr + i) & 7
		n := min(8-off, size-i)
		mask := (uint16(1)<<n - 1) << off
		value, known := uint64(0), uint8(0)
		for k := range n {
			if i+k < uint64(len(data)) {
				value |= uint64(data[i+k]) << (8 * (off + k))
				known |= 1 << (off + k)
			}
		}
		f((addr+i)>>3, value, uint8(mask), known)
		i += n
	}
}

// disown notes that a block begins at [lo, hi): what was written there before is
// not its content.
func (c *cells) disown(lo, hi uint64) { c.within(lo, hi, func(s *cell) { s.drop(lo, hi) }) }

// within gives the words that were written and have a byte in [lo, hi).
func (c *cells) within(lo, hi uint64, f func(*cell)) {
	if (hi-lo)/8 > uint64(len(c.list)) {
		for i := range c.list {
			if s := &c.list[i]; s.word<<3 < hi && (s.word+1)<<3 > lo {
				f(s)
			}
		}
		return
	}
	for w := lo >> 3; w<<3 < hi; w++ {
		if s := *c.slot(w); s != 0 {
			f(&c.list[s-1])
		}
	}
}

// drop disowns the bytes of a word that lie in [lo, hi).
func (s *cell) drop(lo, hi uint64) {
	a := s.word << 3
	mask := rangeMask(a, lo, hi)
	s.own &^= mask
	s.known &^= mask
}

// rangeMask is the bytes of the word at a that lie in [lo, hi).
func rangeMask(a, lo, hi uint64) uint8 {
	m := uint8(0xff)
	if lo > a {
		m <<= min(lo-a, 8)
	}
	if hi < a+8 {
		if hi <= a {
			return 0
		}
		m &= 1<<(hi-a) - 1
	}
	return m
}

func (c *cells) clear() {
	clear(c.slots)
	c.list = c.list[:0]
}
