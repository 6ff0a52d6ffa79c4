package engine

import (
	"testing"

	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/trace"
)

// TestThreads: threads that wait for each other get on, and what they record is in
// the order in which it happened.
func TestThreads(t *testing.T) {
	c := target.Command{Path: build(t, "threads.cc", "-pthread")}
	want := native(t, c)
	for _, o := range []Options{{}, {Buffer: 4096}} {
		s := &order{t: t, last: map[trace.ThreadID]flow.Kind{}}
		got, stats := under(t, s, o, c)
		if got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
		t.Logf("%+v, %d changes of thread", stats, s.changes)
		if s.kinds[flow.Start] != 6 || s.kinds[flow.End] != 6 {
			t.Errorf("%d threads began, %d ended", s.kinds[flow.Start], s.kinds[flow.End])
		}
		if s.changes < 40 {
			t.Errorf("%d changes of thread", s.changes)
		}
	}
}

// order is a Sink that checks that threads begin, execute and end.
type order struct {
	count
	t       *testing.T
	last    map[trace.ThreadID]flow.Kind
	thread  trace.ThreadID
	changes int
}

func (o *order) Exec(thread trace.ThreadID, id flow.BlockID, from, n int, mem []flow.Mem) (trace.Instant, error) {
	if k := o.last[thread]; k != flow.Start {
		o.t.Errorf("thread %d executes behind %v", thread, k)
	}
	if thread != o.thread {
		o.thread, o.changes = thread, o.changes+1
	}
	return o.count.Exec(thread, id, from, n, mem)
}

func (o *order) Other(r *flow.Record) error {
	if r.Kind == flow.Start || r.Kind == flow.End {
		o.last[r.Thread] = r.Kind
	}
	return o.count.Other(r)
}
