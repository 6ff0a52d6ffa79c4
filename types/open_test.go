package types

import "testing"

func TestOpened(t *testing.T) {
	long := &Type{Kind: Int, Name: "long", Size: 8, Signed: true}
	array := func(n int64) *Type { return &Type{Kind: Array, Elem: long, Count: n, Size: 8 * max(n, 0)} }
	of := func(name string, members ...*Type) *Type {
		list := make([]Member, len(members))
		for i, m := range members {
			list[i] = Member{Name: string(rune('a' + i)), Type: m}
		}
		return classOf(name, nil, list...)
	}
	for _, c := range []struct {
		name  string
		typ   *Type
		bound int64 // of its last array; 0: it has none that goes on
		first int64 // that is no field
	}{
		{"one element at the end", of("s", long, array(1)), -1, 1},
		{"flexible", of("s", long, array(-1)), -1, 0},
		{"two elements", of("s", long, array(2)), 0, 0},
		{"one element before the end", of("s", array(1), long), 0, 0},
		{"of a template", of("Vec<1>", long, array(1)), 0, 0},
		{"in a class of a template", of("List<int>::Node", long, array(1)), -1, 1},
		{"nothing", of("s"), 0, 0},
	} {
		fields := c.typ.NumScalars()
		o := c.typ.Opened()
		if got := o.NumScalars(); got != fields {
			t.Errorf("%s: %d fields, %d before", c.name, got, fields)
		}
		a, m, first := o.Tail()
		if (a != nil) != (c.bound < 0) {
			t.Errorf("%s: its array is %v", c.name, a)
		} else if a != nil && (a.Bound() != c.bound || first != c.first || m.Offset != 8) {
			t.Errorf("%s: %d elements behind %d, of which %d are fields", c.name, a.Bound(), m.Offset, first)
		}
	}
}
