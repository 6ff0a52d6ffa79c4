package mgpp

// slab is an array that grows without copying: pointers into it stay valid.
type slab[T any] struct {
	chunks [][]T
	n      int
}

const slabChunk = 1 << 12

func (s *slab[T]) len() int { return s.n }

func (s *slab[T]) at(i int) *T {
	return &s.chunks[i/slabChunk][i%slabChunk]
}

// add appends v and returns its index.
func (s *slab[T]) add(v T) int {
	i := s.n
	if i/slabChunk == len(s.chunks) {
		s.chunks = append(s.chunks, make([]T, slabChunk))
	}
	s.chunks[i/slabChunk][i%slabChunk] = v
	s.n++
	return i
}

// arena keeps byte strings for ever.
type arena struct {
	chunks [][]byte
	open   int // index of the chunk that is being filled, if chunks is not empty
	total  uint64
}

// arenaRef is the chunk's number and, in the low 32 bits, the offset in it.
type arenaRef uint64

const arenaChunk = 1 << 20

// add copies data and returns where it is. A long string gets a chunk of its
// own, which leaves the open chunk open.
func (a *arena) add(data []byte) arenaRef {
	if len(data) > arenaChunk/4 {
		a.chunks = append(a.chunks, append(make([]byte, 0, len(data)), data...))
		a.total += uint64(len(data))
		return arenaRef(uint64(len(a.chunks)-1) << 32)
	}
	if len(a.chunks) == 0 || cap(a.chunks[a.open])-len(a.chunks[a.open]) < len(data) {
		a.chunks = append(a.chunks, make([]byte, 0, arenaChunk))
		a.open = len(a.chunks) - 1
		a.total += arenaChunk
	}
	c := a.chunks[a.open]
	ref := arenaRef(uint64(a.open)<<32 | uint64(len(c)))
	a.chunks[a.open] = append(c, data...)
	return ref
}

// get returns n bytes at ref, read-only.
func (a *arena) get(ref arenaRef, n uint64) []byte {
	o := uint64(uint32(ref))
	return a.chunks[ref>>32][o : o+n : o+n]
}
