package mining

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/objfile"
)

// TestWorthWatching: a program's own functions are watched although it has hundreds of its libraries' templates; of hundreds of its own those
// that have to do with the types; and all that there are of a small program.
func TestWorthWatching(t *testing.T) {
	file := func(path string, n int) (out []objfile.Func) {
		for i := range n {
			out = append(out, objfile.Func{Name: fmt.Sprintf("%s_%d", path[strings.LastIndexByte(path, '/')+1:], i), File: path})
		}
		return out
	}
	for _, c := range []struct {
		funcs [][]objfile.Func
		want  int
		many  bool
	}{
		{[][]objfile.Func{file("/src/main.cpp", 9), file("/usr/include/c++/12/bits/stl_map.h", 20)}, 29, false},
		{[][]objfile.Func{file("/src/main.cpp", 9), file("/usr/include/c++/12/bits/stl_map.h", 400)}, 9, false},
		{[][]objfile.Func{file("/src/main.cpp", 9), file("/src/own.h", 20), file("/usr/include/c++/12/bits/stl_map.h", 400)}, 29, false},
		{[][]objfile.Func{file("/src/main.cpp", 9), file("/src/tbb/map.h", 400)}, 9 + 4, true},
		{[][]objfile.Func{file("/src/all.c", 400)}, 4, true},
	} {
		var funcs []objfile.Func
		for _, f := range c.funcs {
			funcs = append(funcs, f...)
		}
		chosen, many := worthWatching(funcs, func(f objfile.Func) bool {
			return strings.HasSuffix(f.Name, "00") || f.Name == "map.h_50" || f.Name == "all.c_50"
		})
		if len(chosen) != c.want || many != c.many {
			t.Errorf("of %d functions of %s … %d are watched, many: %v", len(funcs), funcs[0].File, len(chosen), many)
		}
	}
}
