package faultloc

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// counter counts what the search asks of the checker.
type counter struct {
	*eval.Checker
	evals, wholes, trials int
}

func (c *counter) Eval(i eval.Instance, v mgpp.View) eval.Result {
	c.evals++
	return c.Checker.Eval(i, v)
}

func (c *counter) Broken(v mgpp.View) []eval.Instance {
	c.wholes++
	return c.Checker.Broken(v)
}

func (c *counter) Cures(v mgpp.View, lead int) (cured, created []eval.Instance, ok bool) {
	c.trials++
	return c.Checker.Cures(v, lead)
}

// TestCost: the search costs what the operations that can matter cost, not what
// the history or the structure does.
func TestCost(t *testing.T) {
	measure := func(nodes, stores int) (c counter, examined int) {
		w := newWorld(t, listSpecDL)
		w.run(insertions(nodes))
		w.run("50: n3.key = 500")
		var b strings.Builder
		for i := range stores {
			fmt.Fprintf(&b, "60: n%d.key = %d\n", 5+i%5, 95-i%5)
		}
		w.run(b.String())
		in := w.input()
		c.Checker = w.checker
		in.Model = &c
		r := Locate(in)
		if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
			t.Errorf("%d nodes, %d stores: %s", nodes, stores, summary(r))
		}
		return c, r.Examined
	}
	small, examined := measure(12, 10)
	for _, size := range [][2]int{{12, 4000}, {800, 10}} {
		large, n := measure(size[0], size[1])
		if large.evals > small.evals+8 || large.trials > small.trials+32 || large.wholes > 0 || n > examined+1 {
			t.Errorf("%d nodes, %d stores: %d evaluations, %d trials, %d whole checks, %d operations examined; with 12 nodes and 10 stores %d, %d, %d, %d",
				size[0], size[1], large.evals, large.trials, large.wholes, n, small.evals, small.trials, small.wholes, examined)
		}
	}
}

// TestBudget: where every trial is dear, the search ends and says what it has.
func TestBudget(t *testing.T) {
	w := newWorld(t, listSpecDL)
	w.run(insertions(40))
	w.run("50: n20.next = n39") // a cycle: every trial looks at the whole graph
	in := w.input()
	r := Locate(in)
	if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
		t.Errorf("%s: %s", w.found(in), summary(r))
		w.show(r)
	}
	if r.Trials > maxTrials {
		t.Errorf("%d trials", r.Trials)
	}
}

// TestStop: wherever it is stopped the search ends soon, and what it says then is a
// part of what it would have said.
func TestStop(t *testing.T) {
	world := func() *world {
		w := newWorld(t, listSpecDL)
		w.run(insertions(40))
		w.run("50: n20.next = n39")
		return w
	}
	full := world()
	all := map[string]bool{}
	for _, s := range Locate(full.input()).Suspects {
		all[full.input().Statement(s.PC)] = true
	}
	stopped := 0
	for _, asked := range []int{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 1 << 30} {
		w := world()
		in := w.input()
		left := asked
		w.checker.Heed(func() bool { left--; return left < 0 })
		in.Stopped = w.checker.Stopped
		r := Locate(in)
		if r.Stopped != w.checker.Stopped() || asked == 1<<30 && r.Stopped {
			t.Errorf("asked %d times: stopped %v", asked, r.Stopped)
		}
		if r.Stopped {
			stopped++
			before := w.checker.Work()
			if w.checker.All(w.checker.View(in.At)) != nil || w.checker.Work() != before {
				t.Errorf("asked %d times: evaluates on", asked)
			}
		}
		for _, s := range r.Suspects {
			if !all[in.Statement(s.PC)] {
				t.Errorf("asked %d times: %d is suspected, and not in the whole answer", asked, s.PC)
			}
		}
	}
	if stopped < 5 {
		t.Errorf("stopped %d times only", stopped)
	}
}
