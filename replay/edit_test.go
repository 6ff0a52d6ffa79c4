package replay

import "testing"

// TestEdit: an instruction that is another one, each time that it is executed.
func TestEdit(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	m := New(f)
	run := func(name string, args []uint64, e Edit) *Run {
		return m.Run(Call{Entry: f.funcs[name], Args: args, MaxSteps: 10_000, Edit: e, Brief: true})
	}
	// any: an edit of this kind, of a site, has this result.
	any := func(name string, args []uint64, want func(*Run) bool, edit func(*Site) (Edit, bool)) bool {
		for _, s := range m.Run(Call{Entry: f.funcs[name], Args: args, MaxSteps: 10_000, Sites: true}).Sites {
			if e, ok := edit(s); ok {
				e.PC = s.PC
				if want(run(name, args, e)) {
					return true
				}
			}
		}
		return false
	}
	result := func(n uint64) func(*Run) bool {
		return func(r *Run) bool { return r.Err == nil && r.Result == n }
	}
	effects := func(k Kind, n int) func(*Run) bool {
		return func(r *Run) bool {
			have := 0
			for _, e := range r.Effects {
				if e.Kind == k {
					have++
				}
			}
			return r.Err == nil && have == n
		}
	}
	of := func(k EditKind, by uint64, is func(*Site) bool) func(*Site) (Edit, bool) {
		return func(s *Site) (Edit, bool) { return Edit{Kind: k, By: by}, is(s) }
	}
	less := func(s *Site) bool { return s.Less }
	stored := m.Run(Call{Entry: f.funcs["chain"], Args: []uint64{3, 1}, MaxSteps: 10_000})
	n := 0
	for _, e := range stored.Effects {
		if e.Kind == Store {
			n++
		}
	}
	for _, c := range []struct {
		name string
		call string
		args []uint64
		want func(*Run) bool
		edit func(*Site) (Edit, bool)
	}{
		{"negated", "bigger", []uint64{9, 4}, result(13), of(Negate, 0, less)},
		{"equal", "bigger", []uint64{4, 4}, result(0), of(Equal, 0, less)},
		{"another variable", "bigger", []uint64{9, 4}, result(0), of(Place, ^uint64(7), func(s *Site) bool { return s.Frame != 0 && !s.Stores && s.Value == 9 })},         // 4 - 4
		{"more", "deep", []uint64{1, 40}, result(43), of(Number, 1, func(s *Site) bool { return s.Step == 1 })},                                                           // 41 + 1, and one more
		{"another constant", "floats", []uint64{100, 0}, result(906), of(Constant, Bits(2.5, 8), func(s *Site) bool { return s.Float == 8 && Float(s.Value, 8) == 1.5 })}, // 806 + 100
		{"no call", "chain", []uint64{3, 1}, effects(Free, 0), of(Skip, 0, func(s *Site) bool { return s.Call })},
		{"no store", "chain", []uint64{3, 1}, effects(Store, n-3), of(Skip, 0, func(s *Site) bool { return s.Stores && s.Frame == 0 })},
		{"NULL", "chain", []uint64{3, 1}, effects(Free, 1), of(Zero, 0, func(s *Site) bool { return s.Stores && s.Frame == 0 && s.Size == 8 })},
	} {
		if !any(c.call, c.args, c.want, c.edit) {
			t.Errorf("%s: no instruction of %s does what is wanted", c.name, c.call)
		}
	}
	if r := run("bigger", []uint64{9, 4}, Edit{Kind: Equal, PC: f.funcs["bigger"]}); r.Result != 5 {
		t.Errorf("an edit of another instruction: %d, want 5", r.Result)
	}
}
