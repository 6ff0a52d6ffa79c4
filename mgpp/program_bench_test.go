package mgpp

import (
	"testing"

	"mgtrace/trace"
)

// BenchmarkEvents builds histories event by event.
func BenchmarkEvents(b *testing.B) {
	eachProgram(b, func(b *testing.B, t tape) {
		benchmarkTape(b, func(h *History) {
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
		benchmarkTape(b, func(h *History) { t.runs(b, h) })
	})
}

func benchmarkTape(b *testing.B, build func(*History)) {
	var h *History
	ops := 0
	for b.Loop() {
		h = New(Options{})
		build(h)
		ops += int(h.Now())
	}
	b.ReportMetric(float64(ops)/b.Elapsed().Seconds()/1e6, "Mchanges/s")
	s := h.Stats()
	b.ReportMetric(float64(s.Bytes)/float64(s.Ops), "bytes/change")
	b.ReportMetric(float64(s.Nodes)/float64(s.Ops), "nodes/change")
}
