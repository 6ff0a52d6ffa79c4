package session

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestEndable: a signal that asks mgtrace to end ends what is under way, with words; without one nothing does.
func TestEndable(t *testing.T) {
	for _, asked := range []bool{true, false} {
		ctx, done := Endable(t.Context())
		if asked {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
		}
		if err := context.Cause(ctx); errors.Is(err, ErrInterrupted) != asked {
			t.Errorf("asked %t: %v", asked, err)
		}
		done()
	}
}
