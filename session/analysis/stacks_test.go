package analysis

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/trace"
)

// TestNoStack: what is no address of any process is on no stack.
func TestNoStack(t *testing.T) {
	s := newStacks(&trace.Program{})
	for addr, want := range map[trace.Addr]bool{0x7ffd_1234_5678: true, 0x6d59_accf_4bad_7e70: false, 0x5555_5555_0000: false} {
		if got := s.inUse(addr, eval.CPoint{}); got != want {
			t.Errorf("%#x: on the stack: %t", uint64(addr), got)
		}
	}
}
