package eval

import (
	"math/rand/v2"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/syntax"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What is counted of a thread's open activations is what looking through them tells, whatever came before: in a recursion
// without end there are too many to look through at each call.
func TestOpenActivations(t *testing.T) {
	tree, errs := syntax.Parse("t.cons", "struct a { struct a *p; }; type a; a X; X.INDEGREE >= 0; cpoint insert;")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	spec, errs := check.Check(tree, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	prog := &trace.Program{
		Funcs: []trace.Func{{Name: "insert"}, {Name: "height"}, {Name: "rotate"}},
		Points: []trace.Point{
			{Kind: "inline-entry", Func: 1, Function: "insert", File: "m.c", Line: 20},
			{Kind: "inline-exit", Func: 1, Function: "insert", File: "m.c", Line: 20},
			{Kind: "inline-entry", Func: 2, Function: "height", File: "m.c", Line: 30},
			{Kind: "inline-exit", Func: 2, Function: "height", File: "m.c", Line: 30},
		},
	}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := NewSchedule(spec, prog)
		for now := range mgpp.Timestamp(400) {
			ev := trace.Event{Thread: trace.ThreadID(1 + r.IntN(3)), SP: trace.Addr(0x1000 - 0x10*r.IntN(20))}
			switch k := r.IntN(20); {
			case k < 8:
				ev.Kind, ev.Aux = trace.KindCall, uint64(1+r.IntN(4)) // 4: the program has not got it
			case k < 13:
				ev.Kind, ev.Aux = trace.KindReturn, uint64(1+r.IntN(4))
			case k < 19:
				ev.Kind, ev.Aux = trace.KindLine, uint64(1+r.IntN(len(prog.Points)))
			default:
				ev.Kind = trace.KindThreadExit
			}
			s.Event(&ev, now)
			for id := trace.ThreadID(1); id <= 3; id++ {
				if x := s.threads.Find(id); x != nil {
					compareOpen(t, s, x)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d, event %d: %+v", seed, now, ev)
			}
		}
	}
}

func compareOpen(t *testing.T, s *Schedule, x *scheduled) {
	t.Helper()
	points, open := 0, map[trace.FuncID]int{}
	for i := range x.stack {
		open[x.stack[i].fn]++
		if len(s.pointsOf(x.stack[i].fn)) > 0 {
			points++
		}
	}
	if x.points != points {
		t.Errorf("%d activations of C-point functions, counted %d", points, x.points)
	}
	for fn := range trace.FuncID(6) {
		if got, want := x.inside(fn), open[fn] > 0; got != want {
			t.Errorf("inside function %d: %v, want %v", fn, got, want)
		}
	}
}
