package slice

import "slices"

// ahead reads segments that a sweep will come to on another processor.
type ahead struct {
	here  *segmentReader
	asked []*aheadSegment // the newest first
	free  []*aheadSegment
	work  chan *aheadSegment
	done  chan struct{}
}

// aheadSegment is a segment that is read, or will be.
type aheadSegment struct {
	segment
	number int
	err    error
	ready  chan struct{}
}

// How many segments are read ahead, and how far ahead they are looked for.
const (
	aheadMost = 4
	aheadLook = 64
)

func (x *Index) readAhead() *ahead {
	a := &ahead{here: x.reader(), work: make(chan *aheadSegment, aheadMost), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		r := x.reader()
		for s := range a.work {
			s.err = r.read(s.number, &s.segment)
			s.ready <- struct{}{}
		}
	}()
	return a
}

// stop ends the reading. Nothing that was returned is of use any more.
func (a *ahead) stop() {
	close(a.work)
	<-a.done
}

// want asks for the segments before i that have something pending, as far as there is room: those
// come for certain.
func (a *ahead) want(i int, pending []*bucket) {
	for j := i - 1; j >= max(0, i-aheadLook) && len(a.asked) < aheadMost; j-- {
		if pending[j] == nil || a.has(j) {
			continue
		}
		s := a.take(j)
		a.asked = append(a.asked, s)
		a.work <- s
	}
}

func (a *ahead) has(i int) bool {
	return slices.ContainsFunc(a.asked, func(s *aheadSegment) bool { return s.number == i })
}

// get returns segment i. It is to be put back.
func (a *ahead) get(i int) *aheadSegment {
	for k, s := range a.asked {
		if s.number == i {
			a.asked = slices.Delete(a.asked, k, k+1)
			<-s.ready
			return s
		}
	}
	s := a.take(i)
	s.err = a.here.read(i, &s.segment)
	return s
}

// put gives a segment back.
func (a *ahead) put(s *aheadSegment) { a.free = append(a.free, s) }

// take returns room for segment i.
func (a *ahead) take(i int) *aheadSegment {
	n := len(a.free)
	if n == 0 {
		return &aheadSegment{number: i, ready: make(chan struct{}, 1)}
	}
	s := a.free[n-1]
	a.free = a.free[:n-1]
	s.number = i
	return s
}
