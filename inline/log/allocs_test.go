package log

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
)

// allocated makes a KindAlloc of a call that returns to ret. number is that of its stack.
func allocated(index int, number uint32, ret, sp, ptr, bytes, result, stamp, time uint64) []byte {
	b := special(layout.KindAlloc, layout.AllocSize, stamp, time)
	binary.LittleEndian.PutUint32(b[layout.AllocFunc:], uint32(index))
	binary.LittleEndian.PutUint32(b[layout.AllocKnown:], number)
	for at, v := range map[int]uint64{
		layout.AllocRet: ret, layout.AllocSP: sp, layout.AllocPtr: ptr, layout.AllocBytes: bytes, layout.AllocResult: result,
	} {
		binary.LittleEndian.PutUint64(b[at:], v)
	}
	return b
}

// allocLog is a log of stores, copies and calls of allocators.
func allocLog(rnd *rand.Rand, plan *probe.Plan, thread, n int) (log []byte) {
	time := uint64(0)
	for i := range n {
		time += uint64(rnd.IntN(20) / 19)
		stamp := uint64(2*i + thread)
		pc := uint64(0x401000 + 16*rnd.IntN(6))
		block := uint64(0x50000 + 16*rnd.IntN(100))
		switch k := rnd.IntN(8); {
		case k == 0, i == 0: // a stamp: what comes before could be in either order
			log = append(log, written(layout.WriteBulk, 0, pc, block, []byte{1, 2, 3}, stamp, time)...)
		case k < 5:
			bytes, result := uint64(rnd.IntN(5000)), block
			if rnd.IntN(9) == 0 {
				result = 0
			}
			index := 1 + rnd.IntN(4)
			r := allocated(index, uint32(rnd.IntN(4)), pc, 0x7000+uint64(rnd.IntN(3))<<12, uint64(rnd.IntN(2))*(block+16), bytes, result, stamp, time)
			if rnd.IntN(9) == 0 { // with a stack
				binary.LittleEndian.PutUint32(r[layout.AllocKnown:], 0)
				r = append(r, make([]byte, layout.AllocStack+64-len(r))...)
				binary.LittleEndian.PutUint32(r[4:], uint32(len(r)))
			}
			log = append(log, r...)
		default:
			log = append(log, storeRecord{index: rnd.IntN(4), addr: block, value: bytesOf(rnd.Uint64()), base: block}.bytes(plan, false)...)
		}
	}
	return log
}

// TestAllocs: calls of allocators in runs are the events that they are as hits.
func TestAllocs(t *testing.T) {
	stacks := [][]trace.Addr{{0x401000, 0x402000}, {0x401010}, {0x401020, 0x402000, 0x403000}}
	known := func(number uint32) []trace.Addr { return stacks[number-1] }
	taken := 0
	for seed := range uint64(30) {
		var want []string
		for _, runs := range []bool{false, true} {
			plan := testPlan()
			plan.Funcs = []probe.Func{
				{Name: "memcpy", Role: probe.RoleWriter}, {Name: "malloc", Role: probe.RoleMalloc}, {Name: "calloc", Role: probe.RoleCalloc},
				{Name: "realloc", Role: probe.RoleRealloc}, {Name: "free", Role: probe.RoleFree}, {Name: "watched", Role: probe.RoleWatch},
			}
			if seed%3 == 2 { // until a hit shows that it was left
				plan.Open = []probe.OpenCall{{Thread: 1, Func: 5, SP: 0x8800, Ret: 0x405000}}
			}
			if seed%7 == 6 { // the books of such are kept
				plan.Funcs[1].Declared = true
			}
			var got []string
			out := assembly{}
			out.Assembler = capture.New(plan, nil, nil, func(e *trace.Event) error {
				got = append(got, fmt.Sprintf("%s wall=%d", trace.Format(*e), e.Wall))
				return nil
			})
			table := NewTable(plan, false)
			sites := table.Sites()
			keep := func(run *trace.Stores) error {
				for i := range run.Recs {
					var e trace.Event
					run.Event(i, sites, &e)
					got = append(got, fmt.Sprintf("%s wall=%d", trace.Format(e), e.Wall))
					if sites[run.Recs[i].Site].Kind != 0 {
						taken++
					}
				}
				return nil
			}
			out.Runs(sites, keep)
			o := Options{Clock: Clock{Mult: 1 << 32}, Known: known, Calls: func(fresh []trace.StoreSite) error {
				sites = append(sites[:len(sites):len(sites)], fresh...)
				out.RunCalls(fresh)
				return nil
			}}
			if runs {
				o.Allocs = out.Plain
			}
			m := NewMerger(table, o, out)
			rnd := rand.New(rand.NewPCG(seed, 4))
			for id := 1; id <= 1+int(seed%2); id++ {
				m.Start(trace.ThreadID(id), 0, Range{})
				if err := m.Add(trace.ThreadID(id), allocLog(rnd, plan, id, 800), false); err != nil {
					t.Fatal(err)
				}
			}
			for _, err := range []error{m.Cut(900), m.Finish()} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if !runs {
				want = got
				continue
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d (-hits +runs)\n%s", seed, d)
			}
		}
	}
	if taken < 3000 {
		t.Errorf("%d came in runs", taken)
	}
}

// assembly is an assembler as a sink.
type assembly struct{ *capture.Assembler }

// TestAllocsBounded: beyond so many stacks they come as hits.
func TestAllocsBounded(t *testing.T) {
	plan := testPlan()
	plan.Funcs = []probe.Func{{Name: "malloc", Role: probe.RoleMalloc}}
	s := &recorder{table: NewTable(plan, false)}
	m := NewMerger(s.table, Options{Calls: s.tell, Allocs: func(trace.ThreadID) bool { return true }}, s)
	m.Start(1, 0, Range{})
	m.calls.allocs = maxAllocs - 5
	var log []byte
	for i := range 8 {
		log = append(log, allocated(0, 0, 0x401000+uint64(i), 0x7000, 0, 8, 16, 0, 0)...)
	}
	if err := m.Add(1, log, false); err != nil {
		t.Fatal(err)
	}
	if err := m.Cut(0); err != nil {
		t.Fatal(err)
	}
	if len(s.got) != 8 || s.calls != 5 {
		t.Errorf("%d calls of %d in runs", s.calls, len(s.got))
	}
}
