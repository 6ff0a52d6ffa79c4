package symbol

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// Sources reads lines of source files: from the trace if they travel in it,
// else from disk, as found by the debug information or under one of Dirs.
type Sources struct {
	Dirs     []string
	Attached func(name string) ([]byte, bool) // nil: none

	files  map[string][]string
	macros map[string]Macros
}

// Line returns line n, from 1, without its newline.
func (s *Sources) Line(file string, n int) (string, bool) {
	lines := s.Lines(file)
	if n < 1 || n > len(lines) {
		return "", false
	}
	return lines[n-1], true
}

// Around returns up to margin lines before and after line n.
func (s *Sources) Around(file string, n, margin int) (first int, text []string) {
	lines := s.Lines(file)
	if n < 1 || n > len(lines) {
		return 0, nil
	}
	lo, hi := max(1, n-margin), min(len(lines), n+margin)
	return lo, lines[lo-1 : hi]
}

// Read returns a whole source file.
func (s *Sources) Read(file string) ([]byte, error) {
	if s.Attached != nil {
		if b, ok := s.Attached(Attachment(file)); ok {
			return b, nil
		}
	}
	b, err := os.ReadFile(file)
	for i := 0; err != nil && i < len(s.Dirs); i++ {
		b, err = readUnder(s.Dirs[i], file)
	}
	return b, err
}

// Attachment names the attachment of a trace that holds a source file.
func Attachment(file string) string { return "source:" + file }

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

// Lines are those of a file; none if it can not be read.
func (s *Sources) Lines(file string) []string {
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

// PathEndsWith: the file is named by a tail of its path.
func PathEndsWith(path, tail string) bool {
	path, tail = filepath.ToSlash(filepath.Clean(path)), filepath.ToSlash(filepath.Clean(tail))
	return path == tail || strings.HasSuffix(path, "/"+tail)
}
