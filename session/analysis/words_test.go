package analysis

import (
	"testing"

	"mgtrace/faultloc"
	"mgtrace/report"
)

// TestFlipWords: what a change broke held before it; of a new node nothing did, which nobody had asked for.
func TestFlipWords(t *testing.T) {
	for _, c := range []struct {
		e         faultloc.Evidence
		labels    []string
		why, also string
	}{
		{faultloc.Evidence{Kind: faultloc.Flip, Flips: 1}, []string{"one"}, "This change broke one, which held before.", "it turned a constraint from true to false"},
		{faultloc.Evidence{Kind: faultloc.Flip, Flips: 3}, []string{"one", "order"}, "This change broke 3 constraint instances that held before.", "it turned 3 constraint instances from true to false"},
		{faultloc.Evidence{Kind: faultloc.Flip, Flips: 1, Born: true}, []string{"one"}, "From this change on, one did not hold.", "from it on a constraint did not hold"},
		{faultloc.Evidence{Kind: faultloc.Flip, Flips: 3, Born: true}, []string{"one", "order"}, "From this change on, 3 constraint instances did not hold.", "from it on 3 constraint instances did not hold"},
	} {
		a, s := &Analysis{}, &faultloc.Suspect{Kind: faultloc.Wrote}
		if got := a.why(s, &c.e, &report.Suspect{Contributes: c.labels}); got != c.why {
			t.Errorf("%+v: %q, want %q", c.e, got, c.why)
		}
		if got := a.evidence(s, c.e); got != c.also {
			t.Errorf("%+v: %q, want %q", c.e, got, c.also)
		}
	}
}

// TestImplied: what the sentence about a suspect says is not said again below it.
func TestImplied(t *testing.T) {
	for _, c := range []struct {
		kind faultloc.Kind
		e    faultloc.EvidenceKind
		best faultloc.EvidenceKind
		want bool
	}{
		{faultloc.Decided, faultloc.Passed, faultloc.RepairCell, true},
		{faultloc.Decided, faultloc.Passed, faultloc.Edited, false},
		{faultloc.Wrote, faultloc.Passed, faultloc.RepairCell, false},
	} {
		s := &faultloc.Suspect{Kind: c.kind}
		if got := (&Analysis{}).implied(s, &faultloc.Evidence{Kind: c.e}, &faultloc.Evidence{Kind: c.best}); got != c.want {
			t.Errorf("%v beside %v of a suspect %v: %v", c.e, c.best, c.kind, got)
		}
	}
}
