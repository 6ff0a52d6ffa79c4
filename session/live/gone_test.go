package live

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"mgtrace/target"
)

// TestKilledMeanwhile: a process that is killed while mgtrace attaches has ended, and that is all there is to tell: no
// other engine is tried.
func TestKilledMeanwhile(t *testing.T) {
	for _, kills := range []bool{false, true} {
		victim := exec.Command("sleep", "1000")
		if err := victim.Start(); err != nil {
			t.Skip(err)
		}
		var said []string
		o := Options{Capture: CaptureOptions{Engine: "auto", Log: func(format string, a ...any) {
			if said = append(said, fmt.Sprintf(format, a...)); kills && strings.HasPrefix(format, "planned in") {
				_ = victim.Process.Kill()
			}
		}}}
		l, err := Seize(t.Context(), victim.Process.Pid, o)
		if err == nil {
			err = l.close()
		}
		_ = victim.Process.Kill()
		_ = victim.Wait()
		switch {
		case errors.Is(err, target.ErrDenied):
			t.Skip(err)
		case !kills && err != nil:
			t.Error(err)
		case kills && (!errors.Is(err, target.ErrExited) || strings.Contains(err.Error(), "ebpf")):
			t.Errorf("%v; said %q", err, said)
		}
	}
}
