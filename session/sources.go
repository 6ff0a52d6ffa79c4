package session

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/report"
)

// Sources reads lines of source files: from the trace if they travel in it,
// else from disk, as found by the debug information or under one of Dirs.
type Sources struct {
	Dirs     []string
	Attached func(name string) ([]byte, bool) // nil: none

	files map[string][]string
}

// Line returns line n, from 1, without its newline.
func (s *Sources) Line(file string, n int) (string, bool) {
	lines := s.lines(file)
	if n < 1 || n > len(lines) {
		return "", false
	}
	return lines[n-1], true
}

// Around returns up to margin lines before and after line n.
func (s *Sources) Around(file string, n, margin int) (first int, text []string) {
	lines := s.lines(file)
	if n < 1 || n > len(lines) {
		return 0, nil
	}
	lo, hi := max(1, n-margin), min(len(lines), n+margin)
	return lo, lines[lo-1 : hi]
}

// Read returns a whole source file.
func (s *Sources) Read(file string) ([]byte, error) {
	if s.Attached != nil {
		if b, ok := s.Attached(attachedSource(file)); ok {
			return b, nil
		}
	}
	b, err := os.ReadFile(file)
	for i := 0; err != nil && i < len(s.Dirs); i++ {
		b, err = readUnder(s.Dirs[i], file)
	}
	return b, err
}

// attachedSource names the attachment of a trace that holds a source file.
func attachedSource(file string) string { return "source:" + file }

// readUnder looks for file below dir, by its whole path first and then by ever
// shorter tails of it.
func readUnder(dir, file string) ([]byte, error) {
	parts := strings.Split(filepath.ToSlash(file), "/")
	var err error
	for i := range parts {
		var b []byte
		if b, err = os.ReadFile(filepath.Join(dir, filepath.Join(parts[i:]...))); err == nil {
			return b, nil
		}
	}
	return nil, err
}

func (s *Sources) lines(file string) []string {
	if l, ok := s.files[file]; ok {
		return l
	}
	var lines []string
	if b, err := s.Read(file); err == nil {
		for _, l := range bytes.Split(b, []byte("\n")) {
			lines = append(lines, strings.TrimRight(string(l), "\r"))
		}
	}
	if s.files == nil {
		s.files = map[string][]string{}
	}
	s.files[file] = lines
	return lines
}

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
		if parts := a.symbols.sources.parts(path, lines[path]); parts != nil {
			out = append(out, report.SourceFile{Path: path, Parts: parts})
		}
	}
	return out
}

// parts returns a file, or of a long one what is around some of its lines.
func (s *Sources) parts(path string, wanted []int) []report.SourcePart {
	all := s.lines(path)
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
