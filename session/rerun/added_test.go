package rerun

import (
	"fmt"
	"slices"
	"testing"
)

func given(list ...uint64) (out []argument) {
	for _, v := range list {
		out = append(out, argument{value: v})
	}
	return out
}

// TestArguments: a function is given each value that fits, in all ways; none, where nothing does.
func TestArguments(t *testing.T) {
	f := Callee{Params: []Accepted{{Fits: func(v uint64) bool { return v > 100 }}, {Size: 4}}}
	var got []string
	for args := range f.arguments(given(7, 8), given(100, 200, 300)) {
		got = append(got, fmt.Sprint(args))
	}
	if want := []string{"[200 7]", "[200 8]", "[300 7]", "[300 8]"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	two := Callee{Params: []Accepted{f.Params[0], f.Params[0]}}
	got = nil
	for args := range two.arguments(nil, given(200, 300)) {
		got = append(got, fmt.Sprint(args))
	}
	if want := []string{"[200 300]", "[300 200]"}; !slices.Equal(got, want) {
		t.Errorf("two nodes: %v, want %v", got, want)
	}
	method := Callee{Params: []Accepted{{To: "tree", Fits: func(uint64) bool { return false }}, f.Params[0]}}
	got = nil
	for args := range method.arguments(nil, []argument{{50, "tree"}, {60, "list"}, {200, "node"}, {200, ""}}) {
		got = append(got, fmt.Sprint(args))
	}
	if want := []string{"[50 200]"}; !slices.Equal(got, want) {
		t.Errorf("an object that no node is: %v, want %v", got, want)
	}
	for args := range f.arguments(given(7), given(100)) {
		t.Errorf("%v", args)
	}
	for args := range f.arguments(given(7, 8), given(200)) {
		if args[1] != 7 {
			t.Errorf("%v, though no more was asked for", args)
		}
		break
	}
}

// TestSimplestAdded: of a function the experiment that changes least, where the node was stored to last, in the outermost function, behind a call.
func TestSimplestAdded(t *testing.T) {
	x := func(entry, pc uint64, differs, calls int, beside, end bool) Added {
		return Added{Callee: Callee{Entry: entry}, PC: pc, Outcome: Outcome{Differs: differs}, Calls: make([]uint64, calls), Beside: beside, end: end}
	}
	got := simplestAdded([]Added{
		x(1, 10, 9, 0, true, false), x(1, 11, 4, 0, false, false), x(1, 12, 4, 3, true, true), x(1, 13, 4, 3, true, false), x(1, 14, 4, 4, true, false),
		x(2, 20, 4, 1, false, true), x(2, 21, 4, 1, false, false), x(2, 22, 4, 2, false, false),
	})
	if len(got) != 2 || got[0].PC != 13 || got[1].PC != 21 {
		t.Errorf("%+v", got)
	}
}
