package capture

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/trace"
)

// TestSiteList: all sites are there in their order, whoever asks when; who gave some, or got them, keeps what he has.
func TestSiteList(t *testing.T) {
	plan := make([]trace.StoreSite, 2, 4)
	plan[0].PC, plan[1].PC = 1, 2
	pcs := func(sites []trace.StoreSite) (out []trace.Addr) {
		for i := range sites {
			out = append(out, sites[i].PC)
		}
		return out
	}
	want := func(got []trace.StoreSite, want ...trace.Addr) {
		t.Helper()
		if diff := cmp.Diff(want, pcs(got)); diff != "" {
			t.Error(diff)
		}
	}
	var l SiteList
	want(l.All())
	l.Set(plan)
	want(l.All(), 1, 2)
	l.Add([]trace.StoreSite{{PC: 3}})
	l.Add([]trace.StoreSite{{PC: 4}, {PC: 5}})
	all := l.All()
	want(all, 1, 2, 3, 4, 5)
	l.Add([]trace.StoreSite{{PC: 6}})
	want(l.All(), 1, 2, 3, 4, 5, 6)
	want(all, 1, 2, 3, 4, 5)
	l.Add([]trace.StoreSite{{PC: 7}})
	l.Set(plan)
	want(l.All(), 1, 2)
	want(plan[:3], 1, 2, 0)
}
