package query

import (
	"strings"
	"testing"
)

// TestFieldsAlike: a buffer of zeros is one line, and a structure's fields are not.
func TestFieldsAlike(t *testing.T) {
	s := SnapshotAnswer{Live: 1, Nodes: []NodeAnswer{{Name: "block#1", Fields: []FieldAnswer{
		{Name: "left", Value: "NULL"}, {Name: "right", Value: "NULL"}, {Name: "up", Value: "NULL"}, {Name: "down", Value: "NULL"},
		{Name: "w[0]", Value: "1"}, {Name: "w[1]", Value: "0"}, {Name: "w[2]", Value: "0"}, {Name: "w[3]", Value: "0"}, {Name: "w[4]", Value: "0"},
		{Name: "v[0]", Value: "0"}, {Name: "v[1]", Value: "0"},
		{Name: "+96", Value: "0"}, {Name: "+104", Value: "0"}, {Name: "+112", Value: "0"}, {Name: "+128", Value: "0"},
	}}}}
	var out strings.Builder
	if err := s.Text(&out, false); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "    left NULL\n")
	if want := "    right NULL\n    up NULL\n    down NULL\n    w[0] 1\n    w[1..4] 0\n    v[0] 0\n    v[1] 0\n    +96..+112 0\n    +128 0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
