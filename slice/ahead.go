package slice

import (
	"encoding/binary"
	"slices"
)

const (
	// batchLen is how many segments are decoded at once, at most.
	batchLen = 16

	// maxBatches is how many batches there are at most: batchLen of one segment each that are
	// gathered, as many that are measured, and two that are being decoded.
	maxBatches = 2*batchLen + 2
)

// batch is segments in a row, decoded.
type batch struct {
	first int // segment
	segs  []segment
	errs  []error
	buf   []byte

	prepared bool
	marked   []markedSegment // of a backward slice, the newest first
	steps    []markedStep    // of these
}

func (b *batch) has(i int) bool { return i >= b.first && i < b.first+len(b.segs) }

// load decodes n segments from the first on. A damaged one is an error of its own.
func (x *Index) load(b *batch, first, n int) {
	if cap(b.segs) < n {
		b.segs, b.errs = make([]segment, n), make([]error, n)
	}
	b.prepared = false
	b.first, b.segs, b.errs = first, b.segs[:n], b.errs[:n]
	from, _, err := x.extent(first)
	_, to, err2 := x.extent(first + n - 1)
	if err == nil {
		err = err2
	}
	if err == nil && from > to {
		err = ErrIndex
	}
	if err == nil {
		b.buf = slices.Grow(b.buf[:0], int(to-from))[:to-from]
		_, err = x.r.ReadAt(b.buf, int64(from))
	}
	for i := range n {
		lo, hi, bad := x.extent(first + i)
		switch {
		case err != nil:
			b.errs[i] = err
		case bad != nil || lo < from || hi > to:
			b.errs[i] = ErrIndex
		default:
			b.errs[i] = x.parse(first+i, &b.segs[i], b.buf[lo-from:hi-from])
		}
	}
}

// extent is where segment i is in the file.
func (x *Index) extent(i int) (lo, hi uint64, err error) {
	lo, hi = binary.LittleEndian.Uint64(x.dir[i*dirEntry:]), x.data
	if i+1 < x.segments() {
		hi = binary.LittleEndian.Uint64(x.dir[(i+1)*dirEntry:])
	}
	if lo > hi || hi > x.data {
		return 0, 0, ErrIndex
	}
	return lo, hi, nil
}

// ahead gives the segments that are asked for, in descending order or in ascending order.
// As long as it is asked for most of them, it decodes those that follow meanwhile.
type ahead struct {
	x         *Index
	ascending bool
	now, next *batch
	loading   chan struct{} // nil: next is not being decoded
	used      int           // segments of now that were asked for

	// prepare, if not nil, is called with each batch that is decoded meanwhile, and before that
	// with the batch in hand, unless it was; and with the segment up to which all are done with.
	prepare func(b *batch, done int)
	through func(*batch) // what is done with batches of which no more is asked for; then they are free
	free    chan *batch
	made    int // batches
}

func newAhead(x *Index, ascending bool) *ahead {
	a := &ahead{x: x, ascending: ascending, free: make(chan *batch, maxBatches)}
	a.through = func(b *batch) { a.free <- b }
	a.now, a.next = a.take(), a.take()
	return a
}

// take returns a batch that is free.
func (a *ahead) take() *batch {
	if len(a.free) == 0 && a.made < maxBatches {
		a.made++
		return &batch{}
	}
	return <-a.free
}

// segment returns segment i, until another is asked for.
func (a *ahead) segment(i int) (*segment, error) {
	if !a.now.has(i) {
		a.move(i)
	}
	a.used++
	return &a.now.segs[i-a.now.first], a.now.errs[i-a.now.first]
}

// move makes now a batch that has segment i, and more of those that follow the more of the
// last one were asked for.
func (a *ahead) move(i int) {
	last := len(a.now.segs)
	dense := last > 0 && 2*a.used >= last
	away := a.now.first - i
	if a.ascending {
		away = i - (a.now.first + last - 1)
	}
	a.used = 0
	a.stop()
	a.through(a.now)
	if a.next.has(i) {
		a.now, a.next = a.next, a.take()
		a.next.segs = a.next.segs[:0]
	} else {
		a.now = a.take()
		n := 1
		if dense && away <= last {
			n = min(2*last, batchLen)
		}
		a.load(a.now, i, n)
	}
	if !dense || len(a.now.segs) < batchLen {
		return
	}
	i = a.now.first - 1
	if a.ascending {
		i = a.now.first + batchLen
	}
	if i >= 0 && i < a.x.segments() {
		if a.prepare != nil && !a.now.prepared {
			a.prepare(a.now, a.now.first)
		}
		done, now := make(chan struct{}), a.now.first
		a.loading = done
		go func() {
			defer close(done)
			a.load(a.next, i, batchLen)
			if a.prepare != nil {
				a.prepare(a.next, now)
				a.next.prepared = true
			}
		}()
	}
}

// load decodes segment i and those that follow, n or as many as there are.
func (a *ahead) load(b *batch, i, n int) {
	if a.ascending {
		a.x.load(b, i, min(n, a.x.segments()-i))
	} else {
		n = min(n, i+1)
		a.x.load(b, i-n+1, n)
	}
}

// stop waits until nothing is being decoded.
func (a *ahead) stop() {
	if a.loading != nil {
		<-a.loading
		a.loading = nil
	}
}
