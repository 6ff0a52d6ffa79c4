package graph

import "slices"

// objects is all that there ever were, by ObjID; 0 is unused. They stay where they are, however
// many come: there are as many as the program makes nodes.
type objects struct {
	chunks []*[objectChunk]object
	n      int
}

const (
	objectChunkBits = 9
	objectChunk     = 1 << objectChunkBits
)

func (x *objects) at(o ObjID) *object {
	return &x.chunks[o>>objectChunkBits][o%objectChunk]
}

func (x *objects) len() int { return x.n }

func (x *objects) add(b object) {
	if x.n%objectChunk == 0 {
		x.chunks = append(x.chunks, new([objectChunk]object))
	}
	*x.at(ObjID(x.n)) = b
	x.n++
}

// doubled is a list with room for n more, twice as long where it had none: one that grows by a quarter at a time, as append
// has long ones do, leaves four times its own length behind, in memory that nothing else has used.
func doubled(list []ObjID, n int) []ObjID {
	if len(list)+n > cap(list) {
		list = slices.Grow(list, max(n, len(list)))
	}
	return list
}

// room is where the slots, and the in-edges, of objects come from, many at a time: most have few.
type room[T any] struct{ left []T }

const (
	roomSize = 1 << 12
	fewOfAll = 64 // that are worth it
)

// take returns n empty ones.
func (r *room[T]) take(n int) []T {
	if n > fewOfAll {
		return make([]T, n)
	}
	if n > len(r.left) {
		r.left = make([]T, roomSize)
	}
	s := r.left[:n:n]
	r.left = r.left[n:]
	return s
}
