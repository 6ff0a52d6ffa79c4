package bpf

import (
	"fmt"
	"testing"
	"time"

	"mgtrace/capture"
	"mgtrace/trace"
)

// BenchmarkHit tells what a probed store costs the program: its time with probes
// minus that without, per store. It includes the reader's share of the machine.
func BenchmarkHit(b *testing.B) {
	needEngine(b)
	path := build(b, "threads.c")
	const rounds = 50_000
	run := func(stores []string) (time.Duration, capture.Stats) {
		p := newPlanner(b, path, libc).stores(stores...)
		r := &result{plan: &p.plan}
		start := time.Now()
		if err := recordInto(b, path, &p.plan, Options{}, r, func(*trace.Event) error { return nil }, fmt.Sprint(rounds)); err != nil {
			b.Fatal(err)
		}
		return time.Since(start), r.stats
	}
	for b.Loop() {
		without, _ := run([]string{"crash"})
		with, s := run([]string{"fill"})
		b.ReportMetric(float64((with-without).Nanoseconds())/float64(4*rounds), "ns/store")
		b.ReportMetric(float64(s.Stops), "stops")
		b.ReportMetric(float64(s.Dropped), "dropped")
	}
}

// BenchmarkAttach tells what attaching and detaching cost for each site.
func BenchmarkAttach(b *testing.B) {
	needEngine(b)
	path := build(b, "threads.c")
	p := newPlanner(b, path, libc).stores("fill").allocators()
	for b.Loop() {
		r := &result{plan: &p.plan}
		if err := recordInto(b, path, &p.plan, Options{}, r, func(*trace.Event) error { return nil }, "0"); err != nil {
			b.Fatal(err)
		}
	}
}
