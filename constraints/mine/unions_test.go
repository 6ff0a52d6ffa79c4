package mine

import (
	"fmt"
	"slices"
	"testing"

	"mgtrace/types"
)

const unionText = `struct text { int len; };
struct node {
	int kind;
	union {
		long number;
		struct text *text;
		struct { struct node *left, *right; };
		struct { struct node *first, *last; int n; } kids;
	};
	union { struct node *only; } plain;
};`

// TestAlternatives: the members of a union that have pointers to nodes; of one without a name its pointers are named. A union of one member is none.
func TestAlternatives(t *testing.T) {
	d, errs := types.ParseC(unionText)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	node := d.Lookup("node")
	var got []string
	for _, alts := range alternativesIn(node, "", 0, 0, func(e *types.Type) bool { return sameStruct(e, node) }) {
		for _, a := range alts {
			got = append(got, fmt.Sprint(a.names, len(a.pointers), a.pointers[0].Offset))
		}
	}
	if want := []string{"[left right] 2 8", "[kids] 2 8"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = nil
	for _, s := range unshared(node, "", 0, 0) {
		got = append(got, fmt.Sprint(s.Path, s.Offset))
	}
	if want := []string{"kids.n24"}; !slices.Equal(got, want) {
		t.Errorf("numbers %q, want %q", got, want)
	}
}

// TestTagOf: a number is the tag if for its values the pointers of one alternative lead to nodes, and others are in doubt without it. Of two that fit
// the one is meant of which all pointers lead somewhere. What led astray once is not in use there, and what is always so needs no tag.
func TestTagOf(t *testing.T) {
	one, two := alternative{pointers: make([]types.Scalar, 1)}, alternative{pointers: make([]types.Scalar, 2)}
	fill := func(astray int, set ...int) filling { return filling{set: set, astray: astray} }
	for _, c := range []struct {
		name string
		seen map[int64][]filling
		want map[int64]int
		tag  bool
	}{
		{"numbers, one and two", map[int64][]filling{0: {fill(9, 0), fill(9, 0, 0)}, 1: {fill(0, 9), fill(0, 9, 0)}, 2: {fill(0, 9), fill(0, 9, 9)}}, map[int64]int{1: 0, 2: 1}, true},
		{"what is left behind", map[int64][]filling{0: {fill(9, 0), fill(9, 0, 1)}, 1: {fill(0, 9), fill(2, 9, 1)}, 2: {fill(0, 9), fill(0, 9, 9)}}, map[int64]int{1: 0, 2: 1}, true},
		{"no tag: numbers of each", map[int64][]filling{0: {fill(4, 5), fill(4, 5, 5)}, 1: {fill(4, 5), fill(4, 5, 5)}}, map[int64]int{}, false},
		{"by chance", map[int64][]filling{0: {fill(4, 50), fill(4, 50, 50)}, 1: {fill(0, 5), fill(0, 5, 5)}}, map[int64]int{1: 1}, false},
		{"always the same", map[int64][]filling{0: {fill(0, 9), fill(0, 9, 9)}, 1: {fill(0, 9), fill(0, 9, 9)}}, map[int64]int{0: 1, 1: 1}, false},
		{"seen too rarely", map[int64][]filling{0: {fill(9, 0), fill(9, 0, 0)}, 1: {fill(0, 3), fill(0, 1, 0)}}, map[int64]int{}, false},
	} {
		x := tagOf{seen: c.seen}
		got := x.chosen([]alternative{one, two})
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if tag := x.explains(got) >= minExplained; tag != c.tag {
			t.Errorf("%s: %v", c.name, x.explains(got))
		}
	}
}

// TestOpenTags: what a kind uses is open where none of its nodes had a pointer there nor a number; a kind of which one was seen is not, and of numbers
// that have no names nothing is said.
func TestOpenTags(t *testing.T) {
	seen := map[int64][]filling{0: {{set: []int{0}, astray: 9}}, 1: {{set: []int{9}}}, 2: {{set: []int{0}}}, 3: {{set: []int{2}}}}
	named := &types.Type{Kind: types.Enum}
	for i, n := range []string{"NUMBER", "NOT", "LIST", "RARE", "NEVER"} {
		named.Enumerators = append(named.Enumerators, types.Enumerator{Name: n, Value: int64(i)})
	}
	x := tagOf{field: &field{typ: named}, seen: seen}
	if got, want := x.open(map[int64]int{1: 0}), []string{"LIST", "RARE", "NEVER"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	x.field = &field{typ: &types.Type{Kind: types.Int}}
	if got := x.open(map[int64]int{1: 0}); got != nil {
		t.Errorf("%v of numbers without names", got)
	}
}
