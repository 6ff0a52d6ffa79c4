package analysis

import (
	"slices"
	"testing"

	"mgtrace/objfile"
	"mgtrace/report"
)

// What a library's headers do between the program's own calls is not shown, unless it is all that is known.
func TestOwnCalls(t *testing.T) {
	frame := func(file string, line int) objfile.Frame { return objfile.Frame{File: file, Line: line, Function: "f"} }
	place := func(file string, line int) report.Place { return report.Place{File: file, Line: line, Function: "f"} }
	const list = "/usr/include/c++/12/bits/stl_list.h"
	for _, c := range []struct {
		frames []objfile.Frame
		want   []report.Place
	}{
		{nil, nil},
		{[]objfile.Frame{frame(list, 1), frame(list, 2), frame("/src/lru.cpp", 3), frame(list, 4), frame("/src/lru.cpp", 5)}, []report.Place{place("lru.cpp", 3), place("lru.cpp", 5)}},
		{[]objfile.Frame{frame("/src/a.c", 1), frame("/src/a.c", 2), frame("/src/a.c", 3), frame("/src/a.c", 4)}, []report.Place{place("a.c", 1), place("a.c", 2), place("a.c", 3)}},
		{[]objfile.Frame{frame(list, 1), frame(list, 2)}, []report.Place{place("stl_list.h", 1), place("stl_list.h", 2)}},
	} {
		if got := ownCalls(c.frames); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.frames, got, c.want)
		}
	}
}
