package session

import (
	"context"
	"errors"

	"mgtrace/target"
)

// ErrInterrupted is why something ended before its time: a signal asked mgtrace to end.
var ErrInterrupted = errors.New("interrupted")

// Endable returns a context that the first signal ends which asks mgtrace to end: who uses it says what is known by then. Of another signal
// mgtrace dies. done gives the signals back.
func Endable(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	deaf := target.AskedOnce(func() { cancel(ErrInterrupted) })
	return ctx, func() {
		deaf()
		cancel(nil)
	}
}
