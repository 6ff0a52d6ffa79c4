package inline

import (
	"testing"

	"mgtrace/trace"
)

// TestBulk: what a bulk writer wrote may be longer than the guard behind the
// buffers, so that a thread needs the other one long before it is at the end.
func TestBulk(t *testing.T) {
	for _, sigsegv := range []bool{false, true} {
		r := run{options: Options{sigsegv: sigsegv, Buffer: 128 << 10}}
		r.same(t, build(t, "bulk.c", "-fno-builtin"))
		if n := r.count[trace.KindBulk]; n < 4000 {
			t.Errorf("%d bulk writes, want 4000", n)
		}
		if r.stats.Stops == 0 {
			t.Error("no buffer was ever full")
		}
	}
}
