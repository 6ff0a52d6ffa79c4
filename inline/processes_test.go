package inline

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target"
	"mgtrace/trace"
)

// Children run as if there were no mgtrace, and write nothing to the log; those
// that share the memory of the program are recorded until they leave it.
func TestProcesses(t *testing.T) {
	path := build(t, "processes.c")
	for _, c := range []struct {
		mode  string
		forks int
	}{
		{"forks", 100}, {"threads", 40}, {"orphans", 30}, {"spawns", 101}, {"sharers", 40}, {"daemon", 1}, {"untraced", 30},
		{"code", 3}, {"changed code", 3},
	} {
		t.Run(c.mode, func(t *testing.T) {
			r := run{options: Options{Buffer: 64 << 10}}
			r.same(t, path, c.mode)
			if n := r.count[trace.KindFork]; n != c.forks {
				t.Errorf("%d forks, want %d", n, c.forks)
			}
		})
	}
	t.Run("signalled", func(t *testing.T) {
		// Signals stop the parent in front of stores whose records are written.
		r := run{during: func(_ *Engine, p *target.Process) {
			for unix.Kill(p.PID(), unix.SIGURG) == nil {
				time.Sleep(20 * time.Microsecond)
			}
		}}
		r.same(t, path, "signalled")
		if n := r.count[trace.KindFork]; n != 100 {
			t.Errorf("%d forks", n)
		}
	})
	t.Run("exec", func(t *testing.T) {
		r := run{keep: true}
		r.same(t, path, "exec")
		if last := r.events[len(r.events)-1]; last.Kind != trace.KindExec {
			t.Errorf("the last event is %+v", last)
		}
	}) // A thread is new, and its memory gone: another one executes a program. Slots are taken for the
	// first time, or there is nothing to be registered.
	t.Run("exec among threads", func(t *testing.T) {
		for range 5 {
			r := run{keep: true}
			if err := r.try(t, path, "exec among threads"); err != nil {
				t.Fatal(err)
			}
			if last := r.events[len(r.events)-1]; last.Kind != trace.KindExec {
				t.Fatalf("the last event is %+v", last)
			}
		}
	})
}
