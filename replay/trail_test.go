package replay

import (
	"fmt"
	"reflect"
	"testing"
)

// TestTrail: an experiment that begins where it first differs comes to what it comes to from the beginning.
func TestTrail(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "sums.c", level)
		m := New(f)
		resumed := 0
		for name, entry := range f.funcs {
			call := Call{Entry: entry, Args: []uint64{40, 11}, MaxSteps: 5000}
			was := m.Run(call)
			if was.Err != nil || was.Steps < 3*minTrail {
				continue
			}
			m.Trail(call, was.Steps)
			for i, d := range was.Decisions {
				c := call
				c.Brief = true
				c.Flip = func(n int, _ uint64) bool { return n == i }
				want := m.Run(c)
				c.Same = d.Step
				if m.resume(&c) != nil {
					resumed++
				}
				got := m.Run(c)
				if fmt.Sprint(got.Err) != fmt.Sprint(want.Err) || !reflect.DeepEqual(got.Effects, want.Effects) || got.Steps != want.Steps || got.Result != want.Result {
					t.Fatalf("%s, decision %d: %d steps, result %d, %v; want %d, %d, %v", name, i, got.Steps, got.Result, got.Err, want.Steps, want.Result, want.Err)
				}
			}
		}
		if resumed == 0 {
			t.Errorf("%s: nothing was resumed", level)
		}
	}
}
