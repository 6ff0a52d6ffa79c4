package parallel

import (
	"slices"
	"sync/atomic"
	"testing"
)

func TestDo(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]atomic.Int32, n)
		Do(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if c := calls[i].Load(); c != 1 {
				t.Errorf("%d calls for %d of %d", c, i, n)
			}
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct{ of, cuts []int }{
		{nil, []int{0}},
		{[]int{1, 1, 1, 1, 1}, []int{0, 3, 5}},
		{[]int{9, 1, 1, 1, 9, 9}, []int{0, 1, 4, 5, 6}},
		{[]int{0, 0, 3, 0}, []int{0, 3, 4}},
	} {
		if got := Cut(len(c.of), 3, func(i int) int { return c.of[i] }); !slices.Equal(got, c.cuts) {
			t.Errorf("Cut(%v) is %v, want %v", c.of, got, c.cuts)
		}
	}
}

func TestBatches(t *testing.T) {
	for _, n := range []int{0, 1, 3, 7} {
		calls := make([]atomic.Int32, n)
		Batches(n, 3, func(from, to int) {
			if from >= to || to-from > 3 {
				t.Errorf("a piece from %d to %d", from, to)
			}
			for i := from; i < to; i++ {
				calls[i].Add(1)
			}
		})
		for i := range calls {
			if c := calls[i].Load(); c != 1 {
				t.Errorf("%d calls for %d of %d", c, i, n)
			}
		}
	}
}
