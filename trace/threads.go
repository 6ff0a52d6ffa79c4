package trace

import (
	"iter"
	"maps"
)

// Threads is what somebody knows of each thread. The one that was asked for last is found without
// a search, since events come in runs of one thread. The zero value has none.
type Threads[T any] struct {
	of   map[ThreadID]*T
	id   ThreadID // whose last is
	last *T       // nil: none was asked for since one went
}

// Of returns what is known of a thread, a zero T if that is nothing yet.
func (x *Threads[T]) Of(id ThreadID) *T {
	if x.last != nil && x.id == id {
		return x.last
	}
	t := x.of[id]
	if t == nil {
		if x.of == nil {
			x.of = map[ThreadID]*T{}
		}
		t = new(T)
		x.of[id] = t
	}
	x.id, x.last = id, t
	return t
}

// Find returns what is known of a thread, nil if that is nothing.
func (x *Threads[T]) Find(id ThreadID) *T {
	if x.last != nil && x.id == id {
		return x.last
	}
	return x.of[id]
}

// Delete forgets a thread.
func (x *Threads[T]) Delete(id ThreadID) {
	delete(x.of, id)
	x.last = nil
}

// Len is how many threads something is known of.
func (x *Threads[T]) Len() int { return len(x.of) }

// All are the threads, in no order.
func (x *Threads[T]) All() iter.Seq2[ThreadID, *T] { return maps.All(x.of) }
