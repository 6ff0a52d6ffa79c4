package main

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// quits ends mgtrace at SIGQUIT (Ctrl-\): Go's runtime would list all goroutines. SIGABRT still
// has it do that. While a program runs under mgtrace the signal is the program's.
type quits struct {
	signals chan os.Signal
	theirs  atomic.Bool
}

func heedQuit() *quits {
	q := &quits{signals: make(chan os.Signal, 1)}
	if signal.Ignored(syscall.SIGQUIT) {
		return q
	}
	signal.Notify(q.signals, syscall.SIGQUIT)
	go func() {
		for range q.signals {
			if !q.theirs.Load() {
				os.Exit(128 + int(syscall.SIGQUIT))
			}
		}
	}()
	return q
}

// running says whether the signal is somebody else's now.
func (q *quits) running(on bool) { q.theirs.Store(on) }

func (q *quits) stop() {
	signal.Stop(q.signals)
	close(q.signals)
}
