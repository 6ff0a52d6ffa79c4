package objfile

import (
	"path"
	"sort"
	"strings"

	"mgtrace/objfile/dwarf"
)

// SourceFiles returns the source files of the debug information, sorted.
func (f *File) SourceFiles() []string {
	seen := map[string]bool{}
	var files []string
	for _, u := range f.info().units {
		t := u.Lines()
		if t == nil {
			continue
		}
		for _, file := range t.Files() {
			if file != "" && file != "." && !seen[file] {
				seen[file] = true
				files = append(files, file)
			}
		}
	}
	sort.Strings(files)
	return files
}

// LineAddrs returns the addresses at which code of a source line begins that
// is fit for a breakpoint, sorted: a line has several if the compiler spread
// or copied it. The file is matched by its last path components.
func (f *File) LineAddrs(file string, line int) []uint64 {
	var addrs []uint64
	f.rowsOf(file, func(rows []dwarf.Row, i int) {
		r := &rows[i]
		if r.Line != line || !r.Stmt {
			return
		}
		// Not where the same line only goes on.
		if i > 0 && rows[i-1].Stmt && rows[i-1].Line == line && rows[i-1].File == r.File && rows[i-1].Addr < r.Addr {
			return
		}
		addrs = append(addrs, r.Addr)
	})
	sort.Slice(addrs, func(i, j int) bool { return addrs[i] < addrs[j] })
	out := addrs[:0]
	for i, a := range addrs {
		if i == 0 || a != addrs[i-1] {
			out = append(out, a)
		}
	}
	return out
}

// LineCode returns the half-open ranges of code that Frames has at a source line: its
// own, and what was inlined by calls there. The file is matched by its last path
// components.
func (f *File) LineCode(file string, line int) [][2]uint64 {
	var code [][2]uint64
	f.rowsOf(file, func(rows []dwarf.Row, i int) {
		if rows[i].Line == line && i+1 < len(rows) {
			code = append(code, [2]uint64{rows[i].Addr, rows[i+1].Addr})
		}
	})
	for _, in := range f.Inlined("*") {
		if in.CallLine == line && sameSource(in.CallFile, file) {
			code = append(code, in.Ranges...)
		}
	}
	return code
}

// LineBefore returns the line of the code before addr, in the same function, that has one: a
// compiler gives none (0) to what it has moved or merged. The line is 0 if there is none.
func (f *File) LineBefore(addr uint64) (file string, line int) {
	ui, s := f.subprogramAt(addr)
	if s == nil {
		return "", 0
	}
	low := addr
	for _, r := range s.ranges {
		if r[0] <= addr && addr < r[1] {
			low = r[0]
		}
	}
	t := ui.unit.Lines()
	if t == nil {
		return "", 0
	}
	row, ok := t.Before(addr, low)
	if !ok {
		return "", 0
	}
	return t.File(row.File), row.Line
}

// NearestLine returns the first line from line on that has code.
func (f *File) NearestLine(file string, line int) (int, bool) {
	best := 0
	f.rowsOf(file, func(rows []dwarf.Row, i int) {
		if n := rows[i].Line; rows[i].Stmt && n >= line && (best == 0 || n < best) {
			best = n
		}
	})
	return best, best != 0
}

// rowsOf visits the rows of code that came from a file.
func (f *File) rowsOf(file string, visit func(rows []dwarf.Row, i int)) {
	for _, u := range f.info().units {
		t := u.Lines()
		if t == nil {
			continue
		}
		match := make([]bool, len(t.Files()))
		any := false
		for i, name := range t.Files() {
			match[i] = sameSource(name, file)
			any = any || match[i]
		}
		if !any {
			continue
		}
		t.Sequences(func(rows []dwarf.Row) {
			if !f.executable(rows[0].Addr) {
				return // discarded by the linker
			}
			for i := range rows {
				if n := rows[i].File; !rows[i].End && n >= 0 && n < len(match) && match[n] {
					visit(rows, i)
				}
			}
		})
	}
}

// sameSource says whether want names the file: it is its path, or the last
// components of it.
func sameSource(file, want string) bool {
	want = path.Clean(want)
	for strings.HasPrefix(want, "../") {
		want = want[3:]
	}
	rest, ok := strings.CutSuffix(file, want)
	return ok && want != "." && (rest == "" || rest[len(rest)-1] == '/' || want[0] == '/')
}
