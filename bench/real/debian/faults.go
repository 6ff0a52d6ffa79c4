package debian

import (
	"bufio"
	"fmt"
	"mgtrace/report"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Fault is a mistake as programmers make it, put into a program by a patch.
//
// What stands before the patch's first file says what is wrong. The lines to be named
// are marked /* FAULT */ in the patch; where a statement is missing, those are the
// ones around its place.
type Fault struct {
	Name   string // the patch's name
	Breaks string // what is wrong, in a sentence or two
	patch  string // its file
}

// Faults are the faults of a program.
func (w *Workshop) Faults(p Program) ([]Fault, error) {
	patches, err := filepath.Glob(filepath.Join(w.Home(p), "*.patch"))
	if err != nil {
		return nil, err
	}
	var faults []Fault
	for _, patch := range patches {
		b, err := os.ReadFile(patch)
		if err != nil {
			return nil, err
		}
		what, _, ok := strings.Cut(string(b), "\n--- ")
		if !ok {
			return nil, fmt.Errorf("%s does not begin with what it breaks", patch)
		}
		faults = append(faults, Fault{
			Name:   strings.TrimSuffix(filepath.Base(patch), ".patch"),
			Breaks: strings.Join(strings.Fields(what), " "),
			patch:  patch,
		})
	}
	return faults, nil
}

// Truth lists the lines of a faulty program's source that are marked FAULT.
func (b Built) Truth() ([]int, error) {
	f, err := os.Open(b.Source)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []int
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if strings.Contains(s.Text(), "/* FAULT */") {
			lines = append(lines, n)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: no line is marked FAULT", b.Source)
	}
	return lines, nil
}

// Rank is the place of the fault among the suspects of a report's first inconsistent
// C-point, from 1; 0 if none of them is it.
func (b Built) Rank(r *report.Report) (int, error) {
	truth, err := b.Truth()
	if err != nil || !r.Found() {
		return 0, err
	}
	is := func(file string, line int) bool {
		return file == filepath.Base(b.Source) && slices.Contains(truth, line)
	}
	for _, s := range r.CPoints[0].Suspects {
		// What an allocation or a free is accused of, its caller did.
		if is(s.File, s.Line) || slices.ContainsFunc(slices.Concat(s.Inlined, s.Callers), func(p report.Place) bool { return is(p.File, p.Line) }) {
			return s.Rank, nil
		}
	}
	return 0, nil
}
