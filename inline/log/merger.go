package log

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"

	"mgtrace/capture"
	"mgtrace/trace"
)

// Sink takes what the log holds, in the order of the run. Its arguments belong
// to the merger and are valid during the call. An error ends the merging.
type Sink interface {
	Stores(*trace.Stores) error
	Hit(*capture.Hit) error
}

// Options of a merger.
type Options struct {
	Clock  Clock
	Static []Range // data whose stores are not wanted
	// Calls tells of more sites of runs, which are calls, behind those that have been told of.
	// A call that writes little becomes a record of a run then; nil: all are hits.
	Calls func(fresh []trace.StoreSite) error
	// Allocs says that calls of allocators in a thread may become records of a run too, as things
	// are; nil: none may. There are Calls then.
	Allocs func(trace.ThreadID) bool
	// Known is as in Decoder.
	Known func(number uint32) []trace.Addr
	// Room returns an empty slice of that capacity, where a run is collected; nil: the
	// merger has one.
	Room func(n int) []trace.StoreRec
}

// Stats count what a merger has taken.
type Stats struct {
	Stores   uint64 // stores delivered
	Hits     uint64 // hits delivered
	Filtered uint64 // stores that are not wanted
	Failed   uint64 // conditional stores that did not write
}

// Merger puts the records of all threads into one order. It is not safe for
// concurrent use.
type Merger struct {
	table   *Table
	static  []Range
	sink    Sink
	threads map[trace.ThreadID]*thread
	queue   byPlace   // of one cut
	written []*thread // those that have written something in it, also where they are out of the queue
	order   uint64    // so far everything is there, in one cut
	words   words
	rivals  []exchange
	waiters int    // threads with a word
	cut     uint64 // counter of the last one
	stats   Stats
	err     error
	refused bool // by the sink

	run     trace.Stores // the stores that are to be delivered next
	room    func(n int) []trace.StoreRec
	calls   calls
	allocs  func(trace.ThreadID) bool // Options.Allocs
	decoder Decoder
}

// batch is how many stores are delivered at once, at most.
const batch = 512

// thread is what is known of one thread.
type thread struct {
	Filter
	id       trace.ThreadID
	place    uint64 // of the record delivered last
	next     uint64 // of the next one, at least
	word     uint64 // for which the next one, an exchange, waits, up to next; 0: it does not
	wall     int64  // of the last record with a time
	segments []segment
	keep     bool // the last record, if it is a store's, waits for another
	waits    bool // it did at the last cut
	ended    bool
	private  []trace.StoreRec // see retain
	own      []byte           // what segments hold that outlived a cut
	spare    []byte
}

// segment is a piece of a thread's log, or a hit that the tracer made there.
type segment struct {
	buf   []byte
	at    uint64       // offset of buf in all that was added at once
	floor uint64       // no record of it has a place before this one
	own   bool         // buf is in thread.own
	hit   *capture.Hit // with the stamp floor
}

// NewMerger returns a merger without threads.
func NewMerger(table *Table, o Options, sink Sink) *Merger {
	m := &Merger{
		table:   table,
		decoder: Decoder{Clock: o.Clock, Known: o.Known},
		static:  sortRanges(o.Static),
		sink:    sink,
		threads: make(map[trace.ThreadID]*thread),
		room:    o.Room,
		calls:   calls{tell: o.Calls},
		allocs:  o.Allocs,
	}
	m.calls.begin(table)
	if m.room == nil {
		own := make([]trace.StoreRec, 0, batch)
		m.room = func(int) []trace.StoreRec { return own }
	}
	return m
}

// Extend replaces the table by one whose beginning is the same: the plan has
// grown. static replaces Options.Static.
func (m *Merger) Extend(table *Table, static []Range) {
	m.table, m.static = table, sortRanges(static)
	m.calls.begin(table)
	for _, t := range m.threads {
		t.setStatic(m.static)
	}
}

// Stats returns the counts so far.
func (m *Merger) Stats() Stats {
	s := m.stats
	s.Filtered += m.decoder.Filtered
	return s
}

// Start makes a thread known, before it runs or while it is stopped and nothing of
// it was added. stamp is one that the tracer took itself from the counter, while
// the thread that made this one was stopped behind making it. stack is the
// thread's own, if it is known.
func (m *Merger) Start(id trace.ThreadID, stamp uint64, stack Range) {
	t := &thread{id: id, place: stamp, Filter: Filter{static: m.static, stack: stack}}
	m.threads[id] = t
}

// Add takes the records that a thread has written since the last call. They
// must stay as they are until the next Cut has returned. keepLast: if the last
// record is that of a store, its instruction may be about to fault; it and what
// comes after it wait until more of the thread is added, or nothing with
// keepLast false.
func (m *Merger) Add(id trace.ThreadID, buf []byte, keepLast bool) error {
	t, err := m.thread(id)
	if err != nil {
		return err
	}
	if len(buf) > 0 {
		t.segments = append(t.segments, segment{buf: buf, floor: m.cut})
	}
	t.keep = keepLast
	return nil
}

// Event adds a hit that the tracer itself saw in a thread, behind what was added
// of it. The tracer took stamp from the counter, with the thread stopped. After a
// ThreadExit nothing more may be added.
func (m *Merger) Event(h *capture.Hit, stamp uint64) error {
	t, err := m.thread(h.Thread)
	if err != nil {
		return err
	}
	c := *h
	c.Data, c.Stack = slices.Clone(h.Data), slices.Clone(h.Stack)
	t.segments = append(t.segments, segment{hit: &c, floor: stamp})
	t.keep = false
	t.ended = h.Op == capture.ThreadExit
	return nil
}

func (m *Merger) thread(id trace.ThreadID) (*thread, error) {
	if m.err != nil {
		return nil, m.err
	}
	if t := m.threads[id]; t != nil && !t.ended {
		return t, nil
	}
	return nil, fmt.Errorf("log of thread %d, which is not known", id)
}

// Retract takes back the last record added of a thread, which was added with
// keepLast and is that of a store: it did not execute. It says whether there
// was one.
func (m *Merger) Retract(id trace.ThreadID) bool {
	t := m.threads[id]
	if t == nil || !t.keep || len(t.segments) == 0 {
		return false
	}
	s := &t.segments[len(t.segments)-1]
	last := -1
	for off := 0; off < len(s.buf); {
		n, form := m.table.record(s.buf[off:])
		if n == 0 {
			return false // Cut will say why
		}
		if form != nil && off+n == len(s.buf) {
			last = off
		}
		off += n
	}
	if last < 0 {
		return false
	}
	s.buf = s.buf[:last]
	t.keep = false
	return true
}

// Pending says whether something of a thread was added and not delivered yet.
func (m *Merger) Pending(id trace.ThreadID) bool {
	t := m.threads[id]
	return t != nil && len(t.segments) > 0
}

// Waiting appends the threads whose last store waited at the last Cut, and held
// back what is newer in others, to ids. Whoever finds one there again and again
// should look where that thread is: if it is not at that store any more, an Add
// without keepLast lets it go. Until then each Cut copies what is held back.
func (m *Merger) Waiting(ids []trace.ThreadID) []trace.ThreadID {
	for id, t := range m.threads {
		if t.waits {
			ids = append(ids, id)
		}
	}
	return ids
}

// Cut delivers what is certain. order is the value of the counter, read before
// the cursors of all threads were; what lay below those has been added. It is less than the
// first stamp of each exchange whose record is not there yet (layout.Since, read in between).
func (m *Merger) Cut(order uint64) error {
	if m.err != nil {
		return m.err
	}
	if len(m.threads) == 1 {
		for _, t := range m.threads {
			state, err := m.deliver(t, math.MaxUint64)
			t.waits = state == waiting
			m.err = cmp.Or(err, m.flush(t))
		}
	} else {
		m.err = m.merge(order)
	}
	m.cut = max(m.cut, order)
	for id, t := range m.threads {
		switch {
		case len(t.segments) > 0:
			t.preserve()
		case t.ended:
			delete(m.threads, id)
		}
	}
	return m.err
}

// Finish delivers everything that is left, also what waits: no thread will
// write any more.
func (m *Merger) Finish() error {
	for _, t := range m.threads {
		t.keep = false
	}
	return m.Cut(math.MaxUint64)
}

// merge delivers what has a place up to order, by place:
//
//  1. Take the thread whose next place is the least. If that is beyond order,
//     all is done.
//  2. Deliver of it what has a place up to the next place of any other thread,
//     and up to order.
//  3. If it is empty it drops out. If its last record waits, nothing beyond the
//     place of that can be delivered either.
func (m *Merger) merge(order uint64) error {
	m.queue, m.written, m.order, m.waiters = m.queue[:0], m.written[:0], order, 0
	for _, t := range m.threads {
		t.waits, t.word = false, 0
		if len(t.segments) > 0 {
			t.next = max(t.place, t.segments[0].floor)
			m.queue, m.written = append(m.queue, t), append(m.written, t)
		}
	}
	heap.Init(&m.queue)
	for len(m.queue) > 0 && m.queue[0].next <= order {
		t := m.queue[0]
		if t.word != 0 {
			t.word = 0
			m.waiters--
		}
		state, err := m.deliver(t, min(order, m.queue.second()))
		if err := cmp.Or(err, m.flush(t)); err != nil {
			return err
		}
		switch state {
		case waiting, unclear:
			t.waits = state == waiting
			order = min(order, t.next)
			heap.Pop(&m.queue)
		case moved:
			heap.Init(&m.queue)
		case empty:
			heap.Pop(&m.queue)
		case beyond:
			heap.Fix(&m.queue, 0)
		}
	}
	return nil
}

// preserve copies what is left of a thread: the buffers will be used again. What has been copied
// stays where it is, for it may be left again and again, unless most of what was copied with it is gone.
func (t *thread) preserve() {
	n, fresh := 0, 0
	for i := range t.segments {
		s := &t.segments[i]
		n += len(s.buf)
		if !s.own {
			fresh += len(s.buf)
		}
	}
	if fresh == n {
		t.own = t.own[:0]
	}
	all := len(t.own)+fresh > 2*n+preserved
	if all {
		t.own, t.spare = slices.Grow(t.spare[:0], n), t.own
	}
	for i := range t.segments {
		s := &t.segments[i]
		if s.own && !all {
			continue
		}
		at := len(t.own)
		t.own = append(t.own, s.buf...)
		s.buf, s.own = t.own[at:len(t.own):len(t.own)], true
	}
}

// preserved is how many bytes a thread may hold beyond twice what is left of it.
const preserved = 64 << 10

// byPlace is a heap of threads.
type byPlace []*thread

func (q byPlace) Len() int { return len(q) }
func (q byPlace) Less(i, j int) bool {
	if q[i].next == q[j].next {
		return q[i].word == 0 && q[j].word != 0 // who waits lets others go first
	}
	return q[i].next < q[j].next
}
func (q byPlace) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *byPlace) Push(x any)   { *q = append(*q, x.(*thread)) }
func (q *byPlace) Pop() any {
	n := len(*q) - 1
	t := (*q)[n]
	(*q)[n] = nil
	*q = (*q)[:n]
	return t
}

// second is the least next place of all threads but the first.
func (q byPlace) second() uint64 {
	least := uint64(math.MaxUint64)
	for i := 1; i < len(q) && i < 3; i++ {
		least = min(least, q[i].next)
	}
	return least
}
