package inline

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

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

// Where the reader is late, threads that begin wait for the slots of those that have ended.
func TestThreadsWait(t *testing.T) {
	r := run{options: Options{Threads: 51}, event: func(ev *trace.Event) error {
		if ev.Kind == trace.KindThreadExit {
			time.Sleep(time.Millisecond)
		}
		return nil
	}}
	r.same(t, build(t, "threads.c"), "many", "300")
	if n := r.count[trace.KindThreadStart]; n != 300 {
		t.Errorf("%d threads began", n)
	}
}

// More threads at once than there are slots end the recording, and not the program.
func TestTooManyThreads(t *testing.T) {
	path := build(t, "threads.c")
	args := []string{"many", "8", "20000"}
	output, code := native(t, path, args...)
	r := run{failing: true, options: Options{Threads: 3}}
	if err := r.try(t, path, args...); err != nil {
		t.Fatal(err)
	}
	if !r.engine.removed {
		t.Error("the recording did not fail")
	}
	if r.output != output || r.status.Code != code || r.status.Signal != 0 {
		t.Errorf("%v:\n%s\nwithout mgtrace: %d\n%s", r.status, r.output, code, output)
	}
}

// What locked instructions did comes in the order in which they did it, though their stamps are taken some
// instructions later, and what is seen by a plain load comes before what is stored after it: of a counter each
// store has one more than the one before, of a stack's top each the node whose next is the one before.
func TestExchangeOrder(t *testing.T) {
	path := build(t, "threads.c")
	for _, o := range []Options{{}, {Strict: true}} {
		var counter, top, pushed uint64
		r := run{options: o}
		r.event = func(ev *trace.Event) error {
			if ev.Kind != trace.KindStore || ev.Flags&trace.FlagExchange == 0 {
				return nil
			}
			v := binary.LittleEndian.Uint64(ev.Data)
			if v < 1<<32 {
				if v != counter+1 {
					t.Errorf("strict %v: the counter goes from %d to %d", o.Strict, counter, v)
				}
				counter = v
				return nil
			}
			data, known := r.memory.read(trace.Addr(v), 8)
			if next := binary.LittleEndian.Uint64(data); slices.Contains(known, false) || next != top {
				t.Errorf("strict %v: %#x was pushed on %#x, its next is %#x (known %v)", o.Strict, v, top, next, known)
			}
			top = v
			pushed++
			return nil
		}
		r.same(t, path, "atomics", "8", "1000")
		if counter != 8*10*1000 || pushed != 8*10*1000/16 {
			t.Errorf("strict %v: counted to %d, pushed %d", o.Strict, counter, pushed)
		}
	}
}

// Threads are cancelled, in system calls and while they store.
func TestCancel(t *testing.T) {
	r := run{}
	r.same(t, build(t, "threads.c"), "cancels")
}
