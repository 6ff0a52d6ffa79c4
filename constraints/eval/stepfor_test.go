package eval

import "testing"

// TestStepFor: each place is met once, and of a thousand the first ones are spread over all.
func TestStepFor(t *testing.T) {
	for n := 1; n < 1000; n++ {
		step, met := stepFor(n), make([]bool, n)
		for i := range n {
			at := i * step % n
			if met[at] {
				t.Fatalf("%d: place %d is met twice, with steps of %d", n, at, step)
			}
			met[at] = true
		}
	}
	tenths := map[int]int{}
	for i, step := 0, stepFor(1000); i < 100; i++ {
		tenths[i*step%1000/100]++
	}
	for k := range 10 {
		if n := tenths[k]; n < 7 || n > 13 {
			t.Errorf("%d of the first hundred lie in part %d of ten", n, k)
		}
	}
}
