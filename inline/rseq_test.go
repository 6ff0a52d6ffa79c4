package inline

import (
	"strings"
	"testing"

	"mgtrace/trace"
)

// Restartable sequences stay as they are, and restart: nothing is counted twice or lost. Their
// stores are told as not captured, others of the same function are.
func TestRestartable(t *testing.T) {

	for _, path := range []string{build(t, "rseq.c", "-fno-pie", "-no-pie"), build(t, "rseq.c", "-fPIE", "-pie")} {
		output, _ := native(t, path)
		if strings.Contains(output, "no rseq") {
			t.Skip("there are none here")
		}
		var r run
		if err := r.try(t, path); err != nil {
			t.Fatal(err)
		}
		if r.status.Code != 0 || r.output != output {
			t.Errorf("%v, output\n%swithout mgtrace\n%s", r.status, r.output, output)
		}
		// Beside those of the sequence itself, the one that tells the kernel of it.
		if len(r.plan.Unprobed) != 3 || len(r.engine.Unprobed()) != 1 {
			t.Errorf("not captured: %+v, %+v", r.plan.Unprobed, r.engine.Unprobed())
		}
		if n := r.count[trace.KindStore]; n < 160000 {
			t.Errorf("%d stores beside them, want 160,000", n)
		}
	}
}
