package inline

import (
	"bytes"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// What was read is the same when no cache has it any more, at whatever place of a line it
// begins and ends.
func TestEvict(t *testing.T) {
	want := []byte(strings.Repeat("what a thread wrote to its log, ", 100))
	for from := range 70 {
		for _, n := range []int{0, 1, 63, 64, 65, 1000, len(want) - from} {
			b := bytes.Clone(want)
			evict(b[from:][:n])
			if !bytes.Equal(b, want) {
				t.Fatalf("evict(%d bytes from %d) changed what lies there", n, from)
			}
		}
	}
}

// BenchmarkLines tells what a line of the log costs the thread that writes it again, when
// the reader has had it: nanoseconds a line of 64 bytes, kept and evicted. What they are
// depends on how far from each other the two processors are.
func BenchmarkLines(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("one processor is never far from itself")
	}
	b.Run("kept", func(b *testing.B) { benchmarkLines(b, func([]byte) {}) })
	b.Run("evicted", func(b *testing.B) { benchmarkLines(b, evict) })
}

// benchmarkLines writes to two parts by turns, as a thread does; read is done to each of them
// behind the reading.
func benchmarkLines(b *testing.B, read func([]byte)) {
	const part = 1 << 20 // bytes: a thread turns after so many
	parts := [2][]byte{make([]byte, part), make([]byte, part)}
	var written, taken, sum atomic.Uint64
	over := make(chan struct{})
	go func() {
		defer close(over)
		for n := uint64(0); ; n++ {
			for written.Load() == n {
			}
			if written.Load() == ^uint64(0) {
				return
			}
			total := uint64(0)
			p := parts[n%2]
			for i := 0; i < part; i += 8 {
				total += *word(p, uint64(i))
			}
			sum.Add(total)
			read(p)
			taken.Store(n + 1)
		}
	}()
	n := uint64(0)
	for b.Loop() {
		for n >= taken.Load()+2 {
		}
		p := parts[n%2]
		for i := 0; i < part; i += 8 {
			*word(p, uint64(i)) = n
		}
		n++
		written.Store(n)
	}
	for taken.Load() < n {
	}
	written.Store(^uint64(0))
	<-over
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*part/64), "ns/line")
}
