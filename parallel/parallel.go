// Package parallel divides work that has no order over the processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls f for each of 0 … n-1, at most as many at once as there are processors, and
// returns when all calls have. Which goroutine makes a call is left to chance: f(i) may
// only touch what belongs to i, or what bears that.
func Do(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	done.Wait()
}

// Batches calls f for the contiguous pieces [from, to) of 0 … n-1 that have the given size,
// but for the last one, as Do does.
func Batches(n, size int, f func(from, to int)) {
	Do((n+size-1)/size, func(k int) { f(k*size, min((k+1)*size, n)) })
}

// Cut divides 0 … n-1 into contiguous pieces of about the given size, where of tells the
// size of each number: piece k is the half-open [cuts[k], cuts[k+1]).
func Cut(n, size int, of func(i int) int) (cuts []int) {
	for i, sum := 0, size; i < n; i++ {
		if sum >= size {
			cuts, sum = append(cuts, i), 0
		}
		sum += of(i)
	}
	return append(cuts, n)
}
