package eval_test

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// Verdict is that of Eval, at any time and on hypothetical views, whatever was asked before; and it takes less.
func TestVerdict(t *testing.T) {
	full, brief := uint64(0), uint64(0)
	each(t, 2, func(t *testing.T, s *script) {
		for range 300 {
			s.step()
		}
		now := s.h.Now()
		list := s.c.Broken(s.h.At(now))
		for t := now / 2; t < now/2+8; t++ {
			list = append(append(list, s.c.Touched(t)...), s.c.Broken(s.h.At(t))...)
		}
		other := eval.NewChecker(s.spec, s.h, graph.New(s.spec, s.h, s.world, graph.Options{}), eval.Options{})
		for range 200 {
			if len(list) == 0 {
				break
			}
			i, at := list[s.r.IntN(len(list))], 1+mgpp.Timestamp(s.r.IntN(int(now)))
			if s.r.IntN(3) == 0 {
				at = now // where the checker's own state is
			}
			view := s.h.At(at)
			if s.r.IntN(3) == 0 {
				view = s.h.Without(view, max(1, at-mgpp.Timestamp(s.r.IntN(3))))
			}
			want := other.Eval(i, view).Verdict
			if got := s.c.Verdict(i, view); got != want {
				t.Fatalf("at %d: %v is %d, want %d", at, i, got, want)
			}
			if s.r.IntN(4) == 0 {
				s.c.Eval(i, view)
				began := s.c.Work()
				s.c.Eval(i, view)
				then := s.c.Work()
				s.c.Verdict(i, view)
				full, brief = full+then-began, brief+s.c.Work()-then
			}
			if s.r.IntN(8) == 0 {
				s.c.Broken(s.h.At(max(1, at-1)))
			}
		}
	})
	if brief > full/2 {
		t.Errorf("verdicts took %d steps, evaluations %d", brief, full)
	}
}

// TestVerdictLeavesAlone: what is known of the views that are evaluated is not taken away for a verdict at another time.
func TestVerdictLeavesAlone(t *testing.T) {
	again, after := uint64(0), uint64(0)
	each(t, 1, func(t *testing.T, s *script) {
		for range 300 {
			s.step()
		}
		now := s.h.Now()
		list := s.c.Broken(s.h.At(now))
		s.c.Broken(s.h.At(now / 4)) // the checker's own state is elsewhere
		for n, i := range list {
			if n == 16 {
				break
			}
			cost := func() uint64 {
				began := s.c.Work()
				s.c.Eval(i, s.h.At(now))
				return s.c.Work() - began
			}
			cost()
			again += cost()
			for at := mgpp.Timestamp(1); at < 10; at++ {
				s.c.Verdict(i, s.h.At(now-20*at))
			}
			after += cost()
		}
	})
	if after > again+again/10 { // the sets that roots reach move on
		t.Errorf("evaluated again it took %d steps, behind verdicts %d", again, after)
	}
}
