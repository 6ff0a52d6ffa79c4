package analysis

import (
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestInnerCalls: the call in another one that returns is known by its arguments; the outermost, which the log has, is not asked for, and of what a long jump has left
// nothing remains.
func TestInnerCalls(t *testing.T) {
	prog := &trace.Program{Funcs: []trace.Func{{Name: "outer"}, {Name: "inner"}}}
	s := eval.NewSchedule(&check.Spec{CPoints: []check.CPoint{{Func: "outer", Exit: true}, {Func: "inner", Exit: true}}}, prog)
	var c innerCalls
	type step struct {
		kind trace.Kind
		fn   uint64
		sp   trace.Addr
		args []uint64
		want []uint64 // of the call that returned; nil: it is not known
	}
	for i, x := range []step{
		{trace.KindCall, 1, 900, []uint64{1}, nil},
		{trace.KindCall, 2, 800, []uint64{2, 3}, nil},
		{trace.KindReturn, 2, 800, nil, []uint64{2, 3}},
		{trace.KindCall, 2, 800, []uint64{4}, nil},
		{trace.KindCall, 2, 700, []uint64{5}, nil},
		{trace.KindReturn, 2, 800, nil, []uint64{4}}, // over the one that was called from there
		{trace.KindReturn, 1, 900, nil, nil},
		{trace.KindCall, 2, 900, []uint64{6}, nil},
		{trace.KindReturn, 2, 900, nil, nil},
	} {
		ev := trace.Event{Kind: x.kind, Aux: x.fn, SP: x.sp, Thread: 1, Args: x.args}
		var got []uint64
		for _, p := range s.Event(&ev, mgpp.Timestamp(i)) {
			k := c.returning(&p, s.Innermost(1), mgpp.Timestamp(i))
			got = k.args
			if got != nil && (k.Function != "inner" || k.to != mgpp.Timestamp(i) || k.from >= k.to) {
				t.Errorf("step %d: %+v", i, k)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("step %d: %v, want %v", i, got, x.want)
		}
		c.note(1, s.Innermost(1), ev.Args, mgpp.Timestamp(i))
	}
}

// TestInnerCallsDeep: of a deep recursion the outer calls are kept, and none is taken for another.
func TestInnerCallsDeep(t *testing.T) {
	prog := &trace.Program{Funcs: []trace.Func{{Name: "f"}}}
	s := eval.NewSchedule(&check.Spec{CPoints: []check.CPoint{{Func: "f", Exit: true, Each: true}}}, prog)
	var c innerCalls
	const depth = maxInner + 9
	for i := range uint64(depth) {
		ev := trace.Event{Kind: trace.KindCall, Aux: 1, SP: trace.Addr(10000 - i), Thread: 1}
		s.Event(&ev, 0)
		c.note(1, s.Innermost(1), []uint64{i}, mgpp.Timestamp(i))
	}
	for i := uint64(depth - 1); i > 0; i-- {
		ev := trace.Event{Kind: trace.KindReturn, Aux: 1, SP: trace.Addr(10000 - i), Thread: 1}
		for _, p := range s.Event(&ev, 0) {
			k := c.returning(&p, s.Innermost(1), depth)
			if known := i < maxInner; known != slices.Equal(k.args, []uint64{i}) || !known && k.args != nil {
				t.Errorf("call %d: %v", i, k.args)
			}
		}
		c.note(1, s.Innermost(1), nil, depth)
	}
}
