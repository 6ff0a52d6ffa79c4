package mine

import (
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

// TestSumsUp: a number sums up another one that was the same in all whenever both were known, and not always one number.
func TestSumsUp(t *testing.T) {
	of := func(sums ...int64) (all []whole) {
		for _, s := range sums {
			all = append(all, whole{s, s >= 0})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		of, all []whole
		want    bool
	}{
		{"the same", of(1, 5, 9), of(1, 5, 9), true},
		{"once not known", of(1, -1, 9), of(1, 5, 9), true},
		{"another one", of(1, 5, 9), of(1, 6, 9), false},
		{"never known together", of(-1, 5), of(5, -1), false},
		{"a constant", of(0, 0, 0), of(0, 0, 0), false},
	} {
		if got := sumsUp(c.of, c.all); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestSumsOfAll: only a number of a lone owner, or one in static memory, is looked at; one whose nodes had other values in all is not.
func TestSumsOfAll(t *testing.T) {
	number := func(name string, sums ...int64) *field {
		f := &field{name: name, typ: &types.Type{Kind: types.Int, Size: 4}}
		for _, s := range sums {
			f.all = append(f.all, whole{s, true})
		}
		return f
	}
	page := &portrait{typ: &check.NodeType{Name: "page"}, fields: []*field{number("size", 3, 8), number("id", 1, 3)}}
	cache := &portrait{typ: &check.NodeType{Name: "cache"}, alone: true, fields: []*field{number("used", 3, 8), number("limit", 9, 9)}}
	caches := &portrait{typ: &check.NodeType{Name: "part"}, fields: []*field{number("used", 4, 9)}}
	statics := []counter{{"::bytes", number("", 3, 8).all}, {"::ids", number("", 2, 3).all}, {"::parts", number("", 4, 9).all}}
	all := []*portrait{page, cache, caches}
	for of, want := range map[*portrait][]string{
		page:   {"::bytes == SUM(page Y: Y.size);"},
		cache:  {"cache X;  X.used == SUM(page Y: Y.size);", "::bytes == SUM(cache Y: Y.used);"},
		caches: {"::parts == SUM(part Y: Y.used);"},
	} {
		m := newMaker(of)
		m.sumsOfAll(all, statics)
		var got []string
		for _, c := range m.out {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", of.name(), got, want)
		}
	}
}

// TestToPart: a pointer to a node's link is none to the node, one to its base class or from a class that derives from it is.
func TestToPart(t *testing.T) {
	d, errs := types.ParseC(`struct link { struct link *next; }; struct conn { int refs; struct link all; }; struct other { struct conn *conn; };`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	conn := d.Lookup("conn")
	for name, want := range map[string]bool{"link": true, "conn": false} {
		if got := (&link{elem: d.Lookup(name)}).toPart(conn); got != want {
			t.Errorf("pointer to %s: %v", name, got)
		}
	}
	if (&link{}).toPart(conn) {
		t.Error("a pointer to void leads to no part")
	}
}

// TestTallies: an array counts nodes by a number of theirs that is a place in it; a number that may lie behind its end is none, nor one that was always the same.
func TestTallies(t *testing.T) {
	d, errs := types.ParseC(`struct wheel { int levels[3]; }; struct timer { int level; struct wheel *wheel; };`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	number := func(name string, least, most int64) *field {
		return &field{name: name, typ: &types.Type{Kind: types.Int, Size: 4}, values: map[int64]int{least: 1, most: 1}, min: least, max: most}
	}
	wheel := &portrait{typ: &check.NodeType{Name: "wheel", Layout: d.Lookup("wheel")}, arrays: []*array{{name: "levels", count: 3}}}
	timer := &portrait{typ: &check.NodeType{Name: "timer", Layout: d.Lookup("timer")}, fields: []*field{number("level", 0, 2), number("slot", 0, 3), number("kind", 1, 1)},
		links: []*link{{name: "wheel", edge: true, elem: d.Lookup("wheel"), to: map[string]int{"wheel": 9}}}}
	m := newMaker(wheel)
	m.tallies([]*portrait{wheel, timer})
	var got []string
	for _, c := range m.out {
		got = append(got, c.Text)
	}
	want := []string{
		"wheel X;  for I in 0 to 2, X.levels[I] == COUNT(timer Y: Y.level == I);",
		"wheel X;  for I in 0 to 2, X.levels[I] == COUNT(timer Y: Y.wheel == X and Y.level == I);",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSumsOfThose: numbers of the nodes that have a pointer to one node, several at a time; a pointer that leads to nodes of two types, or never to
// one from several, says nothing, nor does a number that is always the same or larger than the sum.
func TestSumsOfThose(t *testing.T) {
	number := func(name string, values ...int64) *field {
		f := &field{name: name, typ: &types.Type{Kind: types.Int, Size: 4}, values: map[int64]int{}}
		for _, v := range values {
			f.values[v]++
			f.min, f.max = min(f.min, v), max(f.max, v)
		}
		return f
	}
	item := &portrait{typ: &check.NodeType{Name: "item"}, fields: []*field{number("total", 0, 4, 9), number("id", 7)}}
	stack := &portrait{typ: &check.NodeType{Name: "stack"}, fields: []*field{number("count", 0, 4, 5), number("limit", 3), number("value", 1, 80)}}
	for _, c := range []struct {
		name string
		link link
		want int
	}{
		{"several", link{name: "of", edge: true, shared: true, to: map[string]int{"item": 5}}, 1},
		{"one each", link{name: "of", edge: true, to: map[string]int{"item": 5}}, 0},
		{"others too", link{name: "of", edge: true, shared: true, to: map[string]int{"item": 5, "stack": 2}}, 0},
	} {
		stack.links = []*link{&c.link}
		m := newMaker(item)
		m.sumsOfThose([]*portrait{item, stack})
		no := newMaker(item)
		no.mostlySum = func(*portrait, *link, *field, *field) bool { return false }
		if no.sumsOfThose([]*portrait{item, stack}); len(no.out) > 0 {
			t.Errorf("%s: tried, though it is no sum", c.name)
		}
		if len(m.out) != c.want || c.want > 0 && m.out[0].Text != "item X;  X.total == SUM(stack Y: Y.of == X ? Y.count : 0);" {
			t.Errorf("%s: %d candidates, want %d", c.name, len(m.out), c.want)
		}
	}
}
