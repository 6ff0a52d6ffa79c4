package analysis

import (
	"maps"
	"slices"

	"mgtrace/report"
)

// How much of a source file a page shows: all of it, or what is around the lines
// that matter.
const (
	maxWhole  = 2_000 // lines
	maxAround = 60
)

// sourcesOf collects the source that a report speaks of.
func (a *Analysis) sourcesOf(r *report.Report) []report.SourceFile {
	lines := map[string][]int{}
	add := func(path string, line int) {
		if path != "" && line > 0 {
			lines[path] = append(lines[path], line)
		}
	}
	if r.Exit != nil {
		add(r.Exit.Path, r.Exit.Line)
	}
	for i := range r.CPoints {
		c := &r.CPoints[i]
		add(c.Path, c.Line)
		for k := range c.Suspects {
			add(c.Suspects[k].Path, c.Suspects[k].Line)
		}
		for k := range c.Steps {
			add(c.Steps[k].Path, c.Steps[k].Line)
		}
	}
	var out []report.SourceFile
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		if parts := partsOf(a.Symbols.Sources.Lines(path), lines[path]); parts != nil {
			out = append(out, report.SourceFile{Path: path, Parts: parts})
		}
	}
	return out
}

// partsOf returns the lines of a file, or of a long one what is around some of them.
func partsOf(all []string, wanted []int) []report.SourcePart {
	switch {
	case len(all) == 0:
		return nil
	case len(all) <= maxWhole:
		return []report.SourcePart{{First: 1, Lines: all}}
	}
	slices.Sort(wanted)
	var out []report.SourcePart
	end := 0 // lines up to it are in out
	for _, n := range wanted {
		lo, hi := max(1, n-maxAround), min(len(all), n+maxAround)
		switch {
		case n > len(all) || hi <= end:
		case len(out) > 0 && lo <= end+1:
			last := &out[len(out)-1]
			last.Lines = append(slices.Clip(last.Lines), all[end:hi]...)
			end = hi
		default:
			out = append(out, report.SourcePart{First: lo, Lines: all[lo-1 : hi]})
			end = hi
		}
	}
	return out
}
