package replay

import (
	"errors"
	"testing"
)

// TestResize: what a block holds goes with it where realloc puts it, and stays where it is not moved. Where that is not known the run
// ends, as with a size that it had never.
func TestResize(t *testing.T) {
	f, _ := compile(t, "resized.c", "-O1")
	const place, other = 0x10_0000, 0x20_0000
	for _, to := range []uint64{place, other} {
		call := Call{Entry: f.funcs["grow"], Args: []uint64{1}, MaxSteps: 1000,
			Place: func(int, uint64) uint64 { return place },
			Resize: func(n int, addr, size uint64) (at, was uint64, ok bool) {
				return to, 16, n == 0 && addr == place && size == 32
			},
		}
		run := New(f).Run(call)
		if run.Err != nil || run.Result != 1234 {
			t.Errorf("to %#x: %d, %v", to, run.Result, run.Err)
		}
		var found bool
		for _, e := range run.Effects {
			switch {
			case e.Kind == Resize:
				found = e.From == place && e.Addr == to && e.Size == 32 && (to == place) == (e.Data == nil) && (to == place || len(e.Data) == 16 && e.Data[8] == 2)
			case e.Kind == Store && found && e.Addr-to >= 32:
				t.Errorf("to %#x: %d bytes were stored at %#x", to, e.Size, e.Addr)
			}
		}
		if !found {
			t.Errorf("to %#x: %+v", to, run.Effects)
		}
		call.Resize = nil
		if run := New(f).Run(call); !errors.Is(run.Err, ErrLibrary) {
			t.Errorf("where it lies then is not known: %v", run.Err)
		}
	}
}
