package analysis

import (
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/trace"
)

// An object is the one that the specification names so, whatever its number was when it was recorded.
func TestGlobalID(t *testing.T) {
	declared := []check.Global{{Name: "pool"}, {Name: "table"}}
	for _, c := range []struct {
		name     string
		recorded trace.GlobalID
		want     trace.GlobalID
	}{
		{"pool", 1, 1}, {"table", 2, 2}, {"table", 1, 2}, {"pool", 2, 1}, {"pool", 5, 1}, {"other", 1, 3}, {"other", 3, 3}, {"other", 4, 4},
	} {
		if got := globalID(declared, c.name, c.recorded); got != c.want {
			t.Errorf("%s, recorded as %d, is number %d, want %d", c.name, c.recorded, got, c.want)
		}
	}
}
