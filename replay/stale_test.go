package replay

import "testing"

// TestStale: a block that is used by the address that it had when it was freed.
func TestStale(t *testing.T) {
	for _, level := range []string{"-O0", "-Og"} {
		f, _ := compile(t, "freed.c", level, "-fno-builtin", "-fno-inline")
		m := New(f)
		for name, want := range map[string]bool{"early": true, "in_time": false, "led_to": false, "again": false} {
			run := m.Run(Call{Entry: f.funcs[name], Args: []uint64{7}, MaxSteps: 1000, Size: func(uint64) uint64 { return 0 }})
			if run.Err != nil || (run.Stale != nil) != want {
				t.Errorf("%s, %s: %v %+v, want %t", name, level, run.Err, run.Stale, want)
			}
			if run.Stale != nil && run.Effects[run.Stale.Freed].Kind != Free {
				t.Errorf("%s: effect %d is no free", name, run.Stale.Freed)
			}
		}
	}
}
