package log

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
)

// world simulates threads that write logs and synchronise by locks. A lock is
// taken and released by instructions that leave no record; after taking one, a
// thread takes a stamp and then writes a record, as two steps between which
// others may run. Each record names its thread and number; known says how many
// records of each thread happen before it (a vector clock).
type world struct {
	rng     *rand.Rand
	plan    *probe.Plan
	order   uint64
	threads []*simThread
	locks   []simLock
	known   map[[2]int][]int // of record (thread, number)
}

type simLock struct {
	held  bool
	known []int
}

type simThread struct {
	id      int
	log     []byte // not yet read
	n       int    // records written
	known   []int
	holds   int // lock, -1: none
	script  script
	started bool
}

func newWorld(rng *rand.Rand, threads int) *world {
	w := &world{rng: rng, plan: testPlan(), known: map[[2]int][]int{}, locks: make([]simLock, 2)}
	for i := range threads {
		w.threads = append(w.threads, &simThread{id: i, known: make([]int, threads), holds: -1})
	}
	for i := range w.locks {
		w.locks[i].known = make([]int, threads)
	}
	return w
}

// script is the steps that a thread must do next, one by one.
type script []func()

// step does the next, if there is one.
func (s *script) step() bool {
	if len(*s) == 0 {
		return false
	}
	next := (*s)[0]
	*s = (*s)[1:]
	next()
	return true
}

// commit ends a record: it becomes visible.
func (w *world) commit(t *simThread, record []byte) {
	w.known[[2]int{t.id, t.n}] = append([]int(nil), t.known...)
	t.log = append(t.log, record...)
	t.n++
	t.known[t.id] = t.n
}

// name is the address that a record has, by which it is known again.
func (t *simThread) name() uint64 { return uint64(t.id)<<32 | uint64(t.n) }

func merge(to, from []int) {
	for i := range to {
		to[i] = max(to[i], from[i])
	}
}

// stamped takes a stamp now and writes the record some steps later.
func (w *world) stamped(t *simThread) {
	w.order++
	stamp := w.order
	t.script = append(t.script, func() {
		switch w.rng.IntN(3) {
		case 0:
			w.commit(t, storeRecord{index: sXchg, addr: t.name(), value: make([]byte, 8), since: stamp, stamp: stamp}.bytes(w.plan, false))
		case 1:
			w.commit(t, note(layout.NoteMap, 0, t.name(), 0, stamp))
		default:
			w.commit(t, note(layout.NoteUnmap, 0, t.name(), 0, stamp))
		}
	})
}

// step lets a thread do one thing.
func (w *world) step() {
	t := w.threads[w.rng.IntN(len(w.threads))]
	if !t.started {
		return
	}
	if t.script.step() {
		return
	}
	l := w.rng.IntN(len(w.locks))
	switch p := w.rng.IntN(10); {
	case p < 5:
		w.commit(t, storeRecord{index: sQuad, addr: t.name(), value: make([]byte, 8)}.bytes(w.plan, false))
	case p < 6:
		w.stamped(t)
	case t.holds >= 0: // release
		lock := &w.locks[t.holds]
		lock.held, t.holds = false, -1
		merge(lock.known, t.known)
		if p < 8 { // the releasing instruction is recorded itself
			w.stamped(t)
		}
	case !w.locks[l].held:
		w.locks[l].held, t.holds = true, l
		merge(t.known, w.locks[l].known)
		t.script = append(t.script, func() { w.stamped(t) })
	}
}

// take returns what a thread has written since the last time.
func (w *world) take(t *simThread) []byte {
	b := t.log
	t.log = nil
	return b
}

// judge is the sink: every record must come after all that happen before it.
type judge struct {
	w    *world
	done []int // records delivered, by thread
}

func (j *judge) record(id trace.ThreadID, name uint64) error {
	t, n := int(id), int(uint32(name))
	if name>>32 != uint64(t) || j.done[t] != n {
		return fmt.Errorf("thread %d: record %#x, expected number %d", t, name, j.done[t])
	}
	for i, k := range j.w.known[[2]int{t, n}] {
		if i != t && j.done[i] < k {
			return fmt.Errorf("record %d of thread %d came after %d of thread %d, %d happen before it", n, t, j.done[i], i, k)
		}
	}
	j.done[t]++
	return nil
}

func (j *judge) Stores(s *trace.Stores) error {
	for i := range s.Recs {
		if err := j.record(s.Thread, s.Recs[i].Addr); err != nil {
			return err
		}
	}
	return nil
}

func (j *judge) Hit(h *capture.Hit) error {
	if h.Op == capture.Thread {
		return nil
	}
	return j.record(h.Thread, h.Addr)
}

// start starts thread i, made by another one: what that one wrote came before.
func (w *world) start(m *Merger, i, parent int) {
	t := w.threads[i]
	merge(t.known, w.threads[parent].known)
	w.order++
	m.Start(trace.ThreadID(i), w.order, Range{})
	t.started = true
}

// The delivered order respects what happens before what, wherever threads are
// interrupted and whenever cuts are made.
func TestOrder(t *testing.T) {
	runs := 3000
	if testing.Short() {
		runs = 300
	}
	for seed := range uint64(runs) {
		if err := simulate(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func simulate(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(rng, 1+rng.IntN(5))
	j := &judge{w: w, done: make([]int, len(w.threads))}
	m := NewMerger(NewTable(w.plan, false), Options{}, j)
	w.start(m, 0, 0)
	for i := 1; i < len(w.threads) && rng.IntN(2) == 0; i++ {
		w.start(m, i, 0)
	}
	var used [][]byte
	add := func(s *simThread) error {
		b := w.take(s)
		used = append(used, b)
		return m.Add(trace.ThreadID(s.id), b, rng.IntN(3) == 0)
	}
	for range 60 {
		for range rng.IntN(40) {
			w.step()
		}
		if i := rng.IntN(len(w.threads)); !w.threads[i].started {
			parent := rng.IntN(i)
			for !w.threads[parent].started {
				parent--
			}
			w.start(m, i, parent)
		}
		if s := w.threads[rng.IntN(len(w.threads))]; s.started && rng.IntN(3) == 0 {
			if err := add(s); err != nil { // its buffer was full
				return err
			}
		}
		if rng.IntN(2) == 0 {
			continue
		}
		c := w.order
		for _, i := range rng.Perm(len(w.threads)) {
			for range rng.IntN(6) {
				w.step()
			}
			if s := w.threads[i]; s.started {
				if err := add(s); err != nil {
					return err
				}
			}
		}
		if err := m.Cut(c); err != nil {
			return err
		}
		for _, b := range used {
			for i := range b {
				b[i] = 0xee // the buffers are used again
			}
		}
		used = used[:0]
	}
	for _, s := range w.threads {
		if s.started {
			if err := add(s); err != nil {
				return err
			}
		}
	}
	if err := m.Finish(); err != nil {
		return err
	}
	for _, s := range w.threads {
		if j.done[s.id] != s.n {
			return fmt.Errorf("thread %d: %d of %d records", s.id, j.done[s.id], s.n)
		}
	}
	return nil
}

// A thread that never takes a stamp holds nobody back, and is not held back.
func TestQuietThreads(t *testing.T) {
	plan := testPlan()
	m, s := merger(plan, false, Options{})
	m.Start(2, 1, Range{})
	quad := storeRecord{index: sQuad, addr: 0x1008, value: bytesOf(1)}.bytes(plan, false)
	for _, err := range []error{
		m.Add(1, join(quad, quad), false),
		m.Add(2, join(note(layout.NoteMap, 0, 1, 0, 900), quad, note(layout.NoteMap, 0, 1, 0, 1001)), false),
		m.Cut(1000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(s.got) != 4 {
		t.Errorf("delivered: %q", s.got)
	}
}

// A store that waits holds back nothing that was there at the cut before it.
func TestQuietThreadWaits(t *testing.T) {
	plan := testPlan()
	m, s := merger(plan, false, Options{})
	m.Start(2, 50, Range{})
	quad := storeRecord{index: sQuad, addr: 0x1008, value: bytesOf(1)}.bytes(plan, false)
	for _, err := range []error{
		m.Cut(100),
		m.Add(1, quad, true),
		m.Add(2, quad, false),
		m.Cut(100),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(t, "beside it", s, "[2] store 0 1008 base 1000 pc 401000: 0100000000000000")
}

// benchLog fills a buffer with stores.
func benchLog(plan *probe.Plan, strict bool, size int, index ...int) (b []byte, n int) {
	value := make([]byte, 64)
	for len(b) < size {
		binary.LittleEndian.PutUint64(value, uint64(n))
		r := storeRecord{index: index[n%len(index)], addr: 0x5555_0000_0000 + 64*uint64(n%4096), value: value, wrote: true}
		b = append(b, r.bytes(plan, strict)...)
		n++
	}
	return b, n
}

// What a record costs, from the buffer to the sink.
func BenchmarkMerger(b *testing.B) {
	plan := testPlan()
	static := []Range{{0x40_0000, 0x41_0000}, {0x7fff_0000_0000, 0x7fff_0001_0000}}
	for _, c := range []struct {
		name    string
		index   []int
		threads int
		strict  bool
	}{
		{"one thread, 8 bytes", []int{sQuad}, 1, false},
		{"one thread, 16 bytes and more", []int{sTen, sVector}, 1, false},
		{"one thread, one in 5 of 16 bytes", []int{sQuad, sLong, sQuad, sLong, sPair}, 1, false},
		{"one thread, strict order", []int{sQuad}, 1, true},
		{"one thread, mixed", []int{sQuad, sLong, sQuad, sByte, sIndex, sQuad, sLong, sVector}, 1, false},
		{"four threads, 8 bytes", []int{sQuad}, 4, false},
		{"four threads, one record in 9 stamped", []int{sQuad, sQuad, sQuad, sQuad, sQuad, sQuad, sQuad, sQuad, sXchg}, 4, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			log, n := benchLog(plan, c.strict, 1<<20, c.index...)
			m := NewMerger(NewTable(plan, c.strict), Options{Static: static}, &counter{})
			for i := range c.threads {
				m.Start(trace.ThreadID(i), 0, Range{0x7000_0000_0000, 0x7000_0010_0000})
			}
			order := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				for i := range c.threads {
					if err := m.Add(trace.ThreadID(i), log, false); err != nil {
						b.Fatal(err)
					}
				}
				order++
				if err := m.Cut(order); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*c.threads), "ns/record")
		})
	}
}
