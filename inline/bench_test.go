package inline

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/trace"
)

// BenchmarkCost tells what recording adds to a store and to a call of the C
// library's: nanoseconds by itself and under the engine, as testdata/cost.c
// measures them.
func BenchmarkCost(b *testing.B) {
	path := build(b, "cost.c", "-O2")
	for b.Loop() {
		alone, _ := native(b, path)
		r := run{event: func(*trace.Event) error { return nil }}
		r.record(b, path)
		traced := costs(b, r.output)
		for what, ns := range costs(b, alone) {
			b.ReportMetric(ns, what+"-alone-ns")
			b.ReportMetric(traced[what], what+"-ns")
		}
	}
}

// costs reads what cost.c printed.
func costs(b *testing.B, output string) map[string]float64 {
	b.Helper()
	m := map[string]float64{}
	for line := range strings.Lines(output) {
		var what string
		var ns float64
		if _, err := fmt.Sscan(line, &what, &ns); err != nil {
			b.Fatalf("%q: %v", line, err)
		}
		m[what] = ns
	}
	return m
}
