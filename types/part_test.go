package types

import (
	"slices"
	"testing"
)

// TestPathTo: through arrays, base classes and anonymous members, and no deeper than that where a structure lies in itself.
func TestPathTo(t *testing.T) {
	number := &Type{Kind: Int, Name: "int", Size: 4}
	link := &Type{Kind: Struct, Name: "link", Size: 8, Members: []Member{{Name: "n", Type: number}}}
	links := &Type{Kind: Array, Size: 24, Elem: link, Count: 3}
	table := &Type{Kind: Array, Size: 48, Elem: links, Count: 2}
	base := &Type{Kind: Struct, Name: "base", Size: 8, Members: []Member{{Name: "own", Type: link}}}
	derived := &Type{Kind: Struct, Name: "derived", Size: 16, Members: []Member{{Name: "base", Type: base, Base: true}, {Name: "n", Type: number, Offset: 8}}}
	nameless := &Type{Kind: Struct, Size: 16, Members: []Member{{Type: &Type{Kind: Union, Size: 8, Members: []Member{{Name: "either", Type: link}}}}}}
	rows := &Type{Kind: Struct, Name: "rows", Size: 56, Members: []Member{{Name: "first", Type: link}, {Name: "rest", Type: table, Offset: 8}}}
	within := &Type{Kind: Struct, Name: "within", Size: 8}
	within.Members = []Member{{Name: "again", Type: within}}
	for _, c := range []struct {
		name    string
		in      *Type
		several bool // only elements of arrays
		want    string
		ok      bool
	}{
		{"itself", link, false, "", true},
		{"no array", link, true, "", false},
		{"elements", table, true, "", true},
		{"of a base class", derived, false, "own", true},
		{"of a nameless union", nameless, false, "either", true},
		{"the first", rows, false, "first", true},
		{"the first array", rows, true, "rest", true},
		{"in what has several", &Type{Kind: Array, Size: 32, Elem: &Type{Kind: Struct, Name: "box", Size: 16, Members: []Member{{Name: "in", Type: base}}}, Count: 2}, true, "in.own", true},
		{"in itself", within, false, "", false},
		{"unknown", nil, false, "", false},
	} {
		path, ok := c.in.PathTo(func(part *Type, several bool) bool { return part == link && (several || !c.several) })
		if path != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.name, path, ok)
		}
	}
}

// TestSiblings: the other parts of the type of the outermost structure at an offset that has such. Elements of arrays are none.
func TestSiblings(t *testing.T) {
	number := &Type{Kind: Int, Name: "int", Size: 4}
	link := &Type{Kind: Struct, Name: "link", Size: 8, Members: []Member{{Name: "n", Type: number}}}
	pair := &Type{Kind: Struct, Name: "pair", Size: 16, Members: []Member{{Name: "one", Type: link}, {Name: "two", Type: link, Offset: 8}}}
	pool := &Type{Kind: Struct, Name: "pool", Size: 80, Members: []Member{
		{Name: "idle", Type: pair}, {Name: "busy", Type: pair, Offset: 16}, {Name: "lone", Type: link, Offset: 32},
		{Name: "rows", Type: &Type{Kind: Array, Size: 32, Elem: pair, Count: 2}, Offset: 40},
		{Type: &Type{Kind: Struct, Size: 8, Members: []Member{{Name: "n", Type: number}}}, Offset: 72},
	}}
	for _, c := range []struct {
		at   int64
		path string
		want []string
	}{
		{0, "idle", []string{"busy"}},
		{16, "busy", []string{"idle"}},
		{24, "busy.two", []string{"idle.one", "idle.two", "busy.one", "lone"}},
		{32, "lone", []string{"idle.one", "idle.two", "busy.one", "busy.two"}},
		{40, "", nil},
		{72, "", nil},
		{4, "", nil},
	} {
		p, others := pool.Siblings(c.at)
		var got []string
		for _, o := range others {
			got = append(got, o.Path)
		}
		if p.Path != c.path || !slices.Equal(got, c.want) {
			t.Errorf("%d: %q, %q", c.at, p.Path, got)
		}
	}
}
