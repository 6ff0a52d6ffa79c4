package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"mgtrace/trace"
)

// planLines adds points at source lines.
func (b *builder) planLines() error {
	var errs []error
	for _, l := range b.request.Lines {
		if !b.line(l.File, l.Line, trace.Point{Kind: "line", File: l.File, Line: l.Line}) {
			errs = append(errs, b.noLine(l))
		}
	}
	return errors.Join(errs...)
}

// line adds a point at every address of a source line. It reports false if
// there is none in a traced image.
func (b *builder) line(file string, line int, p trace.Point) bool {
	found := false
	for _, i := range b.traced() {
		f := b.plan.Images[i].File
		for _, addr := range f.LineAddrs(file, line) {
			found = true
			q := p
			if fn, ok := f.FuncAt(addr); ok {
				q.Function = fn.Base
			}
			if fr := f.Frames(addr); len(fr) > 0 {
				q.Function, q.File = fr[0].Function, fr[0].File
			}
			if !b.point(i, addr, q) {
				b.warn("%s:%d: its code at %#x can not be probed", file, line, addr)
			}
		}
	}
	return found
}

func (b *builder) noLine(l Line) error {
	debug, known := false, false
	for _, i := range b.traced() {
		f := b.plan.Images[i].File
		debug = debug || f.HasDWARF()
		if near, ok := f.NearestLine(l.File, l.Line); ok {
			return fmt.Errorf("%s:%d has no code; the next line that has is %d", l.File, l.Line, near)
		}
		if _, ok := f.NearestLine(l.File, 1); ok {
			known = true
		}
	}
	switch {
	case !debug:
		return fmt.Errorf("%s:%d: the program has no debug information to find lines by", l.File, l.Line)
	case known:
		return fmt.Errorf("%s:%d has no code, and nothing follows it in that file", l.File, l.Line)
	}
	return fmt.Errorf("%s:%d: the program was built from no such file", l.File, l.Line)
}

// A mark is a comment ##C-POINT(type) in the source.
var markRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`##C-POINT\(\s*([^()]*?)\s*\)`) })

// planMarks binds the marks in the sources of the traced images to the
// statements that follow them.
func (b *builder) planMarks() error {
	if !b.request.Marks {
		return nil
	}
	if b.options.Source == nil {
		b.warn("##C-POINT marks are not looked for: there are no sources")
		return nil
	}
	seen := map[string]bool{}
	for _, i := range b.traced() {
		for _, file := range b.plan.Images[i].File.SourceFiles() {
			if seen[file] || systemHeader(file) {
				continue
			}
			seen[file] = true
			text, err := b.options.Source(file)
			if err != nil || !strings.Contains(string(text), "##C-POINT") {
				continue
			}
			for n, line := range strings.Split(string(text), "\n") {
				b.marksOf(i, file, n+1, line)
			}
		}
	}
	return nil
}

func systemHeader(file string) bool {
	return strings.HasPrefix(file, "/usr/include/") || strings.HasPrefix(file, "/usr/lib/")
}

// marksOf binds the marks of one line.
func (b *builder) marksOf(image int, file string, n int, line string) {
	for _, m := range markRE().FindAllStringSubmatchIndex(line, -1) {
		kind := line[m[2]:m[3]]
		from := n + 1
		if _, rest, ok := strings.Cut(line[m[1]:], "*/"); ok && strings.TrimSpace(rest) != "" {
			from = n // the statement stands behind the comment
		}
		b.mark(image, file, n, from, kind)
	}
}

// mark binds a mark to the first line at or after from that has code, if that
// belongs to the function in which the mark stands: one that began before it.
func (b *builder) mark(image int, file string, at, from int, kind string) {
	f := b.plan.Images[image].File
	where := fmt.Sprintf("%s:%d: ##C-POINT(%s)", filepath.Base(file), at, kind)
	line, ok := f.NearestLine(file, from)
	if !ok {
		b.warn("%s is followed by no statement", where)
		return
	}
	addrs := f.LineAddrs(file, line)
	if len(addrs) > 0 {
		if fn, ok := f.FuncAt(addrs[0]); ok && fn.Line > at && filepath.Base(fn.File) == filepath.Base(file) {
			b.warn("%s is followed by no statement of its function", where)
			return
		}
	}
	if !b.line(file, line, trace.Point{Kind: "mark", File: file, Line: line, For: kind}) {
		b.warn("%s: line %d, which follows it, has no code", where, line)
	}
}
