// Package transient removes what a command writes on its way, and does not keep, also where a
// signal ends mgtrace meanwhile.
//
//	done := transient.Guard(f.Name())
//	defer done()
package transient

import (
	"os"
	"os/signal"
	"syscall"
)

// Guard heeds the signals that end mgtrace: they still end it, and the file or folder is removed before. done
// leaves them to somebody else; what is there stays then.
func Guard(path string) (done func()) {
	signals := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		sig, ok := <-signals
		if !ok {
			return
		}
		_ = os.RemoveAll(path)
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}
