package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExperiments: where no store is wrong in itself, the condition, the value or the argument is named first that an
// experiment with the call finds. What the twins do TestPrograms asks.
func TestExperiments(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, c := range []struct {
		name, why string
		levels    []string // without calls between functions there is nothing that passes an argument
	}{
		{"sift-up", "had this condition gone the other way", []string{"-O0", "-O2"}},
		{"sift-place", "been computed here instead of", []string{"-O0", "-O2"}},
		{"half-moved", "with a number that is less by 1, the call would have left nothing broken", []string{"-O0", "-O2"}},
		{"passed-depth", "it passed on what passed-depth.c", []string{"-O0"}},
	} {
		all := programs(t)
		p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == c.name })]
		for _, level := range c.levels {
			t.Run(c.name+level, func(t *testing.T) {
				t.Parallel()
				r := p.run(t, "inline", p.compile(t, level, "-DFAULT"))
				if r.status != 1 || len(r.report.CPoints) == 0 || len(r.report.CPoints[0].Suspects) == 0 {
					t.Fatalf("status %d\n%s", r.status, r.stderr)
				}
				first := r.report.CPoints[0].Suspects[0]
				truth := faults(t, p.source)
				if !slices.Contains(truth, first.Line) || first.File != filepath.Base(p.source) || first.Kind != "decided" ||
					!slices.ContainsFunc(first.Evidence, func(e string) bool { return strings.Contains(e, c.why) }) {
					t.Errorf("first is %s:%d, %s, %q; want line %v because %s", first.File, first.Line, first.Kind, first.Evidence, truth, c.why)
				}
			})
		}
	}
}
