package faultloc

import (
	"slices"
	"testing"
)

// TestTags: a pointer may be right and its tag wrong, also where pointers lead into the middle of nodes. A bit that all have says nothing.
func TestTags(t *testing.T) {
	const spec = `
		struct link { void *kids[2]; void *up; };
		struct node { long key; struct link at; };
		type node;
		tag node.at.up & 3;
		left:  node X, Y; X.at.kids[0] == Y => Y.at.up == X and Y.at.up.TAG == 2;
		right: node X, Y; X.at.kids[1] == Y => Y.at.up == X and Y.at.up.TAG == 3;
	`
	for tag, wrong := range map[string]bool{"10": true, "11": false} { // 8 into the node, and the tag
		w := newWorld(t, spec)
		w.run(`
			1: a = calloc node
			1: b = calloc node
			2: a.at.kids[0] = b+8
			3: b.at.up = a+10
			1: c = calloc node
			4: a.at.kids[1] = c+8
			5: c.at.up = a+11
			cpoint
			1: d = calloc node
			4: b.at.kids[1] = d+8
			5: d.at.up = b+` + tag)
		in := w.input()
		if (len(in.Found) > 0) != wrong {
			t.Fatalf("b+%s: %d inconsistencies", tag, len(in.Found))
		}
		if !wrong {
			continue
		}
		r := Locate(in)
		if len(r.Suspects) == 0 || r.Suspects[0].PC != 5 {
			t.Fatalf("suspects %v, want the statement that stored the pointer", r.Suspects)
		}
		fixed := uint64(w.block("b").addr) + 11
		if x := r.Suspects[0].Repair; x == nil || x.Value != fixed || x.Cured != len(in.Found) {
			t.Errorf("repair %+v, want the value %#x", x, fixed)
		}
	}
}

// TestTagSet: a statement that sets the tag of such pointers is not what is missing where one leads to another node than it
// should; it is if it stores where they lead to as well.
func TestTagSet(t *testing.T) {
	const spec = `
		struct node { long key; struct node *kids[2]; void *up; };
		type node edges (kids);
		tag node.up & 3;
		down: node X, Y; X.kids[0] == Y or X.kids[1] == Y => Y.up == X and Y.up.TAG == 3;
	`
	for program, want := range map[string]bool{
		`1: b = calloc node
		 4: a.kids[0] = b
		 5: b.up = a
		 6: b.up = a+3
		 1: c = calloc node
		 4: a.kids[1] = c
		 5: c.up = a
		 6: c.up = a+3
		 1: d = calloc node
		 4: b.kids[0] = d
		 5: d.up = b
		 6: d.up = b+3
		 cpoint`: false,
		`1: b = calloc node
		 4: a.kids[0] = b
		 6: b.up = a+3
		 1: c = calloc node
		 4: a.kids[1] = c
		 6: c.up = a+3
		 1: d = calloc node
		 4: b.kids[0] = d
		 6: d.up = b+3
		 cpoint
		 7: b.kids[0] = NULL
		 4: c.kids[0] = d
		 6: d.up = c+3
		 cpoint
		 7: c.kids[0] = NULL
		 4: b.kids[0] = d
		 6: d.up = b+3
		 cpoint`: true,
	} {
		w := newWorld(t, spec)
		w.run("1: a = calloc node\n" + program + "\n 7: a.kids[1] = NULL\n 4: b.kids[1] = c")
		in := w.input()
		if len(in.Found) == 0 {
			t.Fatal("nothing is inconsistent")
		}
		missing := slices.ContainsFunc(Locate(in).Suspects, func(s Suspect) bool { return s.Kind == Omitted && s.PC == 6 })
		if missing != want {
			t.Errorf("after %q: what sets the tag is missing: %t", program, missing)
		}
	}
}

// TestTagKept: who sets the tag of a pointer writes the whole word, and has not left the pointer in it, unless it stored another one.
func TestTagKept(t *testing.T) {
	const spec = `
		struct node { long key; struct node *kids[2]; void *up; };
		type node edges (kids);
		tag node.up & 3;
		up: node X, Y; X.kids[0] == Y or X.kids[1] == Y => Y.up == X;
	`
	for store, wrote := range map[string]bool{"x+3": false, "a+3": true} {
		w := newWorld(t, spec)
		w.run(`
			1: a = calloc node
			1: x = calloc node
			2: a.kids[0] = x
			3: x.up = a
			1: y = calloc node
			2: a.kids[1] = y
			3: y.up = a
			1: b = calloc node
			4: x.kids[0] = b
			5: b.up = x+1
			cpoint
			7: x.kids[0] = NULL
			8: y.kids[0] = b
			6: b.up = ` + store)
		in := w.input()
		if len(in.Found) == 0 {
			t.Fatal("nothing is inconsistent")
		}
		suspects := Locate(in).Suspects
		left := slices.ContainsFunc(suspects, func(s Suspect) bool { return s.Kind == Wrote && s.PC == 6 && s.Repair != nil })
		near := slices.ContainsFunc(suspects, func(s Suspect) bool { return s.Kind == Omitted && s.PC == 6 && s.has(Last) })
		if left != wrote || near == wrote {
			t.Errorf("b.up = %s: it left the wrong value: %t; another is missing beside it: %t", store, left, near)
		}
	}
}
