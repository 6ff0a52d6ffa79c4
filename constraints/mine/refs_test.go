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
