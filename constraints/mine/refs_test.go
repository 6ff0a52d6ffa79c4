package mine

import (
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

// TestReferences: a number that may count what leads to a node is compared with how many pointers do, from all types, with those
// in static memory or without. An identity, which nodes have all of their own, is not, nor is the number of a node to which nothing leads.
func TestReferences(t *testing.T) {
	d, errs := types.ParseC(`struct value { int refs; int id; }; struct slot { int uses; struct value *val; struct slot *next; };`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	number := func(name string, values ...int64) *field {
		f := &field{name: name, typ: &types.Type{Kind: types.Int, Size: 4}, values: map[int64]int{}, min: slices.Min(values), max: slices.Max(values)}
		for _, v := range values {
			f.values[v]++
		}
		return f
	}
	value := &portrait{typ: &check.NodeType{Name: "value", Layout: d.Lookup("value")}, fields: []*field{number("refs", 1, 2, 3), number("id", 7, 8, 9)}}
	slot := &portrait{typ: &check.NodeType{Name: "slot", Layout: d.Lookup("slot")}, fields: []*field{number("uses", 1, 1)}, links: []*link{
		{name: "val", edge: true, to: map[string]int{"value": 9}}, {name: "next", edge: true, to: map[string]int{"slot": 9}}}}
	all := []*portrait{value, slot}
	globals := []global{{name: "current", paths: map[string][]string{"value": {"::current"}}}}
	want := map[*portrait][]string{
		value: {"value X;  X.refs == X.INDEGREE(val);", "value X;  X.refs == X.INDEGREE(val) + (::current == X ? 1 : 0);", "value X;  X.refs >= X.INDEGREE(val);"},
		slot:  nil, // its number is the same in all
	}
	for p, want := range want {
		m := newMaker(p)
		m.references(all, globals)
		var got []string
		for _, c := range m.out {
			if got = append(got, c.Text); !c.joined {
				t.Errorf("%s: it is not about both types", c.Text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", p.name(), got, want)
		}
	}
}

// TestMostlyEqual: that a count is at least the number of pointers is a law if it mostly is that number, which has several values.
func TestMostlyEqual(t *testing.T) {
	sightings := func(equal, more int, value func(i int) float64) map[pair]bool {
		out := map[pair]bool{}
		for i := range equal + more {
			v := value(i)
			p := pair{values: [2]float64{v, v}}
			if p.of.Index[0] = int64(i); i >= equal {
				p.values[0]++
			}
			out[p] = true
		}
		return out
	}
	varied := func(i int) float64 { return float64(1 + i%3) }
	for _, c := range []struct {
		name        string
		equal, more int
		value       func(int) float64
		want        bool
	}{
		{"mostly", 20, 10, varied, true},
		{"rarely, as what counts all below", 9, 20, varied, false},
		{"a few nodes", 4, 0, varied, false},
		{"always one", 20, 0, func(int) float64 { return 1 }, false},
	} {
		if got := mostlyEqual(sightings(c.equal, c.more, c.value)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		x := &candidate{left: "a", right: "b", holds: relations[">="], weak: true, tight: true, pairs: sightings(c.equal, c.more, c.value)}
		if x.weigh(); x.weak == c.want {
			t.Errorf("%s: weak %v", c.name, x.weak)
		}
	}
}
