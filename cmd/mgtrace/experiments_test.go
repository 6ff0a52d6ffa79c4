package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/report"
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
		{"loaded-heap", "had this condition gone the other way", []string{"-O0"}},      // a flag in static memory decides, which is guessed
		{"long-roll", "had this condition gone the other way", []string{"-O0", "-O2"}}, // else who counts is first: earlier calls refute that in place
		{"called-seats", "had this condition gone the other way", []string{"-O0", "-O2"}},
		{"half-moved", "with a number that is less by 1, the call would have left nothing broken", []string{"-O0", "-O2"}},
		{"keyed-heap", "had this condition been the other way round", []string{"-O2"}},          // inlined, whose arguments are found
		{"shared-treap", "had this condition been the other way round", []string{"-O0", "-O2"}}, // rand, and shared pointers
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

// TestMidCall: what goes wrong several times in a call is named where a constraint was broken that always held there.
func TestMidCall(t *testing.T) {
	t.Parallel()
	needTracing(t)
	all := programs(t)
	p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == "promotions" })]
	for _, level := range []string{"-O0", "-O2"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			r := p.run(t, "inline", p.compile(t, level, "-DFAULT"))
			if r.status != 1 || len(r.report.CPoints) == 0 || len(r.report.CPoints[0].Suspects) == 0 {
				t.Fatalf("status %d\n%s", r.status, r.stderr)
			}
			first := r.report.CPoints[0].Suspects[0]
			if truth := faults(t, p.source); !slices.Contains(truth, first.Line) || !strings.Contains(first.Why, "held there the last 12 times before") {
				t.Errorf("first is %s:%d, %q; want line %v", first.File, first.Line, first.Why, truth)
			}
		})
	}
}

// TestExperimentsThroughTables: a call is executed again where it calls what the dynamic linker has put into a table,
// functions of the program and of the library, and where realloc moves a block; and the call that is named is the one that broke the structure.
func TestExperimentsThroughTables(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, name := range []string{"method-table", "inline-buckets", "grown-ring"} {
		all := programs(t)
		p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == name })]
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(name+level, func(t *testing.T) {
				t.Parallel()
				r := p.run(t, "inline", p.compile(t, level, "-DFAULT"))
				if r.status != 1 || len(r.report.CPoints) == 0 {
					t.Fatalf("status %d\n%s", r.status, r.stderr)
				}
				at := &r.report.CPoints[0]
				want := fmt.Sprintf("had this condition gone the other way in call %d of %s,", at.Call, at.Function)
				truth := faults(t, p.source)
				if !slices.ContainsFunc(at.Suspects, func(s report.Suspect) bool {
					return s.Kind == "decided" && slices.Contains(truth, s.Line) &&
						slices.ContainsFunc(s.Evidence, func(e string) bool { return strings.Contains(e, want) })
				}) {
					t.Errorf("no suspect is line %v since %s: %+v", truth, want, at.Suspects)
				}
			})
		}
	}
}
