package mine

import (
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

// TestIndexes: an index is a place in the array, or one number that has all bits set; two others that are none, or a number behind the end, make it something else.
func TestIndexes(t *testing.T) {
	pool := &row{count: 8}
	byteOf := func(values ...int64) *field {
		f := &field{typ: &types.Type{Kind: types.Uint, Size: 1}, size: 1, values: map[int64]int{}}
		for _, v := range values {
			f.values[v]++
		}
		return f
	}
	for _, c := range []struct {
		name  string
		of    *field
		ok    bool
		guard string
	}{
		{"places and none", byteOf(0, 3, 7, 255), true, "X. != 255"},
		{"signed", &field{typ: &types.Type{Kind: types.Int, Size: 4}, size: 4, values: map[int64]int{-1: 1, 2: 1, 3: 1}}, true, "X. != -1"},
		{"always a place", byteOf(0, 3, 7), true, "0 <= X. and X. < 8"},
		{"behind the end", byteOf(0, 3, 8), false, ""},
		{"two that are none", byteOf(0, 3, 254, 255), false, ""},
		{"hardly a place", byteOf(0, 255), false, ""},
	} {
		if _, _, ok := c.of.indexes(pool); ok != c.ok {
			t.Errorf("%s: %v", c.name, ok)
		} else if got := leads(c.of, "X", pool); ok && got != c.guard {
			t.Errorf("%s: %s, want %s", c.name, got, c.guard)
		}
	}
}

// numberOf is a field of so many bytes that was seen with values.
func numberOf(size int64, name string, values ...int64) *field {
	f := &field{name: name, typ: &types.Type{Kind: types.Uint, Size: size}, size: size, values: map[int64]int{}, min: slices.Min(values), max: slices.Max(values)}
	for _, v := range values {
		f.values[v]++
	}
	return f
}

// TestLawsOfRows: the ways between two arrays, of all elements and of those in one state; an index is that of the smallest array.
func TestLawsOfRows(t *testing.T) {
	number := func(name string, values ...int64) *field { return numberOf(1, name, values...) }
	job := &row{maker: newMaker(&portrait{typ: &check.NodeType{Name: "job"}, fields: []*field{number("state", 5, 6), number("next", 1, 9, 255), number("on", 0, 1, 255)}}), array: "::jobs", count: 10}
	line := &row{maker: newMaker(&portrait{typ: &check.NodeType{Name: "line"}, fields: []*field{number("first", 1, 9, 255), number("n", 0, 9)}}), array: "::lines", count: 2}
	var got []string
	for _, c := range lawsOfRows([]*row{job, line}) {
		got = append(got, c.Text)
	}
	for _, want := range []string{
		"job X;  X.on != 255 => ::lines[X.on].first == X - ::jobs[0];",
		"job X;  X.state == 5 and X.on != 255 and X.next == 255 => ::lines[X.on].first == X - ::jobs[0];",
		"line X;  X.first != 255 => ::jobs[X.first].on == X - ::lines[0];",
		"line X;  X.n == COUNT(job Y: Y.on == X - ::lines[0]);",
		"job X;  0 <= X.on and X.on < 2 or X.on == 255;",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s was not tried", want)
		}
	}
	for _, text := range got {
		if strings.Contains(text, "X.on < 10") || strings.Contains(text, "::lines[X.state]") {
			t.Errorf("%s was tried", text)
		}
	}
}
