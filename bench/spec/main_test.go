package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mgtrace/doctor"
	"mgtrace/session"
	"mgtrace/session/mining"
)

// TestCompare: a specification sees all that breaks itself, and one without its
// order does not see what breaks that.
func TestCompare(t *testing.T) {
	for _, f := range doctor.Check() {
		if f.Required && !f.OK && f.Engine == "" {
			t.Skipf("%s: %s", f.Name, f.Detail)
		}
	}
	dir := t.TempDir()
	bin, weak, hand := filepath.Join(dir, "avl"), filepath.Join(dir, "weak.cons"), "../../testdata/programs/avl.cons"
	if out, err := exec.Command("gcc", "-g", "-o", bin, "../../testdata/programs/avl.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(weak, []byte("type avltree;\ntree: avltree X;  X.ISROOT == FALSE => X.INDEGREE == 1;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o := session.CompareOptions{Program: bin, Comparison: mining.Comparison{Reference: hand, Other: hand, Times: 4, Each: 60, Seed: 1}}
	c, err := session.CompareSpecs(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	same := row{}
	same.classify(c)
	if c.Breaking < 50 || c.Caught != c.Breaking || len(same.found) != 6 || len(same.more) != 0 {
		t.Errorf("with itself: %d of %d caught, found %q, more %q", c.Caught, c.Breaking, same.found, same.more)
	}
	o.Other = weak
	if c, err = session.CompareSpecs(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	less := row{}
	less.classify(c)
	if c.Caught == 0 || c.Caught == c.Breaking || len(less.partly)+len(less.missed) == 0 {
		t.Errorf("with a weaker one: %d of %d caught, partly %q, missed %q", c.Caught, c.Breaking, less.partly, less.missed)
	}
}
