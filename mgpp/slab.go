package mgpp

import (
	"bytes"
	"encoding/binary"
)

// slab is an array that grows without copying: pointers into it stay valid.
type slab[T any] struct {
	chunks []*[slabChunk]T
	n      int
}

const slabChunk = 1 << 12

func (s *slab[T]) len() int { return s.n }

func (s *slab[T]) at(i int) *T {
	return &s.chunks[uint(i)/slabChunk][uint(i)%slabChunk]
}

// add appends v and returns its index.
func (s *slab[T]) add(v T) int {
	i, p := s.next()
	*p = v
	return i
}

// next appends an element that is zero, to be filled where it lies, and returns its index. One that is
// made elsewhere field by field and copied at once, many bytes at a time, waits until all its fields have been
// written (Intel's optimization manual, "store forwarding": a load that spans several stores): that
// took longer than to make it.
func (s *slab[T]) next() (int, *T) {
	i := s.n
	if i/slabChunk == len(s.chunks) {
		s.chunks = append(s.chunks, new([slabChunk]T))
	}
	s.n++
	return i, s.at(i)
}

// words keeps what stores of more than 4 bytes do not share with others: runs of
// 8-byte words, little-endian.
type words struct {
	chunks []*[wordsChunk]uint64
	n      uint32 // words used
}

const (
	wordsChunk   = 1 << 11
	maxWordIndex = 1<<32 - 1
)

// alloc returns the index of n new words, which lie in one chunk.
func (w *words) alloc(n uint32) uint32 {
	if w.n%wordsChunk+n > wordsChunk {
		w.n = (w.n/wordsChunk + 1) * wordsChunk
	}
	i := w.n
	w.n += n
	if int(i/wordsChunk) == len(w.chunks) {
		w.chunks = append(w.chunks, new([wordsChunk]uint64))
	}
	return i
}

// add keeps one word.
func (w *words) add(v uint64) uint32 {
	i := w.alloc(1)
	w.chunks[i/wordsChunk][i%wordsChunk] = v
	return i
}

// addBytes keeps a string of at most maxWords bytes.
func (w *words) addBytes(data []byte) uint32 {
	i := w.alloc(uint32(len(data)+7) / 8)
	dst := w.chunks[i/wordsChunk][i%wordsChunk:]
	for ; len(data) >= 8; data, dst = data[8:], dst[1:] {
		dst[0] = binary.LittleEndian.Uint64(data)
	}
	for k, b := range data {
		dst[0] |= uint64(b) << (8 * k)
	}
	return i
}

// word returns the 8 bytes from off on of what lies at index i, all of which it has.
func (w *words) word(i uint32, off uint64) uint64 {
	src := w.chunks[i/wordsChunk][uint64(i%wordsChunk)+off/8:]
	if shift := 8 * (off % 8); shift != 0 {
		return src[0]>>shift | src[1]<<(64-shift)
	}
	return src[0]
}

// copy fills dst with the bytes from off on of what lies at index i.
func (w *words) copy(dst []byte, i uint32, off uint64) {
	src := w.chunks[i/wordsChunk][i%wordsChunk:]
	for k := range dst {
		q := off + uint64(k)
		dst[k] = byte(src[q/8] >> (8 * (q % 8)))
	}
}

func (w *words) bytes() uint64 { return uint64(len(w.chunks)) * wordsChunk * 8 }

// arena keeps byte strings for ever.
type arena struct {
	chunks [][]byte
	open   int // index + 1 of the chunk that is being filled; 0: there is none
	zeros  int // index + 1 of the chunk of zeros; 0: there is none
	total  uint64
}

// arenaRef is the chunk's number and, in the low 32 bits, the offset in it.
type arenaRef uint64

// A chunk is a quarter of all before it, but of these sizes.
const (
	firstArenaChunk = 1 << 14
	lastArenaChunk  = 1 << 20
)

// zeros are what many long writes write.
var zeros [1 << 12]byte // read-only

// add copies data and returns where it is. A long string gets a chunk of its
// own, which leaves the open chunk open; zeros are the first of one chunk of these.
func (a *arena) add(data []byte) arenaRef {
	if len(data) <= len(zeros) && bytes.Equal(data, zeros[:len(data)]) {
		if a.zeros == 0 {
			a.chunks = append(a.chunks, zeros[:])
			a.zeros = len(a.chunks)
		}
		return arenaRef(uint64(a.zeros-1) << 32)
	}
	size := min(max(a.total/4, firstArenaChunk), lastArenaChunk)
	if uint64(len(data)) > size/4 {
		a.chunks = append(a.chunks, append(make([]byte, 0, len(data)), data...))
		a.total += uint64(len(data))
		return arenaRef(uint64(len(a.chunks)-1) << 32)
	}
	if a.open == 0 || cap(a.chunks[a.open-1])-len(a.chunks[a.open-1]) < len(data) {
		a.chunks = append(a.chunks, make([]byte, 0, size))
		a.open = len(a.chunks)
		a.total += size
	}
	c := a.chunks[a.open-1]
	ref := arenaRef(uint64(a.open-1)<<32 | uint64(len(c)))
	a.chunks[a.open-1] = append(c, data...)
	return ref
}

// get returns n bytes at ref, read-only.
func (a *arena) get(ref arenaRef, n uint64) []byte {
	o := uint64(uint32(ref))
	return a.chunks[ref>>32][o : o+n : o+n]
}
