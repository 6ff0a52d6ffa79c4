package live

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"mgtrace/target"
	"mgtrace/trace"
)

const (
	ownTick    = 100 * time.Millisecond // how often the threads are looked at
	ownThreads = 64                     // of so many
)

// ownTime notes how much of the time the threads of a process had for themselves: all but when they waited for a processor,
// or for mgtrace, which stops them, or has no room for what they write. For an operation that lasts long may do so
// since its thread is kept from it.
type ownTime struct {
	pid     int
	mu      sync.Mutex
	threads map[int]*ownThread
	over    bool // the process has come to its end, or is to
}

// ownThread is a thread.
type ownThread struct {
	samples    []ownSample // the first: the last before which it had trace.OwnTime, if it had
	run, delay uint64      // as in /proc/…/schedstat, ns
}

type ownSample struct {
	at  time.Time
	own time.Duration
}

// watch looks at the threads until the returned function is called.
func (o *ownTime) watch() (stop func()) {
	o.threads = make(map[int]*ownThread)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(ownTick)
		defer tick.Stop()
		for {
			o.look()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(done); <-ended }
}

// end takes the last samples. The process is held: what has ended by now had its time before.
func (o *ownTime) end() {
	before := o.look()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over = true
		for tid, t := range before {
			if o.threads[tid] == nil {
				o.threads[tid] = t
			}
		}
	}
}

// look takes a sample of each thread, and returns those of the look before.
func (o *ownTime) look() (before map[int]*ownThread) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before = o.threads; o.over || before == nil {
		return before
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", o.pid))
	if err != nil {
		return before // it has ended
	}
	there := make(map[int]*ownThread)
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || len(there) == ownThreads {
			continue
		}
		t := o.threads[tid]
		if t == nil {
			t = &ownThread{}
		}
		if t.sample(tid, fmt.Sprintf("/proc/%d/task/%d/", o.pid, tid)) {
			there[tid] = t
		}
	}
	o.threads = there
	return before
}

// sample notes what a thread had since it was looked at last.
func (t *ownThread) sample(tid int, dir string) bool {
	var run, delay uint64
	stat, err := os.ReadFile(dir + "schedstat")
	if err != nil {
		return false
	}
	if n, _ := fmt.Sscan(string(stat), &run, &delay); n < 2 {
		return false
	}
	now := ownSample{at: time.Now()}
	if n := len(t.samples); n > 0 {
		last := t.samples[n-1]
		most := now.at.Sub(last.at)
		own := most - time.Duration(delay-t.delay)
		if waitsForUs(tid, dir) {
			own = time.Duration(run - t.run)
		}
		now.own = last.own + min(max(own, 0), most)
	}
	t.run, t.delay, t.samples = run, delay, append(t.samples, now)
	for len(t.samples) > 1 && now.own-t.samples[1].own >= trace.OwnTime {
		t.samples = t.samples[1:]
	}
	return true
}

// waitsForUs says whether a thread is stopped, or has ended, or waits for room.
func waitsForUs(tid int, dir string) bool {
	switch target.RunState(tid) {
	case 0, 't', 'T', 'Z', 'X':
		return true
	}
	where, _ := os.ReadFile(dir + "wchan") // a kernel that does not tell
	return bytes.HasPrefix(where, []byte("handle_userfault"))
}

// since says for each thread when the last time began in which it had trace.OwnTime for itself, as trace.Event.Wall; began is
// when that is 0.
func (o *ownTime) since(began time.Time) *trace.Own {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := &trace.Own{Since: make(map[trace.ThreadID]int64)}
	for tid, t := range o.threads {
		first, last := t.samples[0], t.samples[len(t.samples)-1]
		if last.own-first.own >= trace.OwnTime {
			own.Since[trace.ThreadID(tid)] = int64(first.at.Sub(began))
		}
	}
	return own
}
