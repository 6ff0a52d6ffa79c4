package inline

import (
	"testing"

	"mgtrace/trace"
)

// A library that the program opens while it runs is recorded from its first
// instruction on, each time, wherever it is mapped.
func TestLate(t *testing.T) {
	lib := build(t, "late_lib.c", "-shared", "-fPIC")
	path := build(t, "late.c", "-ldl")
	var stores []uint64 // where; the threads' allocations are millions
	r := run{late: []string{lib}, event: func(e *trace.Event) error {
		if e.Kind == trace.KindStore {
			stores = append(stores, uint64(e.PC))
		}
		return nil
	}}
	output, _ := native(t, path, lib)
	r.record(t, path, lib)
	if r.output != output || r.status.Code != 0 || r.status.Signal != 0 {
		t.Errorf("%v:\n%s\nwithout mgtrace:\n%s", r.status, r.output, output)
	}
	main := r.engine.images[0]
	fills := 0
	for _, pc := range stores {
		if main.at(pc) == nil {
			fills++
		}
	}
	// 20 words, their table, and what is changed.
	if want := 6 * 20 * 23; fills < want {
		t.Errorf("%d stores of the library, want %d", fills, want)
	}
	if r.known < 20*200 {
		t.Errorf("only %d bytes are known", r.known)
	}
	t.Logf("%d stores of the library; %d bytes known; %+v", fills, r.known, r.stats)
}
