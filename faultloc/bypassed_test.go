package faultloc

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/trace"
)

// TestBypassed: where a node was taken out, and a pointer left to it, that is where one is missing, and not where the node was put in
// elsewhere, which made it wrong.
func TestBypassed(t *testing.T) {
	const (
		spec = "struct crate { struct crate *next, *prev; };\nstruct yard { struct crate *head, *tail; };\ntype crate; type yard;\ntogether crate, yard;\n" +
			"next: crate X; yard Y; X.next == NULL ? Y.tail == X : X.next.prev == X;\n"
		four = "1: y = calloc yard\n1: a = calloc crate\n1: b = calloc crate\n1: c = calloc crate\n1: d = calloc crate\n2: a.next = b\n2: b.next = c\n2: c.next = d\n2: b.prev = a\n2: c.prev = b\n2: d.prev = c\n3: y.head = a\n3: y.tail = d\ncpoint\n"
	)
	checkAsked(t, spec, four, Outdated, map[string]string{
		"11: y.tail = c\n20: a.prev = d\n21: d.next = a\n22: d.prev = NULL\n23: y.head = d":                    "wrote 11 outdated",
		"10: c.next = NULL\n11: y.tail = c\n20: a.prev = d\n21: d.next = a\n22: d.prev = NULL\n23: y.head = d": "healthy",
	})
}

// TestStayed: the same, where the pointer that was left is stored again as it was, when the node is put in elsewhere, and the node is freed
// then: who took it out left it.
func TestStayed(t *testing.T) {
	const (
		spec = "struct crate { struct crate *next, *prev; };\ntype crate;\nback: crate X; X.prev == NULL or X.prev.next == X;\n"
		row  = "1: a = calloc crate\n1: b = calloc crate\n1: c = calloc crate\n2: a.next = b\n2: b.next = c\n2: b.prev = a\n2: c.prev = b\ncpoint\n"
		in   = "20: b.next = c\n21: c.prev = b\n"
		out  = "10: a.next = c\n11: c.prev = a\n"
	)
	checkAsked(t, spec, row, Outdated, map[string]string{
		"10: a.next = c\n" + in + "12: a.next = c\n30: free b": "wrote 10 outdated",
		out + in + out + "30: free b":                          "healthy",
	})
	// Where it was put in nowhere, who stored the pointer again should have stored another one.
	checkAsked(t, spec, row, Doomed, map[string]string{
		"10: a.next = c\n11: c.prev = b\n30: free b":                 "wrote 11 doomed",
		"10: a.next = c\n20: b.next = c\n11: c.prev = b\n30: free b": "wrote 10",
		"10: a.next = c\n11: c.prev = a\n30: free b":                 "healthy",
	})
}

// TestTwoStructures: a node that lies in a list and in a chain is taken out of both. That a pointer to it was stored again as it was, in
// the one, is not the fault of who took it out of the other.
func TestTwoStructures(t *testing.T) {
	const (
		spec = "struct crate { struct crate *next, *prev, *chain; };\ntype crate;\nback: crate X; X.prev == NULL or X.prev.next == X;\n"
		row  = "1: a = calloc crate\n1: b = calloc crate\n1: c = calloc crate\n1: d = calloc crate\n2: a.next = b\n2: b.next = c\n2: b.prev = a\n2: c.prev = b\n3: d.chain = b\n3: b.chain = a\ncpoint\n"
	)
	checkAsked(t, spec, row, Doomed, map[string]string{
		"40: d.chain = a\n50: c.prev = b\n51: a.next = c\n60: free b": "wrote 50 doomed",
		"40: d.chain = a\n50: c.prev = a\n51: a.next = c\n60: free b": "healthy",
	})
	checkAsked(t, spec, strings.Replace(row, "d.chain", "c.chain", 1), Doomed, map[string]string{ // the one whose pointer is left is in the chain as well
		"40: c.chain = a\n50: c.prev = b\n51: a.next = c\n60: free b": "wrote 50 doomed",
	})
}

// TestEmptied: who takes a node out and puts nothing there of what it led to loses that, and not who takes the node's own pointer away then.
func TestEmptied(t *testing.T) {
	const (
		spec = "struct sack { struct sack *next; long key; };\nstruct shed { struct sack *first; };\ntype sack; type shed;\ntogether sack, shed;\nled: sack X; X.INDEGREE == 1;\norder: sack X; X.next == NULL or X.key < X.next.key;\n"
		row  = "1: s = calloc shed\n1: a = calloc sack\n1: b = calloc sack\n2: a.key = 1\n2: b.key = 5\n2: s.first = a\n2: a.next = b\ncpoint\n"
	)
	for program, want := range map[string]string{
		"61: s.first = NULL\n62: a.next = NULL\n63: a.key = 9\n70: a.next = NULL\n71: s.first = a": "wrote 61 dropped",
		"61: s.first = b\n62: a.next = NULL\n63: a.key = 9\n71: b.next = a":                        "healthy",
		"62: a.next = NULL": "wrote 62",
	} {
		w := newWorld(t, spec)
		w.run(row + program)
		in := w.input()
		in.Function = func(pc trace.Addr) string { return fmt.Sprint(pc / 10) }
		got := "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Dropped)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}
