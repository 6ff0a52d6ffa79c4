package slicing

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/session/ask"
	"mgtrace/slice"
	"mgtrace/trace"
)

// atCrash is the criterion of what the program crashed with: what the instruction
// that could not be executed had been given, and the branch that led to it. With a
// register's name before an @ it is that register then.
const atCrash = "crash"

// crashed is where the program crashed.
func (s *slicer) crashed(q *ask.Queries) (c start, err error) {
	n, cause, err := s.crash(q)
	if err != nil {
		return c, err
	}
	c.nodes = slice.Criteria{n}
	c.words = fmt.Sprintf("crash, %s at %s", unix.SignalName(syscall.Signal(cause.Number)), s.rec.Symbols.Place(trace.Addr(cause.PC)))
	return c, nil
}

// registerAtCrash is what a register was when the program crashed.
func (s *slicer) registerAtCrash(q *ask.Queries, reg string, units slice.Regs) (c start, err error) {
	n, cause, err := s.crash(q)
	if err != nil {
		return c, err
	}
	if c.nodes, _, err = s.x.Defined(n, units); err != nil {
		return c, err
	}
	if len(c.nodes) == 0 {
		return c, fmt.Errorf("%s at the crash: nothing in the recording wrote it", reg)
	}
	c.words = fmt.Sprintf("%s at the crash, %s", reg, s.rec.Symbols.Place(trace.Addr(cause.PC)))
	return c, nil
}

// crash finds the signal that killed the program among what was executed, or the fault that it had handled before it
// ended.
func (s *slicer) crash(q *ask.Queries) (slice.Node, slice.Cause, error) {
	if _, err := q.Time(atCrash); err != nil {
		return 0, slice.Cause{}, err
	}
	n, err := s.x.Fault()
	if err == nil && n == 0 && s.flow.Head().Part == "" && s.damage() == nil {
		n, err = s.x.LastFault()
	}
	if err != nil {
		return 0, slice.Cause{}, err
	}
	if n == 0 {
		return 0, slice.Cause{}, errors.New("crash: the recorded instructions end before it")
	}
	a, err := s.x.At(n)
	if err != nil {
		return 0, slice.Cause{}, err
	}
	return n, a.Piece.Cause, nil
}
