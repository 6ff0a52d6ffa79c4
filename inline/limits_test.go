package inline

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mgtrace/trace"
)

// A program that forbids itself system calls while it runs is recorded all the
// same: the engine makes none in its name once it runs, but for new threads.
func TestSeccomp(t *testing.T) {
	path := build(t, "limits.c")
	for _, mode := range []string{"strict", "filter", "trap"} {
		t.Run(mode, func(t *testing.T) {
			r := run{options: Options{Buffer: 64 << 10}}
			r.same(t, path, mode)
		})
	}
}

// A program that may not read the time stamp counter does not notice that it is read for
// records.
func TestTimeless(t *testing.T) {
	(&run{}).same(t, build(t, "limits.c"), "timeless")
}

// A program that locks all its memory does not lock the log.
func TestLocked(t *testing.T) {
	r := run{options: Options{Threads: 16}}
	r.same(t, build(t, "limits.c"), "locked")
}

// A program that has a filter from its beginning which kills it for what Attach
// must do: that says so, or is permitted to suspend the filter.
func TestFiltered(t *testing.T) {
	r := run{follow: "meant"}
	err := r.try(t, build(t, "limits.c"), "filtered", "meant")
	t.Logf("%v, %v", err, r.status)
	if err == nil && (r.status.Code != 4 || r.differ != 0 || r.known == 0) {
		t.Errorf("%v, %d of %d bytes differ", r.status, r.differ, r.known)
	}
	if err != nil && !strings.Contains(err.Error(), "seccomp") {
		t.Errorf("the reason is not told: %v", err)
	}
}

// Limits of the program: it is recorded, or Attach says why not and leaves it
// as it was.
func TestLimits(t *testing.T) {
	path := build(t, "limits.c")
	for _, c := range []struct{ limit, want string }{
		{"-v 3500", "RLIMIT_AS"},
		{"-v 30000", ""},
		{"-v 1000000", ""},
		{"-n 4", ""},
		{"-f 1", ""},
		{"-d 4000", ""},
		{"-s 128", ""},
	} {
		t.Run(c.limit, func(t *testing.T) {
			r := run{limit: c.limit}
			err := r.try(t, path, "plain")
			t.Logf("%v", err)
			switch {
			case err == nil && r.status.Code != 4:
				t.Errorf("%v", r.status)
			case err == nil && r.differ != 0:
				t.Errorf("%d bytes differ", r.differ)
			case c.want == "" && err != nil, err != nil && !strings.Contains(err.Error(), c.want):
				t.Errorf("%v", err)
			}
		})
	}
}

// A program that takes from the engine what that needs may die of it: then it is not the
// program that is accused.
func TestTaken(t *testing.T) {
	path := build(t, "limits.c")
	for mode, want := range map[string]string{
		"gs":        "the program has set the GS base",
		"unmaps":    "the program has unmapped or protected memory of this engine",
		"maps over": "the program has mapped memory of its own where this engine has its log",
		"dispatch":  "the program has its system calls handed back",
		"aligned":   "the program has the processor check alignment",
	} {
		t.Run(mode, func(t *testing.T) {
			var r run
			if err := r.try(t, path, mode); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v", r.status, err)
			}
		})
	}
}

// A program that limits its memory itself has less than alone, since that of the engine
// counts: a warning says so, and only then.
func TestLimitsItself(t *testing.T) {
	path := build(t, "limits.c")
	for mode, want := range map[string]int{"limited": 1, "plain": 0} {
		t.Run(mode, func(t *testing.T) {
			var r run
			r.record(t, path, mode)
			if got := r.engine.Warnings(); len(got) != want || want > 0 && !strings.Contains(got[0], "to 64 MB (RLIMIT_AS)") {
				t.Errorf("warnings: %q, want %d", got, want)
			}
			if r.status.Code != 4 {
				t.Errorf("%v", r.status)
			}
		})
	}
}

// A killed program is recorded to its end.
func TestKilled(t *testing.T) {
	path := build(t, "limits.c")
	r := run{keep: true}
	n := 0
	r.event = func(e *trace.Event) error {
		if n++; n == 20000 {
			return unix.Kill(int(e.Thread), unix.SIGKILL)
		}
		r.events = r.events[max(0, len(r.events)-10):]
		return nil
	}
	if err := r.try(t, path, "endless"); err != nil {
		t.Fatal(err)
	}
	if r.status.Signal != unix.SIGKILL {
		t.Errorf("%v", r.status)
	}
	if last := r.events[len(r.events)-1]; last.Kind != trace.KindExit || last.Aux != uint64(unix.SIGKILL) {
		t.Errorf("the last event is %+v", last)
	}
	if r.count[trace.KindStore] < 5000 {
		t.Errorf("only %d stores", r.count[trace.KindStore])
	}
}

// Nothing stays behind when a recording is over: no mapping of the tracer, no
// descriptor.
func TestNoLeaks(t *testing.T) {
	path := build(t, "limits.c")
	open := func() []string {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range list {
			// The descriptor that the folder is read by is gone by now.
			if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil {
				names = append(names, to)
			}
		}
		slices.Sort(names)
		return names
	}
	maps := func() int {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(os.Getpid()), "maps"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "memfd:mgtrace")
	}
	record := func(t *testing.T) { (&run{}).record(t, path, "plain") }
	t.Run("first", record)
	fds := open()
	for range 5 {
		t.Run("again", record)
	}
	if n := open(); len(n) > len(fds) {
		t.Errorf("%d descriptors, were %d:\n%s", len(n), len(fds), cmp.Diff(fds, n))
	}
	if n := maps(); n != 0 {
		t.Errorf("%d mappings are left", n)
	}
}
