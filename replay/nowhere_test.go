package replay

import (
	"errors"
	"testing"
)

// TestNowhere: what reads or writes where no process has memory ends the run, as it ends the program.
func TestNowhere(t *testing.T) {
	for _, addr := range []uint64{0, 8, 1 << 47, 1<<64 - 16} {
		c := &cpu{m: New(&file{}), call: &Call{}, pages: map[uint64]*page{}}
		c.load(addr, 8)
		if !errors.Is(c.run.Err, ErrFault) {
			t.Errorf("read at %#x: %v", addr, c.run.Err)
		}
		c.run.Err = nil
		c.storeInt(addr, 8, 1)
		if !errors.Is(c.run.Err, ErrFault) {
			t.Errorf("write at %#x: %v", addr, c.run.Err)
		}
	}
}
