package live

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestImpatient: the first signal that asks mgtrace to end, once the program has gone, makes it hurry, and does not end it.
func TestImpatient(t *testing.T) {
	var l Program
	hurried := make(chan bool, 1)
	l.onUrge = func() { hurried <- true }
	done := l.Impatient(l.urged)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-hurried:
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
	done()

	// Who was asked before is ended by the next one: nobody else catches it, and it is not for the handler.
	mine := make(chan os.Signal, 1)
	signal.Notify(mine, syscall.SIGTERM)
	defer signal.Stop(mine)
	done = l.Impatient(l.urged)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-mine
	done()
	if len(hurried) > 0 {
		t.Error("told twice")
	}
}
