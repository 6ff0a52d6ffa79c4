package eval_test

import (
	"testing"

	"mgtrace/constraints/eval"

	"github.com/google/go-cmp/cmp"
)

// What is surely healthy is so: a check from scratch that is sure of nothing finds the same, and guards
// that hold in it hold in the other.
func TestSurely(t *testing.T) {
	sure := map[string]int{}
	each(t, 24, func(t *testing.T, s *script) {
		slow := eval.NewChecker(s.spec, s.h, s.g, eval.Options{})
		eval.Unsure(slow)
		for range 60 {
			for range 1 + s.r.IntN(6) {
				s.step()
			}
			now := s.h.Now()
			s.c.Check(now, nil) // step by step, and now and then from scratch
			if s.r.IntN(2) > 0 {
				if d := cmp.Diff(s.lines(eval.Scratch(slow, s.h.At(now))), s.lines(s.all())); d != "" {
					t.Fatalf("at %d (-unsure +sure):\n%s", now, d)
				}
			}
			n, wrong := eval.Sure(s.c)
			if sure[t.Name()] += n; wrong != "" {
				t.Fatalf("at %d: %s", now, wrong)
			}
		}
		for i := range s.spec.Constraints {
			if slow.GuardHeld(i) && !s.c.GuardHeld(i) {
				t.Fatalf("the guard of %s held, and it is not known", s.spec.Constraints[i].Label)
			}
		}
	})
	for _, name := range []string{"list", "tree", "entered", "apart", "embed", "ways", "cells", "arrays"} {
		if sure["TestSurely/"+name] == 0 {
			t.Errorf("%s: nothing was ever sure: the test tests nothing", name)
		}
	}
}
