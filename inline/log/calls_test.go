package log

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
)

// callLog makes the log of a thread that stores, and calls functions which write little,
// much, elsewhere than where they were told, or what can not be read.
func callLog(rnd *rand.Rand, plan *probe.Plan, thread, n int) (log []byte) {
	time := uint64(0)
	for i := range n {
		time += uint64(rnd.IntN(20) / 19)
		data := make([]byte, [...]int{1, 3, 8, 9, 16, 24, 63, 64, 65, 300}[rnd.IntN(10)])
		for k := range data {
			data[k] = byte(rnd.Uint32())
		}
		pc := uint64(0x401000 + 16*rnd.IntN(40))
		addr := uint64(0x50000 + 8*rnd.IntN(100))
		stamp := uint64(2*i + thread)
		switch rnd.IntN(12) {
		case 0:
			log = append(log, note(layout.NoteMap, 0, uint64(i), 0, stamp)...)
		case 1:
			log = append(log, note(layout.NoteQuiet, 0, addr, uint64(rnd.IntN(3)*64), stamp)...)
		case 2:
			b := written(layout.WriteBulk, rnd.IntN(3), pc, addr, data, stamp, time)
			switch rnd.IntN(5) {
			case 0:
				binary.LittleEndian.PutUint64(b[layout.WriteBase:], addr-8)
			case 1:
				binary.LittleEndian.PutUint32(b[layout.WriteFlags:], layout.WriteLate)
			case 2:
				b = written(layout.WriteStore, 0, pc, addr, data, stamp, time)
			case 3:
				binary.LittleEndian.PutUint32(b[layout.WriteFlags:], layout.WritePartial)
				binary.LittleEndian.PutUint64(b[layout.WriteLen:], uint64(len(data)+9))
			case 4:
				b = written(layout.WriteSyscall, 1, pc, addr, data, stamp, time)
			}
			log = append(log, b...)
		case 3, 4, 5, 6, 7:
			log = append(log, written(layout.WriteBulk, rnd.IntN(3), pc, addr, data, stamp, time)...)
		default:
			log = append(log, storeRecord{index: rnd.IntN(4), addr: addr, value: bytesOf(rnd.Uint64()), base: addr}.bytes(plan, false)...)
		}
	}
	return log
}

// TestCalls: what calls write is the same whether it comes in runs or as hits, in the same
// order and at the same time.
func TestCalls(t *testing.T) {
	for seed := range uint64(20) {
		var want []string
		for _, runs := range []bool{false, true} {
			plan := testPlan()
			plan.Funcs = []probe.Func{{Name: "memcpy"}, {Name: "memset"}, {Name: "strcpy"}}
			s := &recorder{table: NewTable(plan, false)}
			o := Options{Clock: Clock{Mult: 1 << 32}}
			if runs {
				o.Calls = s.tell
			}
			m := NewMerger(s.table, o, s)
			rnd := rand.New(rand.NewPCG(seed, 3))
			for id := 1; id <= 1+int(seed%2); id++ {
				m.Start(trace.ThreadID(id), 0, Range{})
				if err := m.Add(trace.ThreadID(id), callLog(rnd, plan, id, 800), false); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Cut(900); err != nil {
				t.Fatal(err)
			}
			if err := m.Finish(); err != nil {
				t.Fatal(err)
			}
			if !runs {
				want = s.got
				continue
			}
			if d := cmp.Diff(want, s.got); d != "" {
				t.Fatalf("seed %d (-hits +runs)\n%s", seed, d)
			}
			if s.calls < 200 {
				t.Errorf("seed %d: %d calls in runs", seed, s.calls)
			}
		}
	}
}

// Where there is no room for more sites, calls are hits; a plan that has grown has sites of
// its own behind its stores.
func TestCallsBounded(t *testing.T) {
	plan := testPlan()
	plan.Funcs = []probe.Func{{Name: "memcpy"}}
	s := &recorder{table: NewTable(plan, false)}
	m := NewMerger(s.table, Options{Calls: s.tell}, s)
	m.Start(1, 0, Range{})
	add := func(calls int) {
		t.Helper()
		var log []byte
		for i := range calls {
			log = append(log, written(layout.WriteBulk, 0, 0x401000+uint64(i), 8, []byte{1}, 0, 0)...)
		}
		if err := m.Add(1, log, false); err != nil {
			t.Fatal(err)
		}
		if err := m.Cut(0); err != nil {
			t.Fatal(err)
		}
	}
	m.calls.most = 5
	add(8)
	if len(s.got) != 8 || s.calls != 5 {
		t.Errorf("%d calls of %d in runs", s.calls, len(s.got))
	}
	plan.Stores = append(plan.Stores, plan.Stores...)
	s.table, s.sites = NewTable(plan, false), nil
	m.Extend(s.table, nil)
	add(1)
	if n := len(s.table.Sites()); len(s.sites) != n+1 || s.sites[n].PC != 0x401000 {
		t.Errorf("%d sites of %d in the plan", len(s.sites), n)
	}
}
