package log

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
)

// contest simulates threads that exchange the values of a few words, and read them, and may lose the
// processor anywhere: between the stamp of before and the instruction, and between that and
// the stamp and record behind it. What a record must come behind is what its thread knew when it
// executed (a vector clock), or when its last stamp was taken if it has none.
type contest struct {
	rng     *rand.Rand
	plan    *probe.Plan
	order   uint64
	slow    int // a thread that seldom has the processor; -1: none
	values  int // there are so many; 0: never the same again
	fresh   uint64
	words   []simWord
	threads []*contestant
	known   map[uint64][]int  // by name
	value   map[uint64]uint64 // that exchanges left
	failed  map[uint64]bool
}

type simWord struct {
	value uint64
	known []int
	names []uint64 // of the exchanges, as they were executed
}

type contestant struct {
	id, n  int
	since  uint64 // as in the thread block
	log    []byte
	known  []int // records of all threads
	strong []int // when the last stamp was taken
	script script
}

func (t *contestant) name() uint64 { return uint64(t.id)<<32 | uint64(t.n) }

// wordAddr is where word i lies.
func wordAddr(i int) uint64 { return 0x9000_0000_0000 + 64*uint64(i) }

func (c *contest) commit(t *contestant, known []int, record []byte) {
	c.known[t.name()] = slices.Clone(known)
	t.log = append(t.log, record...)
	t.n++
}

func (c *contest) step() {
	t := c.threads[c.rng.IntN(len(c.threads))]
	if t.id == c.slow && c.rng.IntN(60) > 0 {
		return
	}
	if t.script.step() {
		return
	}
	i := c.rng.IntN(len(c.words))
	w := &c.words[i]
	switch p := c.rng.IntN(10); {
	case p < 2: // a plain store
		c.commit(t, t.strong, storeRecord{index: sQuad, addr: t.name(), value: make([]byte, 8)}.bytes(c.plan, false))
		t.known[t.id] = t.n
	case p < 4: // a load
		merge(t.known, w.known)
	case p < 5: // a hook
		c.order++
		stamp, known := c.order, slices.Clone(t.known)
		t.strong = known
		t.script = append(t.script, func() {
			c.commit(t, known, note(layout.NoteMap, 0, t.name(), 0, stamp))
			t.known[t.id] = t.n
		})
	default:
		c.exchange(t, i, c.rng.IntN(5) == 0)
	}
}

func (c *contest) exchange(t *contestant, i int, fails bool) {
	w := &c.words[i]
	c.order++
	since := c.order
	r := storeRecord{index: sCas, addr: wordAddr(i), since: since, wrote: !fails}
	name := t.name()
	var known []int
	t.script = append(t.script,
		func() { t.since = since },
		func() {
			r.old = w.value
			merge(t.known, w.known)
			known = slices.Clone(t.known)
			v := c.rng.Uint64N(uint64(max(1, c.values)))
			if c.values == 0 {
				c.fresh++
				v = c.fresh
			}
			r.value = bytesOf(v)
			t.known[t.id] = t.n + 1
			c.failed[name] = fails
			if !fails {
				w.value = v
				w.known = slices.Clone(t.known)
				w.names = append(w.names, name)
				c.value[name] = v
			}
		},
		func() { c.order++; r.stamp = c.order; t.strong = slices.Clone(t.known) },
		func() { c.commit(t, known, r.bytes(c.plan, false)) },
		func() { t.since = 0 },
	)
}

// take returns what a thread has written and the stamp before which the reader must stop, read
// in the engine's order.
func (t *contestant) take(limit *uint64) []byte {
	if t.since != 0 {
		*limit = min(*limit, t.since-1)
	}
	b := t.log
	t.log = nil
	return b
}

// referee is the sink. exact: everything comes behind what it must come behind, and the exchanges of a
// word as they were executed. Else two threads may have left the same value.
type referee struct {
	c     *contest
	exact bool
	next  []int // number of each thread's next record
	at    []int // exchanges that came, by word
}

// pass goes on to the next record of a thread that will come: failed ones do not.
func (r *referee) pass(i int) int {
	for r.c.failed[uint64(i)<<32|uint64(r.next[i])] {
		r.next[i]++
	}
	return r.next[i]
}

func (r *referee) record(id trace.ThreadID, addr, value uint64) error {
	t := int(id)
	n := r.pass(t)
	name := uint64(t)<<32 | uint64(n)
	for i, k := range r.c.known[name] {
		if i != t && r.exact && r.pass(i) < k {
			return fmt.Errorf("record %d of thread %d came after %d of thread %d, %d happen before it", n, t, r.next[i], i, k)
		}
	}
	r.next[t]++
	if addr < wordAddr(0) {
		if addr != name {
			return fmt.Errorf("record %d of thread %d is %#x", n, t, addr)
		}
		return nil
	}
	i := int(addr-wordAddr(0)) / 64
	w := &r.c.words[i]
	switch {
	case r.c.value[name] != value:
		return fmt.Errorf("record %d of thread %d says %d, it was %d", n, t, value, r.c.value[name])
	case r.exact && w.names[r.at[i]] != name:
		return fmt.Errorf("word %d: record %d of thread %d came as number %d, which was %#x", i, n, t, r.at[i], w.names[r.at[i]])
	}
	r.at[i]++
	return nil
}

func (r *referee) Stores(s *trace.Stores) error {
	for i := range s.Recs {
		if err := r.record(s.Thread, s.Recs[i].Addr, s.Recs[i].Value); err != nil {
			return err
		}
	}
	return nil
}

func (r *referee) Hit(h *capture.Hit) error {
	if h.Op == capture.Thread {
		return nil
	}
	return r.record(h.Thread, h.Addr, 0)
}

// Exchanges come as they were executed, and before all that happens behind them, wherever a thread
// loses the processor: if no value is there twice.
func TestExchanges(t *testing.T) {
	runs := 2000
	if testing.Short() {
		runs = 300
	}
	for seed := range uint64(runs) {
		if err := contend(seed, 0); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Where values come again nothing is lost or comes twice, and each thread's order is its own.
func TestExchangesAgain(t *testing.T) {
	for seed := range uint64(1000) {
		if err := contend(seed, 2); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func contend(seed uint64, values int) error {
	rng := rand.New(rand.NewPCG(seed, 3))
	c := &contest{rng: rng, plan: testPlan(), values: values, words: make([]simWord, 1+rng.IntN(3)),
		known: map[uint64][]int{}, value: map[uint64]uint64{}, failed: map[uint64]bool{}}
	n := 2 + rng.IntN(4)
	c.slow = rng.IntN(2*n) - n
	for i := range c.words {
		c.words[i].known = make([]int, n)
	}
	for i := range n {
		c.threads = append(c.threads, &contestant{id: i, known: make([]int, n), strong: make([]int, n)})
	}
	r := &referee{c: c, exact: values == 0, next: make([]int, n), at: make([]int, len(c.words))}
	m := NewMerger(NewTable(c.plan, false), Options{}, r)
	for i := range n {
		c.order++
		m.Start(trace.ThreadID(i), c.order, Range{})
	}
	for range 40 {
		for range rng.IntN(150) {
			c.step()
		}
		limit := c.order // the counter, then who is at an exchange, then the cursors
		var used [][]byte
		for _, i := range rng.Perm(n) {
			for range rng.IntN(8) {
				c.step()
			}
			b := c.threads[i].take(&limit)
			used = append(used, b)
			if err := m.Add(trace.ThreadID(i), b, rng.IntN(3) == 0); err != nil {
				return err
			}
		}
		if err := m.Cut(limit); err != nil {
			return err
		}
		for _, b := range used {
			clear(b)
		}
	}
	for _, t := range c.threads {
		for t.script.step() { // nobody ends within an exchange
		}
		if err := m.Add(trace.ThreadID(t.id), t.take(new(uint64)), false); err != nil {
			return err
		}
	}
	if err := m.Finish(); err != nil {
		return err
	}
	for i, t := range c.threads {
		if r.pass(i) != t.n {
			return fmt.Errorf("thread %d: %d of %d records", i, r.next[i], t.n)
		}
	}
	return nil
}

// What fills in an object comes with the exchange that publishes it, behind what it may tell of; any other
// plain store may be a release, and comes as early as it can.
func TestPrivate(t *testing.T) {
	const object = 0x5000
	plan := testPlan()
	fill := storeRecord{index: sQuad, addr: object + 8, value: bytesOf(0x7000)}.bytes(plan, false)
	other := storeRecord{index: sQuad, addr: object + objectSize, value: bytesOf(1)}.bytes(plan, false)
	cas := func(wrote bool, since uint64) []byte {
		return storeRecord{index: sCas, addr: 0x9000, value: bytesOf(object), since: since, stamp: since + 1, wrote: wrote}.bytes(plan, false)
	}
	const (
		filled    = "[2] store 0 5008 base 5000 pc 401000: 0070000000000000"
		released  = "[2] store 0 5100 base 50f8 pc 401000: 0100000000000000"
		published = "[2] store 5 9000 base 9000 pc 401050: 0050000000000000 atomic rmw"
		born      = "[1] hit 6 index 0 7000+0 data  wall 5"
	)
	for _, c := range []struct {
		name string
		log  []byte
		want []string
	}{
		{"an object", join(fill, cas(true, 8)), []string{born, filled, published}},
		{"one that is tried again", join(fill, cas(false, 8), fill, cas(true, 10)), []string{born, filled, filled, published}},
		{"a release", join(other, cas(true, 8)), []string{released, born, published}},
		{"a release, and an object", join(other, fill, cas(true, 8)), []string{released, born, filled, published}},
		{"an object, and a release", join(fill, other, cas(true, 8)), []string{filled, released, born, published}},
	} {
		m, s := merger(plan, false, Options{Clock: Clock{Mult: 1 << 32}})
		m.Start(2, 3, Range{})
		for _, err := range []error{
			m.Add(2, c.log, false),
			m.Add(1, note(layout.NoteMap, 0, 0x7000, 0, 5), false),
			m.Cut(20),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		check(t, c.name, s, c.want...)
	}
}
