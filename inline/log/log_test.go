package log

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
)

// merger returns one of a plan, with thread 1.
func merger(plan *probe.Plan, strict bool, o Options) (*Merger, *recorder) {
	table := NewTable(plan, strict)
	s := &recorder{table: table}
	m := NewMerger(table, o, s)
	m.Start(1, 0, Range{})
	return m, s
}

func check(t *testing.T, what string, s *recorder, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, s.got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
	s.got = nil
}

func TestStores(t *testing.T) {
	wide := []byte("0123456789abcdef0123456789ABCDEF")
	for _, strict := range []bool{false, true} {
		plan := testPlan()
		m, s := merger(plan, strict, Options{})
		var log []byte
		for _, r := range []storeRecord{
			{index: sQuad, addr: 0x1008, value: bytesOf(0x1122334455667788)},
			{index: sLong, addr: 0x2000, value: bytesOf(0x55667788)},
			{index: sByte, addr: 0x2001, value: []byte{0x99}},
			{index: sIndex, addr: 0x3000, value: bytesOf(7), base: 0x2ff0},
			{index: sXchg, addr: 0x4000, value: []byte{1, 2}, stamp: 1},
			{index: sCas, addr: 0x5000, value: bytesOf(5), stamp: 2},
			{index: sCas, addr: 0x5000, value: bytesOf(6), stamp: 3, wrote: true},
			{index: sVector, addr: 0x6000, value: wide, base: 0x5000},
			{index: sTen, addr: 0x7000, value: wide},
			{index: sGlobal, addr: 0x401180, value: bytesOf(1)},
		} {
			log = append(log, r.bytes(plan, strict)...)
		}
		if err := m.Add(1, log, false); err != nil {
			t.Fatal(err)
		}
		if err := m.Cut(0); err != nil {
			t.Fatal(err)
		}
		check(t, "stores", s,
			"[1] store 0 1008 base 1000 pc 401000: 8877665544332211",
			"[1] store 1 2000 base 2000 pc 401010: 88776655",
			"[1] store 2 2001 base 2001 pc 401020: 99",
			"[1] store 3 3000 base 2ff0 pc 401030: 0700000000000000",
			"[1] store 4 4000 base 4000 pc 401040: 0102 atomic rmw",
			"[1] store 5 5000 base 5000 pc 401050: 0600000000000000 atomic rmw",
			"[1] store 6 6000 base 5000 pc 401060: 3031323334353637383961626364656630313233343536373839414243444546",
			"[1] store 7 7000 base 7000 pc 401070: 30313233343536373839",
			"[1] store 8 401180 base 0 pc 401080: 01000000",
		)
		if got, want := m.Stats(), (Stats{Stores: 9, Failed: 1}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
	}
}

// More stores than a run holds, of which some are wide.
func TestRuns(t *testing.T) {
	plan := testPlan()
	m, s := merger(plan, false, Options{})
	var log []byte
	const n = 3*batch + 7
	for i := range n {
		r := storeRecord{index: sQuad, addr: 0x1008 + 8*uint64(i), value: bytesOf(uint64(i))}
		if i%5 == 0 {
			r = storeRecord{index: sTen, addr: 0x1008 + 8*uint64(i), value: append(bytesOf(uint64(i)), 1, 2)}
		}
		log = append(log, r.bytes(plan, false)...)
	}
	if err := m.Add(1, log, false); err != nil {
		t.Fatal(err)
	}
	if err := m.Cut(0); err != nil {
		t.Fatal(err)
	}
	if len(s.got) != n {
		t.Fatalf("%d stores of %d", len(s.got), n)
	}
	for i, got := range s.got {
		if want := bytesOf(uint64(i)); !strings.Contains(got, ": "+strings.ToLower(hexOf(want))) {
			t.Fatalf("store %d: %s", i, got)
		}
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

// The last store waits until its thread goes on, or is taken back.
func TestKeepLast(t *testing.T) {
	plan := testPlan()
	m, s := merger(plan, false, Options{})
	quad := func(v uint64) []byte {
		return storeRecord{index: sQuad, addr: 0x1008, value: bytesOf(v)}.bytes(plan, false)
	}
	line := func(v string) string { return "[1] store 0 1008 base 1000 pc 401000: " + v + "00000000000000" }
	step := func(what string, keep bool, log []byte, want ...string) {
		t.Helper()
		buf := append([]byte(nil), log...)
		if err := m.Add(1, buf, keep); err != nil {
			t.Fatal(err)
		}
		if err := m.Cut(0); err != nil {
			t.Fatal(err)
		}
		clear(buf) // it is used again
		check(t, what, s, want...)
	}
	step("two", true, join(quad(1), quad(2)), line("01"))
	step("nothing more", true, nil)
	step("another", true, quad(3), line("02"))
	step("it goes on elsewhere", false, nil, line("03"))
	step("a fourth", true, quad(4))
	if !m.Retract(1) {
		t.Error("nothing to take back")
	}
	if m.Retract(1) {
		t.Error("taken back twice")
	}
	step("after it", true, join(quad(5), note(layout.NoteMap, 0, 1, 2, 0)), line("05"), "[1] hit 6 index 0 1+2 data  wall 0")
	if m.Retract(1) {
		t.Error("a note was taken back")
	}
	step("last", true, quad(6))
	if err := m.Add(1, quad(7), true); err != nil {
		t.Fatal(err)
	}
	if !m.Retract(1) {
		t.Error("nothing to take back before the cut")
	}
	if err := m.Finish(); err != nil {
		t.Fatal(err)
	}
	check(t, "the rest", s, line("06"))
}

// A store that waits holds back what may have come after it in other threads,
// and nothing else.
func TestKeepLastHolds(t *testing.T) {
	plan := testPlan()
	m, s := merger(plan, false, Options{})
	m.Start(2, 0, Range{})
	quad := func(v uint64) []byte {
		return storeRecord{index: sQuad, addr: 0x1008, value: bytesOf(v)}.bytes(plan, false)
	}
	for _, err := range []error{
		m.Add(1, join(note(layout.NoteMap, 0, 1, 0, 5), quad(1)), true),
		m.Add(2, join(note(layout.NoteMap, 0, 2, 0, 4), quad(2), note(layout.NoteMap, 0, 3, 0, 6)), true),
		m.Cut(9),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]trace.ThreadID{1}, m.Waiting(nil)); d != "" {
		t.Errorf("waiting: %s", d)
	}
	check(t, "waiting", s,
		"[2] hit 6 index 0 2+0 data  wall 0",
		"[2] store 0 1008 base 1000 pc 401000: 0200000000000000",
		"[1] hit 6 index 0 1+0 data  wall 0")
	if err := m.Add(1, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := m.Cut(9); err != nil {
		t.Fatal(err)
	}
	if w := m.Waiting(nil); len(w) > 0 {
		t.Errorf("still waiting: %v", w)
	}
	check(t, "released", s,
		"[1] store 0 1008 base 1000 pc 401000: 0100000000000000",
		"[2] hit 6 index 0 3+0 data  wall 0")
}

// What is not wanted is not delivered, but counted.
func TestFilter(t *testing.T) {
	plan := testPlan()
	o := Options{Static: []Range{{0x9000, 0xa000}, {0x8000, 0x8100}, {0x8100, 0x8200}, {5, 5}}}
	m, s := merger(plan, false, o)
	m.threads[1].stack = Range{0x20000, 0x30000}
	add := func(records ...[]byte) {
		t.Helper()
		if err := m.Add(1, join(records...), false); err != nil {
			t.Fatal(err)
		}
		if err := m.Cut(0); err != nil {
			t.Fatal(err)
		}
	}
	at := func(addr uint64) []byte {
		return storeRecord{index: sQuad, addr: addr, value: bytesOf(0)}.bytes(plan, false)
	}
	kept := func() (addrs []string) {
		for _, g := range s.got {
			if f := strings.Fields(g); f[1] == "store" {
				addrs = append(addrs, f[3])
			}
		}
		s.got = nil
		return addrs
	}
	for _, c := range []struct {
		name    string
		records [][]byte
		want    []string
	}{
		{"static data", [][]byte{at(0x7ff8), at(0x8000), at(0x81f8), at(0x8200), at(0x8fff), at(0x9800), at(0x9fff), at(0xa000)},
			[]string{"7ff8", "8200", "8fff", "9fff", "a000"}},
		{"stack", [][]byte{at(0x1fff8), at(0x20000), at(0x2fff8), at(0x30000), at(0x20008), at(0x30008)},
			[]string{"1fff8", "30000", "30008"}},
		{"a window", [][]byte{at(0x50000), note(layout.NoteQuiet, 0, 0x50000, 0x100, 0), at(0x50000), at(0x500f8), at(0x500fc), at(0x50100),
			note(layout.NoteQuiet, 0, 0, 0, 0), at(0x50000)},
			[]string{"50000", "500fc", "50100", "50000"}},
		{"inside an allocator", [][]byte{at(0x50000), note(layout.NoteQuiet, 1, 0, 0, 0), at(0x50000), at(0x60000),
			note(layout.NoteQuiet, 0, 0, 0, 0), at(0x50008)},
			[]string{"50000", "50008"}},
		{"the ends of memory", [][]byte{at(0), at(math.MaxUint64 - 7), at(math.MaxUint64 - 8)},
			[]string{"0", "fffffffffffffff8", "fffffffffffffff7"}},
	} {
		add(c.records...)
		if d := cmp.Diff(c.want, kept()); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if n := m.Stats().Filtered; n != 3+3+2+2 {
		t.Errorf("%d filtered", n)
	}
}

// Times come from the records that have them; stores take the last one.
func TestClock(t *testing.T) {
	c := Clock{Zero: 1000, Mult: 1 << 31}
	for _, v := range []struct {
		ticks uint64
		want  int64
	}{{0, 0}, {1000, 0}, {1010, 5}, {1000 + 1<<62, 1 << 61}} {
		if got := c.Wall(v.ticks); got != v.want {
			t.Errorf("%d ticks: %d ns, want %d", v.ticks, got, v.want)
		}
	}
	plan := testPlan()
	m, s := merger(plan, false, Options{Clock: c})
	if err := m.Add(1, note(layout.NoteMap, 0, 1, 0, 1020), false); err != nil {
		t.Fatal(err)
	}
	if err := m.Cut(0); err != nil {
		t.Fatal(err)
	}
	check(t, "time", s, "[1] hit 6 index 0 1+0 data  wall 10")
}

// Hits of the tracer take their place in their thread; a thread that has ended
// is forgotten.
func TestEvents(t *testing.T) {
	plan := testPlan()
	m, s := merger(plan, false, Options{})
	quad := storeRecord{index: sQuad, addr: 0x1008, value: bytesOf(1)}.bytes(plan, false)
	m.Start(2, 3, Range{})
	for _, err := range []error{
		m.Event(&capture.Hit{Op: capture.Thread, Thread: 2}, 3),
		m.Add(2, quad, false),
		m.Event(&capture.Hit{Op: capture.ThreadExit, Thread: 2}, 7),
		m.Add(1, join(quad, note(layout.NoteMap, 0, 1, 0, 5), quad), false),
		m.Event(&capture.Hit{Op: capture.Signal, Thread: 1, Index: 11}, 8),
		m.Cut(8),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	store := " store 0 1008 base 1000 pc 401000: 0100000000000000"
	check(t, "events", s,
		"[1]"+store,
		"[2] hit 9 index 0 0+0 data  wall 0",
		"[2]"+store,
		"[1] hit 6 index 0 1+0 data  wall 0",
		"[1]"+store,
		"[2] hit 10 index 0 0+0 data  wall 0",
		"[1] hit 13 index 11 0+0 data  wall 0")
	if err := m.Add(2, quad, false); err == nil {
		t.Error("a thread that has ended wrote")
	}
	if len(m.threads) != 1 {
		t.Errorf("%d threads", len(m.threads))
	}
}

// tagged is a record with another tag.
func tagged(tag uint32, record []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, tag), record[4:]...)
}

// What no trampoline writes is an error that says where.
func TestMalformed(t *testing.T) {
	plan := testPlan()
	good := storeRecord{index: sLong, addr: 8, value: bytesOf(1)}.bytes(plan, false)
	unread := special(layout.KindWrite, layout.WriteSize, 0, 0)
	unread[layout.WriteOp] = layout.WriteBulk
	unread[layout.WriteFlags] = layout.WriteUnread
	unread[layout.WriteBytes+3] = 0xff
	for _, c := range []struct {
		name string
		bad  []byte
		want string
	}{
		{"cut off", good[:12], "cut off: 12 bytes"},
		{"no such store", tagged(layout.Tag(99, 16), good), "no such record: tag 0xc64"},
		{"a store of the hook's", tagged(layout.Tag(sString, 0), good), "no such record: tag 0x120"},
		{"a store cut off", tagged(layout.Tag(sQuad, 20), good), "record of store 0, of 20 bytes in 16"},
		{"a store of another size", tagged(layout.Tag(sQuad, 16), good), "no such record: tag 0x4"},
		{"no size", tagged(layout.Tag(sQuad, 0), good), "no such record: tag 0x0"},
		{"no such kind", special(9, 80, 0, 0), "no such record"},
		{"no kind", special(0, 80, 0, 0), "no such record"},
		{"too short", special(layout.KindStop, 24, 0, 0), "no such record"},
		{"too long", special(layout.KindNote, layout.NoteSize, 0, 0)[:40], "no such record"},
		{"no such note", note(77, 0, 0, 0, 0), "a note of kind 77"},
		{"no such write", special(layout.KindWrite, layout.WriteSize, 0, 0), "a write of kind 0"},
		{"too many unread bytes", unread, "4278190080 bytes that could not be read"},
	} {
		m, s := merger(plan, false, Options{})
		if err := m.Add(1, join(good, c.bad), false); err != nil {
			t.Fatal(err)
		}
		err := m.Cut(0)
		if err == nil || !strings.Contains(err.Error(), "log of thread 1 at offset 0x10: "+c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if len(s.got) != 1 {
			t.Errorf("%s: what came before it was delivered %d times", c.name, len(s.got))
		}
		if m.Add(1, nil, false) == nil || m.Cut(0) == nil {
			t.Errorf("%s: the error is forgotten", c.name)
		}
	}
}

// full is a sink that has no room for anything.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Stores(*trace.Stores) error { return errFull }
func (full) Hit(*capture.Hit) error     { return errFull }

// What the sink says is not put down to the log.
func TestRefused(t *testing.T) {
	plan := testPlan()
	store := storeRecord{index: sLong, addr: 8, value: bytesOf(1)}.bytes(plan, false)
	for name, record := range map[string][]byte{"a run": store, "a run and a hit": join(store, note(layout.NoteQuiet, 0, 0, 0, 0)), "a hit": note(layout.NoteLost, 0, 0, 0, 0)} {
		m := NewMerger(NewTable(plan, false), Options{}, full{})
		m.Start(1, 0, Range{})
		if err := m.Add(1, record, false); err != nil {
			t.Fatal(err)
		}
		if err := m.Cut(0); err != errFull {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	plan := testPlan()
	var all []byte
	for i := range plan.Stores {
		if i != sString {
			r := storeRecord{index: i, addr: 0x1000, value: make([]byte, 64), stamp: 2, wrote: true}
			all = append(all, r.bytes(plan, false)...)
		}
	}
	f.Add(all, uint64(3), false)
	f.Add(join(note(layout.NoteQuiet, 1, 5, 6, 7), special(layout.KindStop, layout.StopSize+64, 3, 4), all), uint64(1), true)
	w := special(layout.KindWrite, layout.WriteSize+8, 1, 1)
	w[layout.WriteOp], w[layout.WriteBytes] = layout.WriteStore, 8
	f.Add(join(w, all), uint64(9), true)
	f.Fuzz(func(t *testing.T, b []byte, order uint64, keep bool) {
		table := NewTable(plan, false)
		counts := &counter{}
		m := NewMerger(table, Options{Static: []Range{{0, 9}}}, counts)
		m.Start(1, 0, Range{5, 100})
		m.Start(2, order, Range{})
		n := len(b) / 2
		err := m.Add(1, b[:n], keep)
		if err == nil {
			err = m.Add(2, b[n:], !keep)
		}
		if err == nil {
			err = m.Cut(order)
		}
		m.Retract(1)
		if err == nil {
			err = m.Finish()
		}
		s := m.Stats()
		if s.Stores != counts.stores || s.Hits != counts.hits {
			t.Errorf("%+v, the sink got %+v", s, counts)
		}
		if err == nil && len(m.threads) > 0 && (len(m.threads[1].segments) > 0 || len(m.threads[2].segments) > 0) {
			t.Error("something is left")
		}
	})
}

// counter is a sink that counts.
type counter struct{ stores, hits, sum uint64 }

func (c *counter) Stores(s *trace.Stores) error {
	c.stores += uint64(len(s.Recs))
	for i := range s.Recs {
		c.sum += s.Recs[i].Value
	}
	return nil
}

func (c *counter) Hit(*capture.Hit) error { c.hits++; return nil }
