package replay

import (
	"slices"
	"testing"
)

// TestBeside: a call that is made beside does what it does, and nothing but memory is another one behind it, wherever it is made, with and without optimisation.
func TestBeside(t *testing.T) {
	for _, level := range []string{"-O0", "-O1"} {
		f, _ := compile(t, "beside.c", level, "-fno-inline")
		m := New(f)
		call := Call{Entry: f.funcs["both"], Args: []uint64{3, 4}, MaxSteps: 1000, Sites: true}
		was := m.Run(call)
		if was.Err != nil || was.Result != 0 || len(was.Called) != 3 {
			t.Fatalf("%s: %v, %d with %d calls", level, was.Err, was.Result, len(was.Called))
		}
		outer, first, second := was.Called[0], was.Called[1], was.Called[2]
		if first.Entry != f.funcs["put"] || !slices.Equal(second.Args[:2], []uint64{1, 4}) || outer.Step != 0 || second.PC == 0 {
			t.Errorf("%s: calls %+v", level, was.Called)
		}
		if outer.Last != was.Steps-1 || first.Last <= first.Step || second.Step <= first.Last || first.Behind != 1 || second.Before != 1 || second.Behind != 2 {
			t.Errorf("%s: from and to: %+v", level, was.Called)
		}
		call.Sites, call.Brief = false, true
		plain := len(was.Effects)
		for step := 0; step < was.Steps; step++ {
			call.Beside = Beside{Entry: f.funcs["total"], Args: []uint64{2}, Step: step}
			r := m.Run(call)
			// The sum is that of what was stored by then; both adds what it reads of it, and what its parts do.
			if r.Err != nil || len(r.Effects) <= plain || r.Result > 7*12 {
				t.Fatalf("%s, before instruction %d: %v, %d with %d effects", level, step, r.Err, r.Result, len(r.Effects))
			}
		}
		for _, c := range []struct {
			name string
			step int
			want uint64
		}{
			{"at the beginning", 0, 0}, {"behind the first", first.Last + 1, 3 + 3*10}, {"behind the second", second.Last + 1, 7}, {"at the end", outer.Last, 0}, {"never", was.Steps + 9, 0},
		} {
			call.Beside.Step = c.step
			if r := m.Run(call); r.Result != c.want {
				t.Errorf("%s, %s: %d, want %d", level, c.name, r.Result, c.want)
			}
		}
		call.Beside = Beside{Entry: f.funcs["put"], Args: []uint64{0, 9}, Step: outer.Last}
		m.Trail(Call{Entry: call.Entry, Args: call.Args, MaxSteps: 1000}, was.Steps)
		call.Same = outer.Last
		if r := m.Run(call); r.Err != nil || r.Effects[len(r.Effects)-1].Data[0] != 9 {
			t.Errorf("%s, from the trail: %v", level, r.Err)
		}
	}
}
