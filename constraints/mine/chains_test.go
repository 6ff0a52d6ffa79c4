package mine

import (
	"fmt"
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// TestFirstsIn: numbers in static memory, arrays of them, and those of structures may lead to first nodes; elements, few bits and texts may not.
func TestFirstsIn(t *testing.T) {
	d, errs := types.ParseC(`struct queue { short head, tail; unsigned on : 1; char name[4]; unsigned char slot[6]; }; struct all { struct queue q; struct queue many[2]; };`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	short := &types.Type{Kind: types.Int, Name: "short", Size: 2}
	var got []string
	for _, v := range []check.Variable{
		{Name: "all", Addr: 0x100, Type: d.Lookup("all")}, {Name: "first", Addr: 0x200, Type: short}, {Name: "bucket", Addr: 0x300, Type: &types.Type{Kind: types.Array, Elem: short, Count: 8, Size: 16}}, {Name: "none"},
	} {
		for _, h := range firstsIn(v, 0x1000) {
			got = append(got, fmt.Sprintf("%s %#x %d of %d", h.path, uint64(h.at), h.n, h.of.size))
		}
	}
	want := []string{"::all.q.slot 0x1109 6 of 1", "::all.q.head 0x1100 0 of 2", "::all.q.tail 0x1102 0 of 2", "::first 0x1200 0 of 2", "::bucket 0x1300 8 of 2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLeads: a number leads to a first node, or nowhere; one that leads to a node to which another node's number does, or that is no place, is something else.
func TestLeads(t *testing.T) {
	h := mgpp.New(mgpp.Options{})
	if _, err := h.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 8}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Apply(&trace.Event{Kind: trace.KindStore, Addr: 0x1000, Size: 7, Data: []byte{3, 255, 0, 1, 9, 255, 255}}); err != nil {
		t.Fatal(err)
	}
	led := []int{0, 1, 0, 0}
	for _, c := range []struct {
		name       string
		at         trace.Addr
		n          int64
		want, some bool
	}{
		{"two places and nowhere", 0x1000, 3, true, true}, {"one that is led to", 0x1003, 0, false, false}, {"no place", 0x1004, 0, false, false},
		{"nowhere", 0x1005, 2, true, false}, {"never written", 0x1007, 0, false, false}, {"behind places", 0x1000, 4, false, true},
	} {
		x := firsts{of: newField(types.Scalar{Type: &types.Type{Kind: types.Uint}, Size: 1}), at: c.at, n: c.n}
		if got := x.leads(h.At(h.Now()), led); got != c.want || x.some != c.some {
			t.Errorf("%s: %v, and some %v", c.name, got, x.some)
		}
	}
}
