package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSubtract(t *testing.T) {
	got := subtract([][2]uint64{{0, 10}, {20, 30}, {40, 50}}, [2]uint64{25, 45})
	if diff := cmp.Diff([][2]uint64{{0, 10}, {20, 25}, {45, 50}}, got); diff != "" {
		t.Error(diff)
	}
}
