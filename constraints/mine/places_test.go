package mine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// TestNumberArrays: arrays of numbers may hold places, those in parts of a structure as well; texts, pointers and numbers by themselves do not.
func TestNumberArrays(t *testing.T) {
	d, errs := types.ParseC(`struct part { unsigned short ready[9]; long n; };
		struct all { int id; unsigned char heap[8]; char name[8]; struct part k; struct all *kids[4]; int one[1]; };`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, s := range placesIn(check.Variable{Name: "g", Type: d.Lookup("all")}) {
		got = append(got, fmt.Sprint(s.Path, " ", s.Offset, " ", s.Type.Count))
	}
	if want := []string{"g.heap 4 8", "g.k.ready 24 9"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := placesIn(check.Variable{Name: "g", Type: d.Lookup("part")}); len(got) != 1 || got[0].Path != "g.ready" {
		t.Errorf("%v", got)
	}
}

// TestDifferent: places are different, within the array, and written.
func TestDifferent(t *testing.T) {
	h := mgpp.New(mgpp.Options{})
	if _, err := h.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 8}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Apply(&trace.Event{Kind: trace.KindStore, Addr: 0x1000, Size: 6, Data: []byte{3, 0, 7, 3, 8, 1}}); err != nil {
		t.Fatal(err)
	}
	f := newField(types.Scalar{Type: &types.Type{Kind: types.Uint, Size: 1}, Size: 1})
	for _, c := range []struct {
		first, n, count int64
		want            bool
	}{
		{0, 3, 8, true}, {0, 0, 8, true}, {0, 4, 8, false}, {3, 2, 8, false}, {5, 1, 8, true}, {5, 2, 8, false}, // 6 was never written
		{5, 3, 6, true}, {5, 4, 6, true}, {5, 5, 6, false},
	} {
		if got := f.different(h.At(h.Now()), 0x1000, c.first, c.n, c.count, 8); got != c.want {
			t.Errorf("%d from %d of %d: %v", c.n, c.first, c.count, got)
		}
	}
}

// TestElementsAre: what is said of nodes by the array of their places, each of which is in one state; and nothing of each node where that takes too many steps.
func TestElementsAre(t *testing.T) {
	number := func(name string, values ...int64) *field { return numberOf(2, name, values...) }
	d, errs := types.ParseC("struct job { unsigned short state, pos, due; };")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	job := &row{maker: newMaker(&portrait{typ: &check.NodeType{Name: "job", Layout: d.Lookup("job")}, fields: []*field{number("state", 0, 1), number("pos", 0, 1, 2, 65535)}}), array: "::k.jobs", count: 40}
	n := number("n", 0, 40)
	tried := func(count int64) (got []string) {
		m := newMaker(&portrait{typ: &check.NodeType{Name: "owner"}})
		a := &table{name: "heap", elem: &types.Type{Kind: types.Uint, Size: 2}, count: count, row: job}
		n.max = count
		m.elementsAre(a, size{name: "n", text: "X.n", field: n}, []*row{job})
		for _, c := range m.out {
			got = append(got, c.Text)
		}
		return got
	}
	got := tried(40)
	for _, want := range []string{
		"owner X;  for I in 0 to X.n - 1, 0 <= X.heap[I] and X.heap[I] < 40;",
		"owner X;  for I in 0 to X.n - 1, ::k.jobs[X.heap[I]].pos == I;",
		"owner X;  for I in 1 to X.n - 1, ::k.jobs[X.heap[(I - 1) / 2]].due <= ::k.jobs[X.heap[I]].due;",
		"owner X;  for I in 1 to X.n - 1, ::k.jobs[X.heap[I - 1]].due <= ::k.jobs[X.heap[I]].due;",
		"owner X;  forall job Y; SUM(I in 0 to X.n - 1: X.heap[I] == Y - ::k.jobs[0] ? 1 : 0) <= 1;",
		"owner X;  forall job Y; SUM(I in 0 to X.n - 1: X.heap[I] == Y - ::k.jobs[0] ? 1 : 0) == (Y.state == 1 ? 1 : 0);",
		"owner X;  forall job Y; Y.state == 0 => SUM(I in 0 to X.n - 1: X.heap[I] == Y - ::k.jobs[0] ? 1 : 0) == 1;",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s was not tried", want)
		}
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "Y.pos ==") }) {
		t.Error("a place is taken for a state")
	}
	if slices.ContainsFunc(tried(maxScans/40+1), func(s string) bool { return strings.Contains(s, "SUM") }) {
		t.Error("each node is looked for in a large array")
	}
}

// TestAdvances: the beginning of a queue goes on by what is taken out, around the end. A number that goes back, or on by more than is in use, is something else.
func TestAdvances(t *testing.T) {
	for _, c := range []struct {
		name  string
		heads []byte
		used  byte
		want  bool
	}{
		{"one at a time, around", []byte{0, 1, 2, 3, 4, 5, 0, 1}, 3, true}, {"counted before", []byte{0, 1}, 0, true}, {"several", []byte{0, 3, 5}, 3, true}, {"back", []byte{0, 1, 2, 1}, 3, false},
		{"too far", []byte{0, 5}, 3, false}, {"never changed", nil, 3, true},
	} {
		h := mgpp.New(mgpp.Options{})
		apply := func(e trace.Event) {
			if _, err := h.Apply(&e); err != nil {
				t.Fatal(err)
			}
		}
		apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 2})
		apply(trace.Event{Kind: trace.KindStore, Addr: 0x1001, Size: 1, Data: []byte{c.used}})
		for _, v := range c.heads {
			apply(trace.Event{Kind: trace.KindStore, Addr: 0x1000, Size: 1, Data: []byte{v}})
		}
		number := func(at int64) *field {
			return newField(types.Scalar{Type: &types.Type{Kind: types.Uint}, Size: 1, Offset: at})
		}
		if got := number(0).advances(h, h.Now(), 0x1000, number(1), 6); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
