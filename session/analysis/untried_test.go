package analysis

import (
	"errors"
	"testing"

	"mgtrace/faultloc"
)

// TestUntried: that no experiment was made is said where one might have told more.
func TestUntried(t *testing.T) {
	settled := faultloc.Result{Suspects: []faultloc.Suspect{{Evidence: []faultloc.Evidence{{Kind: faultloc.Swapped}}}}}
	for _, c := range []struct {
		name    string
		refused error
		result  faultloc.Result
		want    int
	}{
		{"it could not be made", errors.New("why"), faultloc.Result{}, 1},
		{"it was", nil, faultloc.Result{}, 0},
		{"no call was watched", errNoCall, faultloc.Result{}, 0},
		{"there is nothing more to tell", errors.New("why"), settled, 0},
	} {
		a := &Analysis{refused: c.refused}
		if got := a.untriedNote(&c.result); len(got) != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
