package faultloc

import "testing"

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
