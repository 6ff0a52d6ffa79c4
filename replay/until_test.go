package replay

import "testing"

// TestUntil: a run ends at the moment that is asked for: where a function begins the n-th time, or has returned; one that does not come
// there goes to the call's end.
func TestUntil(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	m := New(f)
	deep := f.funcs["deep"]
	call := Call{Entry: deep, Args: []uint64{3, 1}, MaxSteps: 10_000} // calls itself three times
	was := m.Run(call)
	for _, c := range []struct {
		name  string
		until Moment
		met   int
		early bool
	}{
		{"nowhere", Moment{}, 0, false},
		{"counted", Moment{PC: deep}, 4, false},
		{"begins the third time", Moment{PC: deep, Times: 3}, 3, true},
		{"has returned", Moment{PC: deep, Back: true, Times: 1}, 1, true},
		{"has returned, counted", Moment{PC: deep, Back: true}, 3, false},
		{"too often", Moment{PC: deep, Times: 5}, 4, false},
		{"elsewhere", Moment{PC: f.funcs["arrays"], Times: 1}, 0, false},
	} {
		call.Until = c.until
		r := m.Run(call)
		if r.Err != nil || len(r.Met) != c.met || (r.Steps < was.Steps) != c.early || !c.early && r.Result != was.Result {
			t.Errorf("%s: %d times, %d of %d steps, result %d, %v", c.name, len(r.Met), r.Steps, was.Steps, r.Result, r.Err)
		}
	}
	// It ends after as many steps where it goes on from a state in between.
	call.Until = Moment{PC: deep, Back: true, Times: 2}
	want := m.Run(call)
	m.Trail(call, want.Steps)
	call.Brief, call.Same = true, want.Steps-1
	if got := m.Run(call); got.Steps != want.Steps {
		t.Errorf("%d steps from a state in between, want %d", got.Steps, want.Steps)
	}
}
