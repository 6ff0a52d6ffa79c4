package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// initialised are the programs of testdata/programs from whose healthy run a
// specification is made, and whether it then finds their fault. What it does not
// find is said here: the run of btree.c ends before keys prove an order.
var initialised = map[string]bool{
	"avl": true, "bags": true, "binary-heap": true, "binary-tree": true, "bipartite": true, "btree": false, "btree-order": true,
	"circular-list": true, "dll": true, "doubly-linked-list": true, "handle-table": true, "hash-table": true, "leftist-heap": true, "message-ring": true, "outline": true,
	"quadtree": true, "rb-sentinel": true, "rbtree": true, "red-black-tree": true, "template-tree": true, "timer-heap": true,
}

// initialTypes are those of programs whose structure is not one type that points to itself.
var initialTypes = map[string][]string{
	"bags":         {"--type", "Bag"},
	"binary-heap":  {"--type", "heap"},
	"handle-table": {"--type", "user", "--type", "table"},
	"hash-table":   {"--type", "table", "--type", "entry"},
	"message-ring": {"--type", "ring"},
	"timer-heap":   {"--type", "heap", "--type", "timer"},
}

// TestSpecInit makes a specification from the correct twin of a program. It is
// silent on the twin and finds the fault of the other.
func TestSpecInit(t *testing.T) {
	t.Parallel()
	if !canCapture("") {
		t.Skip("this machine can not capture")
	}
	var seen []string
	for _, p := range programs(t) {
		finds, ok := initialised[p.name()]
		if !ok {
			continue
		}
		seen = append(seen, p.name())
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			healthy, faulty := p.compile(t), p.compile(t, "-DFAULT")
			spec := filepath.Join(t.TempDir(), "init.cons")
			if r := mgtraceIn(t, p.stdin, append([]string{"spec", "init", healthy, "-o", spec}, initialTypes[p.name()]...)...); r.status != 0 {
				t.Fatalf("spec init: status %d\n%s", r.status, r.stderr)
			}
			p.spec = spec
			if r := p.run(t, "auto", healthy); r.status != 0 {
				t.Errorf("its own run: status %d\n%s\n%s", r.status, r.stderr, read(t, spec))
			} else if r.report.Checked.CPoints < 5 {
				t.Errorf("its own run: %d C-points checked", r.report.Checked.CPoints)
			}
			if r := p.run(t, "auto", faulty); (r.status == 1) != finds {
				t.Errorf("the faulty run: status %d\n%s\n%s", r.status, r.stderr, read(t, spec))
			}
		})
	}
	for name := range initialised {
		if !slices.Contains(seen, name) {
			t.Errorf("there is no program %s", name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
