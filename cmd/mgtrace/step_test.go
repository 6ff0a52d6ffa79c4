package main

import (
	"slices"
	"testing"
)

// TestStepEngine records deterministic programs step by step and inside the process.
// Both engines must deliver the same events, as TestEngines says. The steps are recorded with
// all that is executed, as TestInstants needs them: each costs tens of microseconds. So these are the programs that it looks at,
// and those that fork and crash; the others TestTranslateEngine compares.
func TestStepEngine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("millions of steps")
	}
	needTracing(t)
	for _, p := range programsIn(t, "testdata/engines") {
		if !slices.Contains([]string{"atomics", "crash", "list", "processes", "signals", "vectors"}, p.name()) {
			continue
		}
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			bin := p.compile(t, "-O1", "-pthread", "-w")
			compareThreads(t, p.events(t, "inline", bin), eventsOf(t, p.recording(t, "step", bin)))
		})
	}
}

// TestTranslateEngine records the same programs as translations of their code.
func TestTranslateEngine(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, p := range programsIn(t, "testdata/engines") {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			bin := p.compile(t, "-O1", "-pthread", "-w")
			compareThreads(t, p.events(t, "inline", bin), p.events(t, "translate", bin))
		})
	}
}

// TestInside: the engines that see every instruction see what the C library's allocator
// writes into its own memory, too.
func TestInside(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, p := range programs(t) {
		if p.name() != "fast-bin" {
			continue
		}
		for _, engine := range []string{"step", "translate"} {
			t.Run(engine, func(t *testing.T) {
				t.Parallel()
				testFault(t, p, engine, "-O0")
				testTwin(t, p, engine, "-O0")
			})
		}
	}
}
