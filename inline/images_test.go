package inline

import (
	"slices"
	"testing"
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
