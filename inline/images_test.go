package inline

import (
	"slices"
	"testing"

	"mgtrace/inline/patch"
)

func TestWithFollowed(t *testing.T) {
	known := [][2]uint64{{10, 20}, {30, 40}, {40, 50}}
	for _, c := range []struct{ followed, want [][2]uint64 }{
		{nil, known},
		{[][2]uint64{{12, 18}, {30, 45}}, known},
		{[][2]uint64{{60, 70}, {0, 4}}, [][2]uint64{{0, 4}, {10, 20}, {30, 40}, {40, 50}, {60, 70}}},
		{[][2]uint64{{60, 70}, {64, 80}, {62, 65}}, [][2]uint64{{10, 20}, {30, 40}, {40, 50}, {60, 70}, {70, 80}}},
		{[][2]uint64{{5, 60}}, [][2]uint64{{5, 10}, {10, 20}, {20, 30}, {30, 40}, {40, 50}, {50, 60}}},
	} {
		if got := withFollowed(known, c.followed); !slices.Equal(got, c.want) {
			t.Errorf("with %v: %v, want %v", c.followed, got, c.want)
		}
	}
}

func TestWithout(t *testing.T) {
	type list = []patch.Range
	from := list{{Lo: 10, Hi: 20}, {Lo: 30, Hi: 40}}
	for _, c := range []struct {
		out  patch.Range
		want list
	}{
		{patch.Range{Lo: 20, Hi: 30}, from},
		{patch.Range{Lo: 12, Hi: 14}, list{{Lo: 10, Hi: 12}, {Lo: 14, Hi: 20}, {Lo: 30, Hi: 40}}},
		{patch.Range{Lo: 10, Hi: 14}, list{{Lo: 14, Hi: 20}, {Lo: 30, Hi: 40}}},
		{patch.Range{Lo: 15, Hi: 35}, list{{Lo: 10, Hi: 15}, {Lo: 35, Hi: 40}}},
		{patch.Range{Lo: 5, Hi: 50}, nil},
	} {
		if got := without(from, c.out); !slices.Equal(got, c.want) {
			t.Errorf("without %v: %v, want %v", c.out, got, c.want)
		}
	}
}
