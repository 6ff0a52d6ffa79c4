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
		{"slot", unsafe.Sizeof(slot{}), 16},
		{"inRef", unsafe.Sizeof(inRef{}), 24},
	} {
		if s.is > s.limit {
			t.Errorf("%s: %d bytes, at most %d", s.name, s.is, s.limit)
		}
	}
}

// A list that grows one by one leaves no more behind than it has, and keeps what it has.
func TestDoubled(t *testing.T) {
	var list []ObjID
	left := 0
	for i := range ObjID(100_000) {
		had := cap(list)
		list = append(doubled(list, 1), i)
		if cap(list) != had {
			left += had
		}
	}
	if left > cap(list) {
		t.Errorf("%d were left behind for %d", left, cap(list))
	}
	for i, o := range list {
		if o != ObjID(i) {
			t.Fatalf("number %d is %d", i, o)
		}
	}
}
