package replay

import (
	"reflect"
	"testing"
)

// TestValueless: a run that need not say which values there were does the same, by the same decisions.
func TestValueless(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	for name, entry := range f.funcs {
		call := Call{Entry: entry, Args: []uint64{40, 11}, MaxSteps: 5000}
		full := New(f).Run(call)
		call.Valueless = true
		less := New(f).Run(call)
		if len(less.Values) > 0 || less.Result != full.Result || less.Steps != full.Steps || !reflect.DeepEqual(less.Decisions, full.Decisions) || len(less.Effects) != len(full.Effects) {
			t.Fatalf("%s: %d values, %d steps, result %d; want none, %d, %d", name, len(less.Values), less.Steps, less.Result, full.Steps, full.Result)
		}
		for i := range less.Effects {
			e := full.Effects[i]
			if e.Origin = nil; !reflect.DeepEqual(less.Effects[i], e) {
				t.Errorf("%s: effect %d is %+v, want %+v", name, i, less.Effects[i], e)
			}
		}
	}
}

// TestLikeOnce: whether an instruction is another one elsewhere is asked once, however often it is executed, and anew of another edit.
func TestLikeOnce(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	ran := 0
	for _, entry := range f.funcs {
		m := New(f)
		run := func(pc uint64) (asked map[uint64]int) {
			asked = map[uint64]int{}
			m.Run(Call{Entry: entry, Args: []uint64{40, 11}, MaxSteps: 5000, Brief: true, Edit: Edit{PC: pc, Kind: Number, Like: func(at uint64) bool {
				asked[at]++
				return false
			}}})
			return asked
		}
		first, again, other := run(1), run(1), run(2)
		if ran += len(first); len(again) > 0 || len(other) != len(first) {
			t.Fatalf("%d were asked, again %d, of another edit %d", len(first), len(again), len(other))
		}
		for pc, n := range first {
			if n > 1 {
				t.Errorf("%#x was asked %d times", pc, n)
			}
		}
	}
	if ran == 0 {
		t.Error("nothing was executed")
	}
}
