package mine

import (
	"testing"

	"mgtrace/mgpp"
)

// operations is a run with a setup, called once, and operations that are called ten times each.
func operations(setup string, others ...string) *terrain {
	t := &terrain{
		run: &Run{Library: func(string) bool { return false }}, own: map[string]bool{}, stores: map[string]bool{},
	}
	for f, name := range append([]string{setup}, others...) {
		t.own[name], t.stores[name] = true, true
		t.places = append(t.places, place{name, false}, place{name, true})
		n := 10
		if f == 0 {
			n = 1
		}
		for range n {
			at := mgpp.Timestamp(len(t.moments))
			t.run.Calls = append(t.run.Calls, Call{Func: name, Parent: -1, Enter: at, Leave: at + 1, Left: true})
			t.mutating = append(t.mutating, true)
			for end := range 2 {
				t.moments = append(t.moments, moment{at: at + mgpp.Timestamp(end), place: 2*f + end, state: len(t.moments) + 1})
				t.alive = append(t.alive, 1)
			}
		}
	}
	return t
}

// TestMeant: what holds while the program sets up and at hardly any place later is an accident, and costs no
// operation its C-point; what fails at few places stays, and what leaves operations enough.
func TestMeant(t *testing.T) {
	fact := func(key string, fails ...int) *candidate {
		c := &candidate{key: key, fails: map[int]int{}}
		for _, p := range fails {
			c.fails[p] = 1
		}
		return c
	}
	for _, c := range []struct {
		name  string
		facts []*candidate
		want  []string
	}{
		{"an accident", []*candidate{fact("law", 2), fact("accident", 2, 3, 4, 5, 6, 7)}, []string{"law"}},
		{"a law that some operations break", []*candidate{fact("law", 2, 3, 4, 5)}, []string{"law"}},
		{"nothing would be left", []*candidate{fact("a", 2, 3, 4, 5), fact("b", 3, 4, 5, 6, 7)}, []string{"a"}},
		{"laws that leave nothing", []*candidate{fact("a", 2, 3, 4), fact("b", 5, 6, 7)}, []string{"a", "b"}},
	} {
		var got []string
		for _, f := range operations("setup", "insert", "remove", "update").meant(c.facts) {
			got = append(got, f.key)
		}
		if len(got) != len(c.want) || len(got) > 0 && got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
		for _, f := range c.facts {
			if kept := len(got) == len(c.facts) || f.key == "law" || f.key == "a"; f.dead == kept {
				t.Errorf("%s: %s is dead: %v", c.name, f.key, f.dead)
			}
		}
	}
}

// TestUnborn: where a constructor begins and a destructor ends there is no C-point, though no law that was found is broken there.
func TestUnborn(t *testing.T) {
	want := map[string]string{"fill": ":entry:exit", "Map::Map(int)": ":exit", "Map::put(int)": ":entry:exit", "Map<int>::~Map()": ":entry"}
	for _, c := range operations("fill", "Map::Map(int)", "Map::put(int)", "Map<int>::~Map()").choose(nil) {
		got := ""
		if c.Entry {
			got += ":entry"
		}
		if c.Exit {
			got += ":exit"
		}
		if got != want[c.Func] || !c.Chosen {
			t.Errorf("%s%s, not %s; it is chosen: %v", c.Func, got, want[c.Func], c.Chosen)
		}
	}
}
