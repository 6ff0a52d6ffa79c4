package analysis

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/session/rerun"
	"mgtrace/trace"
)

// TestPassed: what a thread tells before its call is that call's; what is the same as of the call before is kept once, and of
// what is no call's nothing is.
func TestPassed(t *testing.T) {
	var p passed
	tell := func(thread trace.ThreadID, addr trace.Addr, words ...uint64) {
		var data []byte
		for _, w := range words {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		p.note(&trace.Event{Kind: trace.KindPassed, Thread: thread, Addr: addr, Data: data})
	}
	if n := p.take(1); n != 0 {
		t.Errorf("nothing was told, and has number %d", n)
	}
	tell(1, 0x7000, 1, 2)
	tell(2, 0x9000, 9)
	tell(1, 0x7100, 3)
	first, other := p.take(1), p.take(2)
	for n, want := range map[uint32][]rerun.Object{
		0:     nil,
		first: {{Addr: 0x7000, Words: []uint64{1, 2}}, {Addr: 0x7100, Words: []uint64{3}}},
		other: {{Addr: 0x9000, Words: []uint64{9}}},
	} {
		objects, floats, _ := p.objects(n)
		if diff := cmp.Diff(want, objects); diff != "" || floats != nil {
			t.Errorf("%d: %s, %v", n, diff, floats)
		}
	}
	tell(2, 0, 7, 8)
	tell(2, 0x9000, 9)
	if objects, floats, _ := p.objects(p.take(2)); len(objects) != 1 || !cmp.Equal(floats, []uint64{7, 8}) {
		t.Errorf("with floating-point arguments: %v, %v", objects, floats)
	}
	tell(2, 0x9000, 9)
	other = p.take(2)
	tell(2, 0x9000, 9)
	if again := p.take(2); again != other {
		t.Errorf("the same is kept twice: %d, %d", other, again)
	}
	tell(2, 0x9000, 8)
	p.drop(2)
	if n := p.take(2); n != 0 {
		t.Errorf("what was no call's is that of another one: %v", p.record(n))
	}
	used := p.used
	for i := range uint64(passedPiece) * 3 { // each in a record of its own, some of which would lie across two pieces
		tell(1, 0x7000, i, i, i)
		if got, _, _ := p.objects(p.take(1)); len(got) != 1 || got[0].Words[2] != i {
			t.Fatalf("%d: %v", i, got)
		}
	}
	if p.used < used+6*3*passedPiece {
		t.Errorf("only %d words are kept", p.used-used)
	}
	if got, _, _ := p.objects(first); len(got) != 2 {
		t.Errorf("the first is %v", got)
	}
}

// TestPassedIdle: of calls during which nothing was done nothing is kept, whatever they led to, unless somebody has a copy
// of one, or another call has the same.
func TestPassedIdle(t *testing.T) {
	c := newCalls()
	calls := 0
	begin := func(thread trace.ThreadID, word uint64, now mgpp.Timestamp) {
		c.passed.note(&trace.Event{Kind: trace.KindPassed, Thread: thread, Addr: 0x7000, Data: binary.LittleEndian.AppendUint64(nil, word)})
		calls++
		c.note(thread, &eval.Activation{Function: "f", Thread: thread, Call: calls}, 0, nil, now)
	}
	has := func(number uint32, want uint64) {
		t.Helper()
		if got, _, _ := c.passed.objects(number); !cmp.Equal(got, []rerun.Object{{Addr: 0x7000, Words: []uint64{want}}}) {
			t.Errorf("%d: %v, want %d", number, got, want)
		}
	}
	begin(1, 1, 1)
	c.note(1, nil, 0, nil, 2) // it did something
	used := c.passed.used
	for i := range uint64(100) {
		begin(1, 2+i%3/2, 2)
		has(c.log.at(1).passed, 2+i%3/2)
		c.note(1, nil, 0, nil, 2)
	}
	if c.passed.used != used || c.log.len() != 1 {
		t.Errorf("%d words and %d calls are kept, want %d and 1", c.passed.used, c.log.len(), used)
	}
	has(c.log.at(0).passed, 1)

	begin(1, 4, 2)
	copied := c.current(1)
	c.note(1, nil, 0, nil, 2)
	begin(1, 5, 2)
	has(copied.passed, 4)
	begin(2, 5, 2) // the same, of another thread
	c.note(2, nil, 0, nil, 2)
	begin(2, 6, 2)
	has(c.log.at(1).passed, 5)
	has(c.log.at(2).passed, 6)
	c.note(1, nil, 0, nil, 3) // not the newest
	begin(1, 7, 3)
	has(c.log.at(1).passed, 5)
	has(c.log.at(2).passed, 6)
	has(c.log.at(3).passed, 7)
}

// TestPassedForgotten: the oldest are forgotten, and then are not known.
func TestPassedForgotten(t *testing.T) {
	var p passed
	var numbers []uint32
	data := make([]byte, 8*(passedPiece-8))
	for i := range maxPassed + 2 {
		binary.LittleEndian.PutUint64(data, uint64(i))
		p.note(&trace.Event{Kind: trace.KindPassed, Thread: 1, Addr: 0x7000, Data: data})
		numbers = append(numbers, p.take(1))
	}
	for i, n := range numbers {
		if got, kept := p.record(n), i >= 2; (got != nil) != kept {
			t.Errorf("%d of %d: %d words", i, len(numbers), len(got))
		}
	}
}

// TestBegun: with which registers an inlined call begins is told before it does; of calls within it that is dropped.
func TestBegun(t *testing.T) {
	c := newCalls()
	tell := func(thread trace.ThreadID, at trace.Addr, words ...uint64) {
		ev := &trace.Event{Kind: trace.KindPassed, Thread: thread, Addr: at}
		for _, w := range words {
			ev.Data = binary.LittleEndian.AppendUint64(ev.Data, w)
		}
		c.passed.note(ev)
	}
	outer := &eval.Activation{Function: "f", Thread: 1, Call: 1}
	tell(2, trace.RegsAddr, 4) // of another thread
	tell(1, 0x7000, 3)         // what an argument leads to
	tell(1, trace.RegsAddr, 5, 6)
	c.note(1, outer, 0, nil, 1)
	tell(1, trace.RegsAddr, 7, 8)
	c.note(1, outer, 0, nil, 1) // another one began within it
	c.note(1, nil, 0, nil, 2)
	c.note(1, &eval.Activation{Function: "g", Thread: 1, Call: 2}, 0, []uint64{1}, 2)
	for i, want := range [][]uint64{{5, 6}, nil} {
		objects, _, got := c.passed.objects(c.log.at(i).passed)
		if !cmp.Equal(got, want) || len(objects) > 0 != (i == 0) {
			t.Errorf("call %d began with %v and %v, want %v", i, got, objects, want)
		}
	}
}
