package report

import (
	"strings"
	"testing"
)

// TestFunction: of a long name template arguments are left out, but not with -v.
func TestFunction(t *testing.T) {
	long := "ns::Table<" + strings.Repeat("std::pair<int, long>, ", 10) + "int>::put(int)"
	for _, test := range []struct {
		verbose    bool
		name, want string
	}{
		{false, long, "ns::Table<…>::put(int)"},
		{true, long, long},
		{false, "ns::Table<int>::put(int)", "ns::Table<int>::put(int)"},
	} {
		p := printer{o: TextOptions{Verbose: test.verbose}}
		if got := p.function(test.name); got != test.want {
			t.Errorf("verbose %t: %s", test.verbose, got)
		}
	}
}
