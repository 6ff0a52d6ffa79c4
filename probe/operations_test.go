package probe

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOperations: where nothing is watched, the outermost functions are that change nodes.
func TestOperations(t *testing.T) {
	im := compile(t, "operations.c", "-g", "-O0")
	for _, c := range []struct {
		name string
		req  Request
		want []string
	}{
		{"nodes", Request{Operations: []string{"node"}}, []string{"fresh", "add", "more", "drop", "give_up"}},
		{"other nodes", Request{Operations: []string{"other"}}, []string{"note"}},
		{"no nodes", Request{Operations: []string{"nothing"}}, nil},
		{"a function is named", Request{Operations: []string{"node"}, Watch: []string{"look"}}, nil},
		{"a line is named", Request{Operations: []string{"node"}, Lines: []Line{{"operations.c", 27}}}, nil},
		{"one that never returns is named", Request{Operations: []string{"node"}, Watch: []string{"give_up"}}, nil},
		{"nobody asks", Request{}, nil},
	} {
		c.req.Allocators = []Allocator{{Free: "release"}}
		p := build(t, c.req, Options{InProcess: true}, im)
		slices.Sort(p.Operations)
		slices.Sort(c.want)
		if d := cmp.Diff(c.want, p.Operations); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if warned := slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.HasPrefix(w, "give_up never returns") }); warned != slices.Contains(c.req.Watch, "give_up") {
			t.Errorf("%s: %q", c.name, p.Warnings)
		}
		for _, f := range p.Watched {
			if f.Beside != slices.Contains(p.Operations, f.Name) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}
