package slice

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func run(t *testing.T, prog []minst) *toy {
	t.Helper()
	s, err := record(prog, 100000)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines are the instructions, by number, that a slice has.
func lines(s *Slice) []int {
	var out []int
	for _, st := range s.Stats() {
		if pc := st.PC(); pc != 0 {
			out = append(out, int(pc-mBase)/4)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// last is the instant of the last execution of an instruction.
func (t *toy) last(inst int) uint64 {
	for i := len(t.m.executed) - 1; i >= 0; i-- {
		if t.m.executed[i] == inst {
			return uint64(i + 1)
		}
	}
	return 0
}

func TestKnown(t *testing.T) {
	const x, y, z, a, b, c = 0, 1, 2, 3, 4, 5
	for _, test := range []struct {
		name string
		prog []minst
		from int
		o    Options
		want []int
	}{
		{
			// The thesis's figure 5.1: what is computed from a is not in the slice of x
			// at the last line, what y was computed from is.
			name: "figure 5.1",
			prog: []minst{
				{op: mInput, dst: a},                          // 0: a = input
				{op: mInput, dst: b, imm: 1},                  // 1: b = input
				{op: mInput, dst: z, imm: 2},                  // 2: z = input
				{op: mMix, dst: y, a: z, b: b},                // 3: y = z + b
				{op: mMix, dst: c, a: a, b: a},                // 4: c = a + a
				{op: mStore, dst: c, a: -1, imm: 64, size: 8}, // 5: n->c = c
				{op: mMix, dst: x, a: y, b: b},                // 6: x = y + b
				{op: mStore, dst: x, a: -1, imm: 72, size: 8}, // 7: n->x = x
				{op: mEnd},
			},
			from: 7, want: []int{1, 2, 3, 6, 7},
		},
		{
			// Figure 5.3: a loop in which x = x + y: the list grows with each round, the
			// filter does not; and the slice has the loop's condition.
			name: "figure 5.3",
			prog: []minst{
				{op: mInput, dst: x},
				{op: mInput, dst: y, imm: 1},
				{op: mInput, dst: a, imm: 9}, // not of use
				{op: mMix, dst: x, a: x, b: y},
				{op: mMix, dst: b, a: x, b: x}, // the condition
				{op: mIf, a: b, target: 3},
				{op: mMix, dst: z, a: x, b: -1},
				{op: mEnd},
			},
			from: 6, want: []int{0, 1, 3, 4, 5, 6},
		},
		{
			name: "both ways meet",
			prog: []minst{
				{op: mInput, dst: a},
				{op: mIf, a: a, target: 4},
				{op: mConst, dst: x, imm: 1},
				{op: mJump, target: 5},
				{op: mConst, dst: x, imm: 2},
				{op: mConst, dst: y, imm: 3}, // not under the branch
				{op: mMix, dst: z, a: y, b: -1},
				{op: mEnd},
			},
			from: 6, want: []int{5, 6},
		},
		{
			name: "partial writes and overlaps",
			prog: []minst{
				{op: mInput, dst: a, imm: 1},
				{op: mInput, dst: b, imm: 2},
				{op: mInput, dst: c, imm: 3},
				{op: mStore, dst: a, a: -1, imm: 64, size: 8}, // covered by the next two
				{op: mStore, dst: b, a: -1, imm: 64, size: 4},
				{op: mStore, dst: c, a: -1, imm: 68, size: 4},
				{op: mLoad, dst: x, a: -1, imm: 64, size: 8},
				{op: mEnd},
			},
			from: 6, want: []int{1, 2, 4, 5, 6},
		},
		{
			name: "one byte of a register",
			prog: []minst{
				{op: mInput, dst: a, imm: 1},
				{op: mInput, dst: b, imm: 2},
				{op: mByte, dst: a, a: b, b: -1},
				{op: mStore, dst: a, a: -1, imm: 64, size: 1}, // only the byte of b
				{op: mLoad, dst: x, a: -1, imm: 64, size: 1},
				{op: mMix, dst: y, a: a, b: -1}, // both
				{op: mEnd},
			},
			from: 4, want: []int{1, 2, 3, 4},
		},
		{
			name: "a callee depends on what its call depends on",
			prog: []minst{
				{op: mInput, dst: a},
				{op: mInput, dst: c},
				{op: mConst, dst: b, imm: 1},
				{op: mIf, a: b, target: 5},
				{op: mJump, target: 6},
				{op: mCall, a: -1, target: 8},
				{op: mMix, dst: y, a: x, b: -1},
				{op: mEnd},
				{op: mMix, dst: x, a: a, b: -1}, // 8
				{op: mRet},
			},
			from: 6, want: []int{0, 2, 3, 6, 8},
		},
		{
			// What decides about nothing has met again before.
			name: "a function that is jumped to depends on the jump",
			prog: []minst{
				{op: mInput, dst: a},
				{op: mInput, dst: b},
				{op: mInput, dst: c},
				{op: mInput, dst: y}, // decides about nothing
				{op: mCall, a: -1, target: 7},
				{op: mMix, dst: z, a: x, b: -1},
				{op: mEnd},
				{op: mIf, a: c, target: 9}, // 7
				{op: mNop},
				{op: mIf, a: y, target: 11}, // 9
				{op: mNop},
				{op: mTailBy, a: a, target: 12, other: 14}, // 11
				{op: mMix, dst: x, a: b, b: -1},
				{op: mRet},
				{op: mMix, dst: x, a: b, b: b}, // 14
				{op: mRet},
			},
			from: 5, want: []int{0, 1, 5, 11, 12},
		},
		{
			name: "behind the return from a function that was jumped to",
			prog: []minst{
				{op: mInput, dst: a},
				{op: mInput, dst: b},
				{op: mCall, a: -1, target: 6},
				{op: mMix, dst: x, a: b, b: -1},
				{op: mMix, dst: z, a: x, b: -1},
				{op: mEnd},
				{op: mTailBy, a: a, target: 7, other: 7}, // 6
				{op: mRet},
			},
			from: 4, want: []int{1, 3, 4},
		},
		{
			name: "without addresses",
			prog: []minst{
				{op: mInput, dst: a},
				{op: mInput, dst: b, imm: 2},
				{op: mStore, dst: b, a: a, imm: 64, size: 8},
				{op: mLoad, dst: x, a: a, imm: 64, size: 8},
				{op: mEnd},
			},
			from: 3, o: Options{NoAddress: true}, want: []int{1, 2, 3},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := run(t, test.prog)
			_, sl := three(t, s, s.last(test.from), test.o)
			if d := cmp.Diff(test.want, lines(sl)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A function saves a register that it uses, and restores it: what its caller keeps
// in the register does not come from there.
func TestRestores(t *testing.T) {
	const x, y, z = 0, 1, 2
	s := run(t, []minst{
		{op: mInput, dst: x},
		{op: mCall, a: -1, target: 4},
		{op: mMix, dst: z, a: x, b: -1},
		{op: mEnd},
		{op: mPush, dst: x}, // 4
		{op: mInput, dst: x, imm: 7},
		{op: mMix, dst: y, a: x, b: -1},
		{op: mPop, dst: x},
		{op: mRet},
	})
	for restores, want := range map[bool][]int{true: {0, 2, 4, 7}, false: {0, 2}} {
		x, _ := indexed(t, s, BuildOptions{Restores: restores})
		sl, err := x.Backward(context.Background(), at(t, x, s.last(2)), Options{NoAddress: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, lines(sl)); d != "" {
			t.Errorf("restores %v (-want +got):\n%s", restores, d)
		}
	}
}

// Registers are after a signal handler what they were before it, whatever it did
// to them; memory is not.
func TestSignal(t *testing.T) {
	const x, y, z, w = 0, 1, 2, 3
	s := &toy{m: newMachine([]minst{
		{op: mInput, dst: x},
		{op: mIf, a: x, target: 2}, // the signal comes behind it
		{op: mLoad, dst: z, a: -1, imm: 64, size: 8},
		{op: mMix, dst: y, a: x, b: z},
		{op: mEnd},
		{op: mInput, dst: x, imm: 5}, // the handler
		{op: mInput, dst: w, imm: 6},
		{op: mStore, dst: w, a: -1, imm: 64, size: 8},
		{op: mEnd},
	})}
	add := func(e *Event) error { s.events = append(s.events, *e); return nil }
	m := s.m
	if err := m.run(2, add); err != nil {
		t.Fatal(err)
	}
	pc, regs := m.pc, m.regs
	m.pc = 5
	_ = add(&Event{Kind: Interrupted, Thread: 1, Instant: m.instant, Handler: mPC(5)})
	if err := m.run(100, add); err != nil {
		t.Fatal(err)
	}
	m.pc, m.regs = pc, regs
	_ = add(&Event{Kind: Resumed, Thread: 1, Instant: m.instant})
	if err := m.run(100, add); err != nil {
		t.Fatal(err)
	}
	_, sl := three(t, s, s.last(3), Options{})
	if d := cmp.Diff([]int{0, 2, 3, 6, 7}, lines(sl)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What was in memory is at another address, and no more where it was.
func TestMoved(t *testing.T) {
	const a, b, c, d, x, y, z = 0, 1, 2, 3, 4, 5, 6
	s := &toy{m: newMachine([]minst{
		{op: mInput, dst: a},
		{op: mInput, dst: b, imm: 1},
		{op: mInput, dst: c, imm: 2},
		{op: mInput, dst: d, imm: 3},
		{op: mStore, dst: a, a: -1, imm: 0x1040, size: 8},
		{op: mStore, dst: b, a: -1, imm: 0x1048, size: 8},
		{op: mStore, dst: c, a: -1, imm: 0x1ffc, size: 4}, // the end of the page
		{op: mStore, dst: d, a: -1, imm: 0x6000, size: 4}, // it will come before this
		{op: mLoad, dst: x, a: -1, imm: 0x5040, size: 8},
		{op: mLoad, dst: y, a: -1, imm: 0x1048, size: 8},
		{op: mMix, dst: x, a: x, b: y},
		{op: mLoad, dst: z, a: -1, imm: 0x5ffc, size: 8},
		{op: mEnd},
	})}
	add := func(e *Event) error { s.events = append(s.events, *e); return nil }
	if err := s.m.run(8, add); err != nil {
		t.Fatal(err)
	}
	_ = add(&Event{Kind: Moved, Thread: 1, Instant: s.m.instant, Mem: []Mem{{0x5000, 0x1000}, {0x1000, 0x1000}}})
	if err := s.m.run(100, add); err != nil {
		t.Fatal(err)
	}
	for inst, want := range map[int][]int{10: {0, 4, 8, 9, 10}, 11: {2, 3, 6, 7, 11}} {
		if _, sl := three(t, s, s.last(inst), Options{}); !slices.Equal(lines(sl), want) {
			t.Errorf("instruction %d: %v, want %v", inst, lines(sl), want)
		}
	}
}

// An instruction that faults depends on what it had been given, and on the branch that
// led to it: also if it is the first of a function.
func TestFault(t *testing.T) {
	const x, y, z, w = 0, 1, 2, 3
	prog := []minst{
		{op: mInput, dst: x},
		{op: mInput, dst: y, imm: 1},
		{op: mInput, dst: z, imm: 2},
		{op: mConst, dst: w, imm: 1},
		{op: mIf, a: w, target: 6},
		{op: mJump, target: 7},
		{op: mCall, a: -1, target: 8},
		{op: mEnd},
		{op: mMix, dst: z, a: x, b: y}, // 8
		{op: mRet},
	}
	gap := Event{Kind: Lost, Thread: 1}
	for _, test := range []struct {
		name  string
		after uint64 // instructions
		pc    int
		then  []Event // before the fault, and after it
		want  []int   // nil: there is no fault
	}{
		{"behind a branch", 5, 6, nil, []int{0, 3, 4}},
		{"in a function that was called", 6, 8, nil, []int{0, 3, 4}},
		{"in straight code", 2, 2, nil, []int{0}},
		{"behind a gap", 5, 6, []Event{gap}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &toy{m: newMachine(prog)}
			add := func(e *Event) error { s.events = append(s.events, *e); return nil }
			if err := s.m.run(test.after, add); err != nil {
				t.Fatal(err)
			}
			s.events = append(s.events, test.then...)
			_ = add(&Event{
				Kind: Faulted, Thread: 1, Instant: s.m.instant, Regs: whole(x),
				Cause: Cause{Kind: Fault, Number: 11, PC: mPC(test.pc)},
			})
			x, _ := indexed(t, s, BuildOptions{})
			n, err := x.Fault()
			if err != nil || (n == 0) != (test.want == nil) {
				t.Fatal(n, err)
			}
			if n == 0 {
				return
			}
			if a, err := x.At(n); err != nil || a.Piece.Cause != (Cause{Fault, 11, mPC(test.pc)}) {
				t.Error(a.Piece.Cause, err)
			}
			_, sl := threeFrom(t, s, func(*Index) Criteria { return Criteria{n} }, Options{})
			if d := cmp.Diff(test.want, lines(sl)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}

	// Who goes on was not killed.
	s := &toy{m: newMachine(prog)}
	add := func(e *Event) error { s.events = append(s.events, *e); return nil }
	if err := s.m.run(2, add); err != nil {
		t.Fatal(err)
	}
	_ = add(&Event{Kind: Faulted, Thread: 1, Instant: s.m.instant, Cause: Cause{Kind: Fault, Number: 17, PC: mPC(2)}})
	if err := s.m.run(100, add); err != nil {
		t.Fatal(err)
	}
	idx, _ := indexed(t, s, BuildOptions{})
	if n, err := idx.Fault(); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := idx.LastFault(); n == 0 || err != nil {
		t.Error(n, err)
	}
}

// A thread has its registers from the one that began it, and depends on how it did
// that (2 stands for the system call); memory is everybody's. A
// gap ends all that is known.
func TestThreads(t *testing.T) {
	const x, y, z, w = 0, 1, 2, 3
	s := &toy{m: newMachine([]minst{
		{op: mInput, dst: x},
		{op: mInput, dst: y, imm: 1},
		{op: mEnd},
		{op: mMix, dst: z, a: x, b: -1}, // 3: the thread
		{op: mInput, dst: y, imm: 2},
		{op: mStore, dst: z, a: -1, imm: 64, size: 8},
		{op: mEnd},
		{op: mLoad, dst: w, a: -1, imm: 64, size: 4}, // 7: the first goes on
		{op: mMix, dst: w, a: w, b: y},
		{op: mEnd},
		{op: mMix, dst: w, a: w, b: y}, // 10: behind the gap
		{op: mEnd},
	})}
	add := func(e *Event) error { s.events = append(s.events, *e); return nil }
	m := s.m
	go1 := func(pc int) {
		m.pc = pc
		if err := m.run(1000, add); err != nil {
			t.Fatal(err)
		}
	}
	go1(0)
	_ = add(&Event{Kind: Started, Thread: 2, Parent: 1})
	m.thread = 2
	go1(3)
	_ = add(&Event{Kind: Ended, Thread: 2})
	m.thread = 1
	go1(7)
	_ = add(&Event{Kind: Lost, Thread: 1, Instant: m.instant})
	go1(10)
	_, sl := three(t, s, s.last(8), Options{})
	if d := cmp.Diff([]int{0, 1, 2, 3, 5, 7, 8}, lines(sl)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	_, sl = three(t, s, s.last(10), Options{})
	if d := cmp.Diff([]int{10}, lines(sl)); d != "" {
		t.Errorf("behind a gap (-want +got):\n%s", d)
	}
	if n := len(sl.Stats()); n != 2 {
		t.Errorf("%d ops, want 2: the gap is one", n)
	}
}

// What a thread had in its registers is let go of when it has ended: programs make one for
// each request.
func TestManyThreads(t *testing.T) {
	const x = 0
	s := &toy{m: newMachine([]minst{{op: mInput, dst: x}, {op: mEnd}, {op: mStore, dst: x, a: -1, imm: 64, size: 8}, {op: mEnd}})}
	m := s.m
	for thread := range uint32(100) {
		m.thread = 1
		for _, e := range []Event{{Kind: Started, Thread: 2 + thread, Parent: 1}, {Kind: Executed}, {Kind: Ended, Thread: 2 + thread}} {
			if e.Kind != Executed {
				s.events = append(s.events, e)
				continue
			}
			for _, pc := range []int{0, 2} {
				m.pc = pc
				if err := m.run(1000, func(e *Event) error { s.events = append(s.events, *e); return nil }); err != nil {
					t.Fatal(err)
				}
				m.thread = 2 + thread
			}
		}
	}
	p, err := NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(io.Discard, BuildOptions{}, p.limits.shapes)
	if err := b.build(p); err != nil {
		t.Fatal(err)
	}
	if len(b.regs) != 1 {
		t.Errorf("the registers of %d threads, want those of the first", len(b.regs))
	}
	// The last thread stored what the first one had when it began it.
	_, sl := three(t, s, s.last(2), Options{})
	if d := cmp.Diff([]int{0, 1, 2}, lines(sl)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
