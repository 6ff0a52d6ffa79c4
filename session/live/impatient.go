package live

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"mgtrace/target"
)

// asked gets the signals that ask mgtrace to end, but for those that were ignored when it was started (nohup(1)).
func asked() chan os.Signal {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// Impatient calls urge at the first signal that asks mgtrace to end while the program is not there any more, which such
// signals were for until then. That one alone: mgtrace dies of another that is not of the same request, or if it was asked before. done ends that.
func (l *Program) Impatient(urge func()) (done func()) {
	if l.urges {
		return func() {}
	}
	signals := asked()
	over := make(chan struct{})
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		select {
		case <-signals:
			target.SameRequest()
			signal.Stop(signals)
			urge()
		case <-over:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
		<-heard
	}
}
