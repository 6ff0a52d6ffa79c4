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

// next appends one, which is empty.
func (x *objects) next() *object {
	if x.n%objectChunk == 0 {
		x.chunks = append(x.chunks, new([objectChunk]object))
	}
	x.n++
	return x.at(ObjID(x.n - 1))
}

// list is objects by number, as many as the program makes nodes. It grows where it lies: a slice leaves its own
// length behind each time that it doubles, in memory that nothing else has used, and half of it is empty.
type list struct {
	chunks []*[listChunk]ObjID
	n      int
}

const listChunk = 1 << 12

func (l *list) at(i int) *ObjID { return &l.chunks[uint(i)/listChunk][uint(i)%listChunk] }

// add appends o.
func (l *list) add(o ObjID) {
	l.extend(l.n + 1)
	*l.at(l.n - 1) = o
}

// extend makes the list n long at least. What is new is 0.
func (l *list) extend(n int) {
	for len(l.chunks)*listChunk < n {
		l.chunks = append(l.chunks, new([listChunk]ObjID))
	}
	l.n = max(l.n, n)
}

// pop takes the last one off.
func (l *list) pop() ObjID {
	l.n--
	o := *l.at(l.n)
	*l.at(l.n) = 0
	return o
}

// appendTo appends the first n to buf.
func (l *list) appendTo(buf []ObjID, n int) []ObjID {
	buf = slices.Grow(buf, n)
	for i := 0; n > 0; i++ {
		k := min(n, listChunk)
		buf, n = append(buf, l.chunks[i][:k]...), n-k
	}
	return buf
}

// cut returns those in [from, to), to be read.
func (l *list) cut(from, to int) []ObjID {
	if from/listChunk == (to-1)/listChunk {
		return l.chunks[from/listChunk][from%listChunk : (to-1)%listChunk+1]
	}
	out := make([]ObjID, 0, to-from) // of two chunks
	for ; from < to; from++ {
		out = append(out, *l.at(from))
	}
	return out
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
