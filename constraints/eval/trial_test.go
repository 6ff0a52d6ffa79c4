package eval_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
)

// TestHopeless: where all is to be cured, nothing is evaluated any more once something stays broken.
func TestHopeless(t *testing.T) {
	any, all := uint64(0), uint64(0)
	each(t, 2, func(t *testing.T, s *script) {
		for range 120 {
			s.step()
		}
		now := s.h.Now()
		n := len(s.c.Broken(s.h.At(now)))
		for range 10 {
			v := s.hypothesis(now)
			cost := func(lead int) uint64 {
				began := s.c.Work()
				s.c.Cures(v, lead)
				return s.c.Work() - began
			}
			cost(0) // what is known of times before it is taken over
			all, any = all+cost(n), any+cost(-n)
		}
	})
	if 10*all > 9*any {
		t.Errorf("where all is to be cured a trial takes %d steps, else %d", all, any)
	}
}

// TestDiffer: of lists in order, and of lists in none, the same is told.
func TestDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func() (out []eval.Instance) {
		for k := range 12 {
			if r.IntN(2) == 0 {
				i := eval.Instance{Constraint: k / 4, Nodes: [4]graph.ObjID{graph.ObjID(k % 2)}}
				i.Index[0] = int64(k % 4)
				out = append(out, i)
			}
		}
		slices.SortFunc(out, eval.Instance.Compare)
		return out
	}
	mixed := func(list []eval.Instance) []eval.Instance {
		out := slices.Clone(list)
		r.Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
		return out
	}
	for range 200 {
		before, after := some(), some()
		cured, created := eval.Differ(before, after)
		cured2, created2 := eval.Differ(mixed(before), mixed(after))
		for _, l := range [2][]eval.Instance{cured2, created2} {
			slices.SortFunc(l, eval.Instance.Compare)
		}
		if !slices.Equal(cured, cured2) || !slices.Equal(created, created2) {
			t.Fatalf("%v and %v: cured %v, %v; created %v, %v", before, after, cured, cured2, created, created2)
		}
	}
}
