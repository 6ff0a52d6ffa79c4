package eval_test

import (
	"slices"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// forgetful keeps nothing of what lies beneath attributes.
type forgetful struct{ *eval.Checker }

func (m forgetful) Beneath(d eval.Dep, v mgpp.View) []eval.Dep {
	return eval.ReadsAnew(m.Checker, d, v)
}

// TestLeavesThereAndBack: what lies beneath attributes is kept from time to time only where it is the same.
func TestLeavesThereAndBack(t *testing.T) {
	some := 0
	each(t, 3, func(t *testing.T, s *script) {
		for range 120 {
			s.step()
		}
		at := s.h.Now()
		for range 60 {
			v := s.h.At(at)
			for _, inc := range s.c.All(v) {
				leaves := func(m eval.Model) (out []eval.Dep) {
					eval.Leaves(m, s.c.Eval(inc.Instance, v).Deps, v, func(d eval.Dep) bool {
						out = append(out, d)
						return true
					})
					return out
				}
				got := leaves(s.c)
				if want := leaves(forgetful{s.c}); !slices.Equal(got, want) {
					t.Fatalf("at %d, of %v:\n%v\nread anew\n%v", at, s.lines([]eval.Inconsistency{inc}), got, want)
				}
				some += len(got)
			}
			at = mgpp.Timestamp(max(1, min(int(at)+s.r.IntN(9)-5, int(s.h.Now()))))
		}
	})
	if some == 0 {
		t.Error("nothing lay beneath anything: the test tests nothing")
	}
}
