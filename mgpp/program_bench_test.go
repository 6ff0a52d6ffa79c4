//go:build unix

package mgpp

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"mgtrace/trace"
)

// BenchmarkApply builds histories of many short lives.

func BenchmarkApply(b *testing.B) {
	for _, reach := range []int{64, 1 << 20} {
		b.Run(fmt.Sprint(reach), func(b *testing.B) { benchmarkApply(b, churn(1<<20, reach)) })
	}
}

func benchmarkApply(b *testing.B, events []trace.Event) {
	b.ReportAllocs()
	s := benchmarkBuild(b, func(h *History) {
		for i := range events {
			if _, err := h.Apply(&events[i]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(s.Bytes-uint64(s.Nodes)*nodeBytes)/float64(s.Ops), "bytes/change-without-nodes")
}

// benchmarkBuild builds histories. A busy machine disturbs what the clock says: the processor
// time of the round that took least is reported too, the collector's with it.
func benchmarkBuild(b *testing.B, build func(*History)) Stats {
	var h *History
	least := time.Duration(math.MaxInt64)
	for b.Loop() {
		before := processor(b)
		h = New(Options{})
		build(h)
		least = min(least, processor(b)-before)
	}
	s := h.Stats()
	b.ReportMetric(float64(s.Ops)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mchanges/s")
	b.ReportMetric(float64(least.Nanoseconds())/float64(s.Ops), "cpu-ns/change")
	b.ReportMetric(float64(s.Bytes)/float64(s.Ops), "bytes/change")
	b.ReportMetric(float64(s.Nodes)/float64(s.Ops), "nodes/change")
	return s
}

// processor is the processor time of this process so far.
func processor(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkEvents builds histories event by event.
func BenchmarkEvents(b *testing.B) {
	eachProgram(b, func(b *testing.B, t tape) {
		benchmarkBuild(b, func(h *History) {
			t.one(func(e *trace.Event) {
				if _, err := h.Apply(e); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
}

// BenchmarkStores builds them from runs of stores, as an engine delivers them.
func BenchmarkStores(b *testing.B) {
	eachProgram(b, func(b *testing.B, t tape) {
		benchmarkBuild(b, func(h *History) { t.runs(b, h) })
	})
}
