package target

import (
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// A handler that has to wait within a quiet time is woken again: by what was reported
// until then, and by what will be.
func TestLoudWithinQuiet(t *testing.T) {
	muted := func() bool {
		var now kernelAction
		return now.swap(nil) && now.flags&noChildStop != 0
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, unix.SIGCHLD)
	defer signal.Stop(woken)
	loud() // nothing to do
	undo := quiet()
	if !muted() {
		t.Fatal("quiet, and stops of tracees are told")
	}
	loud()
	if muted() {
		t.Error("loud, and stops of tracees are not told")
	}
	<-woken
	undo()
	if muted() {
		t.Error("stops of tracees are not told any more")
	}
}
