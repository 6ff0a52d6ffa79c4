package inline

import (
	"testing"

	"mgtrace/trace"
)

// Threads begin, allocate, store and end, more than the processor can run at
// once: nothing is lost, and memory is what the recording says.
func TestThreads(t *testing.T) {
	path := build(t, "threads.c")
	for _, c := range []struct {
		name    string
		args    []string
		threads int
		options Options
	}{
		{"many", []string{"many", "300"}, 300, Options{}},
		{"mutexes", []string{"mutexes", "8"}, 8, Options{}},
		{"atomics", []string{"atomics", "8"}, 8, Options{}},
		{"strict", []string{"atomics", "8"}, 8, Options{Strict: true}},
		{"small buffers", []string{"many", "48", "3000"}, 48, Options{Buffer: 64 << 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run{options: c.options}
			r.same(t, path, c.args...)
			if n := r.count[trace.KindThreadStart]; n != c.threads {
				t.Errorf("%d threads began", n)
			}
			if n := r.count[trace.KindThreadExit]; n != c.threads+1 {
				t.Errorf("%d threads ended", n)
			}
			if n := r.count[trace.KindLost]; n != 0 {
				t.Errorf("%d times something was lost", n)
			}
			if r.known < 5000 {
				t.Errorf("only %d bytes are known", r.known)
			}
		})
	}
}

// Threads are cancelled, in system calls and while they store.
func TestCancel(t *testing.T) {
	r := run{}
	r.same(t, build(t, "threads.c"), "cancels")
}
