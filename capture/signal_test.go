package capture

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSignalHit(t *testing.T) {
	const sigUSR1, siUser, segvMaperr = 10, 0, 1
	for _, c := range []struct {
		name          string
		number        int
		code          int32
		handled, ends bool
		want          Hit
		told          bool
	}{
		{"a fault", sigSEGV, segvMaperr, false, true, Hit{Op: Signal, Index: sigSEGV, Addr: 0x10}, true},
		{"a fault that is handled", sigSEGV, segvMaperr, true, false, Hit{Op: Signal, Index: sigSEGV, Addr: 0x10, Base: 1}, true},
		{"a fault that somebody sent", sigSEGV, siUser, false, true, Hit{Op: Signal, Index: sigSEGV}, true},
		{"abort", sigABRT, segvMaperr, false, true, Hit{Op: Signal, Index: sigABRT}, true},
		{"what ends it", sigUSR1, siUser, false, true, Hit{Op: Signal, Index: sigUSR1}, true},
		{"what it handles", sigUSR1, siUser, true, false, Hit{}, false},
		{"what it ignores", sigUSR1, siUser, false, false, Hit{}, false},
	} {
		got, told := SignalHit(c.number, c.code, 0x10, c.handled, c.ends)
		if d := cmp.Diff(c.want, got); told != c.told || d != "" {
			t.Errorf("%s: told %v: %s", c.name, told, d)
		}
	}
}
