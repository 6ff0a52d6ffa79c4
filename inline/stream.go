package inline

import (
	"mgtrace/capture"
	"mgtrace/inline/layout"
)

// stream is what a thread has written and the reader has not taken yet. Bytes
// are counted from the thread's beginning, through all changes of buffers.
type stream struct {
	tid   int
	stack [2]uint64 // the thread's own, half-open; 0: not known
	stamp uint64    // when it began

	cur     int    // buffer that is written to
	began   uint64 // count at its first byte
	read    uint64 // count up to which the reader has taken
	full    bool   // the other buffer is not free: it ends at began
	taken   bool   // and the reader has taken all of it
	fullLen uint64
	notes   []note
	known   bool // the reader has met it
	starved bool // the thread waits for a buffer
}

// note is something that the tracer saw in a thread, at a place of its stream.
type note struct {
	at    uint64
	stamp uint64
	hit   *capture.Hit // nil: the last record before it did not execute
}

// loose: the thread may have run on when this was noted (a fork, where its maker could not
// tell). The record before it may be that of a store which has not executed yet, and
// is taken back behind the note.
func (n *note) loose() bool { return n.hit != nil && n.hit.Op == capture.Fork }

// position is the count at the cursor.
func (s *slot) position() uint64 {
	n := s.notice()
	return s.began + n
}

// notice sees whether the thread has taken the other buffer by itself, which it can not
// do again until it is offered one, and returns how many bytes of the current one are
// written.
func (s *slot) notice() (n uint64) {
	buffer, n := s.cursor()
	if buffer != s.cur {
		s.left(s.get(layout.Left) - s.base - s.at[s.cur])
		s.cur = buffer
	}
	return n
}

// left: the current buffer is full, with n bytes.
func (s *slot) left(n uint64) {
	s.full, s.taken, s.fullLen = true, false, n
	s.began += n
}

// fullBuffer is what the thread wrote to the buffer that is full.
func (s *slot) fullBuffer() []byte { return s.mem[s.at[1-s.cur]:][:s.fullLen] }

// swap gives the thread, which is stopped, the other buffer. It is false if the
// reader has not emptied it yet.
func (s *slot) swap() bool {
	n := s.notice()
	if s.full {
		s.starved = true
		return false
	}
	s.left(n)
	s.use(1 - s.cur)
	s.starved = false
	return true
}

// piece is bytes of a stream from count at.
type piece struct {
	at    uint64
	bytes []byte
}

// take hands what is new to the reader: at most the rest of the full buffer and
// what there is of the current one. last: it is all of the full one.
func (s *slot) take() (pieces [2]piece, notes []note, last bool) {
	n := s.notice()
	if last = s.full && !s.taken; last {
		from := s.fullLen - (s.began - s.read)
		pieces[0] = piece{s.read, s.fullBuffer()[from:]}
		s.read, s.taken = s.began, true
	}
	b := s.mem[s.at[s.cur]:]
	pieces[1] = piece{s.read, b[s.read-s.began : n]}
	s.read = s.began + n
	notes, s.notes = s.notes, nil
	return pieces, notes, last
}
