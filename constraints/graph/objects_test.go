package graph

import (
	"testing"
	"unsafe"
)

// There are as many of these as the program makes nodes and pointers, and the first use of memory costs more than what is
// done with it: whoever adds a field sees it here.
func TestNodesAreSmall(t *testing.T) {
	for _, s := range []struct {
		name      string
		is, limit uintptr
	}{
		{"object", unsafe.Sizeof(object{}), 144},
		{"slot", unsafe.Sizeof(slot{}), 12},
		{"inRef", unsafe.Sizeof(inRef{}), 16},
	} {
		if s.is > s.limit {
			t.Errorf("%s: %d bytes, at most %d", s.name, s.is, s.limit)
		}
	}
}

// A list has what was put in, across its chunks, and what is taken off is empty when it comes again.
func TestList(t *testing.T) {
	var l list
	const n = 3*listChunk + 5
	for i := range ObjID(n) {
		l.add(i)
	}
	if got := len(l.chunks) * listChunk; got > n+listChunk {
		t.Errorf("room for %d where there are %d", got, n)
	}
	for _, x := range [][2]int{{0, 1}, {7, 9}, {listChunk - 1, listChunk}, {listChunk - 1, listChunk + 1}, {listChunk - 2, 2*listChunk + 3}, {n - 1, n}} {
		got := l.cut(x[0], x[1])
		if len(got) != x[1]-x[0] {
			t.Fatalf("%v: %d of them", x, len(got))
		}
		for i, o := range got {
			if o != ObjID(x[0]+i) {
				t.Fatalf("%v: number %d is %d", x, i, o)
			}
		}
	}
	for _, k := range []int{0, 1, listChunk, listChunk + 1, n} {
		got := l.appendTo([]ObjID{77}, k)
		if len(got) != k+1 || got[0] != 77 || k > 0 && got[k] != ObjID(k-1) {
			t.Fatalf("the first %d: %d", k, len(got)-1)
		}
	}
	if got := l.pop(); got != n-1 || l.n != n-1 {
		t.Errorf("popped %d, %d are left", got, l.n)
	}
	l.extend(n + 2*listChunk)
	for i := n - 1; i < l.n; i++ {
		if o := *l.at(i); o != 0 {
			t.Fatalf("number %d is %d", i, o)
		}
	}
}
