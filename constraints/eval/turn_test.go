package eval_test

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Who asks about two times in turn that lie far from each other, and about times near them, gets the answers of a
// checker that knows nothing yet, on hypothetical views as well.
func TestTurn(t *testing.T) {
	far, cheaper := 0, 0
	each(t, 2, func(t *testing.T, s *script) {
		for range 600 {
			s.step()
		}
		now := s.h.Now()
		times := [2]mgpp.Timestamp{now / 4, now - 1}
		var cost [2]uint64
		for n := range 12 {
			at := max(1, times[n%2]+mgpp.Timestamp(s.r.IntN(5))-2)
			if n < 4 {
				at = times[n%2]
			}
			view := s.h.At(min(at, now))
			if n > 6 {
				view = s.h.Without(view, max(1, view.Time()-mgpp.Timestamp(s.r.IntN(3))))
			}
			fresh := eval.NewChecker(s.spec, s.h, graph.New(s.spec, s.h, s.world, graph.Options{}), eval.Options{})
			began := s.c.Work()
			want, got := fresh.Broken(view), s.c.Broken(view)
			if n < 4 {
				cost[n/2] += s.c.Work() - began
			}
			if d := gocmp.Diff(want, got, sorted, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%d. at %d (-anew +in turn):\n%s", n, view.Time(), d)
			}
		}
		if cost[0] > 0 {
			far++
			if cost[1] < cost[0]/4 {
				cheaper++
			}
		}
	})
	if far == 0 || cheaper < far/2 {
		t.Errorf("in %d of %d histories it costs less the second time", cheaper, far)
	}
}
