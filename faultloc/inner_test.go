package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// movable is a doubly-linked list of which elements are moved to the front, as names.
type movable struct {
	names []string // the first one first
	text  strings.Builder
}

func newMovable(n int) *movable {
	m := &movable{}
	m.text.WriteString(insertions(n))
	for i := range n + 1 {
		m.names = append(m.names, fmt.Sprintf("n%d", n-i))
	}
	return m
}

// move moves the k-th element, 0 < k, to the front; without: without that line; otherwise: in another order.
func (m *movable) move(k, without int, otherwise bool) {
	name := func(k int) string {
		if k < 0 || k >= len(m.names) {
			return "NULL"
		}
		return m.names[k]
	}
	e := m.names[k]
	lines := map[int]string{60: fmt.Sprintf("%s.next = %s", name(k-1), name(k+1)), 62: fmt.Sprintf("%s.next = %s", e, name(0)),
		63: fmt.Sprintf("%s.prev = %s", name(0), e), 64: e + ".prev = NULL"}
	if k+1 < len(m.names) {
		lines[61] = fmt.Sprintf("%s.prev = %s", name(k+1), name(k-1))
	}
	order := []int{60, 61, 62, 63, 64}
	if otherwise { // so that those, too, run while something is broken that do not in the other order
		order = []int{62, 64, 60, 61, 63}
	}
	for _, n := range order {
		if text, ok := lines[n]; ok && n != without {
			fmt.Fprintf(&m.text, "%d: %s\n", n, text)
		}
	}
	m.names = append([]string{e}, slices.Delete(slices.Clone(m.names), k, k+1)...)
}

// TestInner: what a call does wrong several times can not be mended by one field at its end, but it can where the run itself says
// that a constraint always held. Not so where the statement has run before while it was broken.
func TestInner(t *testing.T) {
	const spec = `
struct dnode { struct dnode *next, *prev; long key; };
type dnode edges (next);
back: dnode X, Y; X.next == Y => Y.prev == X;
forth: dnode X; X.prev == NULL or X.prev.next == X;
`
	locate := func(without int, otherwise bool, no ...EvidenceKind) (Result, *world) {
		m := newMovable(14)
		for i := range 10 {
			m.move(2+i, 0, otherwise && i%2 == 0)
			m.text.WriteString("cpoint\n")
		}
		for k := range 4 {
			m.move(3+2*k, without, false)
		}
		w := newWorld(t, spec)
		w.run(m.text.String())
		in := w.input()
		in.BrokenOf, in.Without = w.checker.BrokenAt, no
		if len(no) == 0 {
			in.Broken = w.checker.CountBroken // else it is found in the first round
		}
		return Locate(in), w
	}
	judgedInside := func(r Result) bool {
		return slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.Inner != nil })
	}
	for _, otherwise := range []bool{false, true} {
		if r, _ := locate(0, otherwise); len(r.Suspects) > 0 {
			t.Errorf("nothing is wrong, and %s", summary(r))
		}
	}
	r, w := locate(61, false)
	if len(r.Suspects) == 0 || r.Suspects[0].PC != 61 || r.Suspects[0].Kind != Omitted || r.Suspects[0].Inner == nil {
		t.Fatal(summary(r))
	}
	at := r.Suspects[0].Inner
	if next := w.hist.Op(at.At + 1); next.PC != 64 || at.Held != 10 || len(at.Found) != 1 || w.checker.Label(at.Found[0].Instance) != "back" {
		t.Errorf("judged before line %d, of %v, after %d executions", next.PC, at.Found, at.Held)
	}
	if r, _ := locate(61, false, Inner); judgedInside(r) || r.Suspects[0].PC == 61 {
		t.Errorf("that is known at the end of the call as well: %s", summary(r))
	}
	if r, _ := locate(61, true); judgedInside(r) {
		t.Errorf("each of its statements had run with both constraints broken: %s", summary(r))
	}
}

// TestApartInside: what a function stores that the call has not come to is not missing in the middle of that, either.
func TestApartInside(t *testing.T) {
	for _, apart := range []bool{false, true} {
		s := Suspect{Kind: Omitted, Evidence: []Evidence{{Kind: RepairCell, Cured: 2, Of: 2}, {Kind: Missing, Often: 1, Of: 10, Apart: apart}}}
		if s.mendsInside(Input{}) == apart {
			t.Errorf("apart %t: it mends all that is broken inside: %t", apart, !apart)
		}
	}
}
