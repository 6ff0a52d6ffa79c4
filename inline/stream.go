package inline

import "mgtrace/capture"

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

// loose: the thread ran on when this was noted (a fork, of which the child's stop
// tells). The record before it may be that of a store which has not executed yet, and
// is taken back behind the note.
func (n *note) loose() bool { return n.hit != nil && n.hit.Op == capture.Fork }

// position is the count at the cursor.
func (s *slot) position() uint64 { return s.began + s.cursor() }

// swap gives the thread, which is stopped, the other buffer. It is false if the
// reader has not emptied it yet.
func (s *slot) swap() bool {
	if s.full {
		s.starved = true
		return false
	}
	s.full, s.taken, s.fullLen = true, false, s.cursor()
	s.began += s.fullLen
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
// what there is of the current one.
func (s *slot) take() (pieces [2]piece, notes []note) {
	if s.full && !s.taken {
		from := s.fullLen - (s.began - s.read)
		b := s.mem[s.at[1-s.cur]:]
		pieces[0] = piece{s.read, b[from:s.fullLen]}
		s.read, s.taken = s.began, true
	}
	n := s.cursor()
	b := s.mem[s.at[s.cur]:]
	pieces[1] = piece{s.read, b[s.read-s.began : n]}
	s.read = s.began + n
	notes, s.notes = s.notes, nil
	return pieces, notes
}
