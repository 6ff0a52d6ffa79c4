package session

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// What is in use comes near the limit once; without a limit, and after stop, nobody is told.
func TestBeforeMemoryIsFull(t *testing.T) {
	had := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(had)
	told := make(chan string, 2)
	tell := func(why string) { told <- why }

	beforeMemoryIsFull(tell)() // as it is outside of tests: no limit

	debug.SetMemoryLimit(64 << 20)
	stop := beforeMemoryIsFull(tell)
	select {
	case why := <-told:
		t.Fatalf("with little in use: %s", why)
	case <-time.After(3 * memoryTick):
	}
	kept := make([]byte, 60<<20)
	runtime.GC()
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
	stop()
	if len(told) > 0 {
		t.Error("told twice")
	}
	runtime.KeepAlive(kept)
}
