package faultloc

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// dated is a model of which each instance is what it is since the time that its node has as a number; every third depends on much.
type dated struct {
	eval.Model
	asked map[eval.Instance]int
}

func (m dated) View(mgpp.Timestamp) mgpp.View { return nil }
func (m dated) Eval(i eval.Instance, _ mgpp.View) eval.Result {
	m.asked[i]++
	return eval.Result{Deps: []eval.Dep{{Obj: i.Nodes[0]}}}
}
func (m dated) Weight(deps []eval.Dep, _ mgpp.Timestamp, most int) int {
	if deps[0].Obj%3 == 1 {
		return most + 1
	}
	return 1
}
func (m dated) LastChange(d eval.Dep, _ mgpp.Timestamp) mgpp.Timestamp { return mgpp.Timestamp(d.Obj) }

// TestOldest: of as many instances as a program has left that was led astray few are looked at, and those that depend on much once.
func TestOldest(t *testing.T) {
	const n, bound = 1 << 18, 1 << 10
	m := &moments{in: &Input{Model: dated{asked: map[eval.Instance]int{}}}, heavy: map[eval.Instance]bool{}}
	asked := m.in.Model.(dated).asked
	looked := 0
	broken := func(i int) eval.Instance {
		looked++
		x := eval.Instance{Constraint: i / (n - 5)} // five of the second constraint
		x.Nodes[0] = graph.ObjID(n + 7 - i)
		return x
	}
	for range 2 {
		looked = 0
		got := m.oldest(n, broken, n+8)
		if len(got) != 2 || got[0].Constraint != 0 || got[1].Constraint != 1 || got[1].Nodes[0] != 8 {
			t.Errorf("%v", got)
		}
		if looked > bound {
			t.Errorf("%d of %d were looked at", looked, n)
		}
	}
	for i, times := range asked {
		if heavy := i.Nodes[0]%3 == 1; heavy != (times == 1) {
			t.Errorf("%v was asked %d times", i, times)
		}
	}
}
