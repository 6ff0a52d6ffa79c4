package mine

import (
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/trace"
)

// TestInsteadOfNull: a member that the leaves of a tree lead to instead of NULL is none of its nodes; the head of a ring is one.
func TestInsteadOfNull(t *testing.T) {
	const text = `struct item { struct item *left, *right; long key; }; struct tree { struct item end; long count; };
type item; type tree;
`
	const tree, items = 0x1000, 0x2000
	item := func(i uint64) uint64 { return items + 32*i }
	for _, c := range []struct {
		name string
		link func(put func(cell trace.Addr, to uint64))
		want string
	}{
		{"a tree", func(put func(trace.Addr, uint64)) {
			put(tree, item(0))
			put(tree+8, tree)
			for i := range uint64(7) {
				left, right := uint64(tree), uint64(tree)
				if i < 3 {
					left, right = item(2*i+1), item(2*i+2)
				}
				put(trace.Addr(item(i)), left)
				put(trace.Addr(item(i)+8), right)
			}
		}, "nil tree.end;"},
		{"a ring", func(put func(trace.Addr, uint64)) {
			next, prev := func(i uint64) uint64 { return item(i + 1) }, func(i uint64) uint64 { return item(i - 1) }
			put(tree, item(0))
			put(tree+8, item(6))
			for i := range uint64(7) {
				on, back := next(i), prev(i)
				if i == 6 {
					on = tree
				}
				if i == 0 {
					back = tree
				}
				put(trace.Addr(item(i)), on)
				put(trace.Addr(item(i)+8), back)
			}
		}, "embed item in tree at end;"},
	} {
		w := graphtest.New(t, text)
		w.Alloc("tree", tree, 32)
		for i := range uint64(7) {
			w.Alloc("item", trace.Addr(item(i)), 24)
		}
		c.link(func(cell trace.Addr, to uint64) { w.Put(cell, 8, to) })
		m := mining{land: &terrain{places: []place{{"insert", true}}}, run: &Run{History: w.H, Typing: func(s *check.Spec) graph.Typing { return graphtest.Typing(s) }}}
		m.head.given = text
		m.looks = []moment{{at: w.H.Now()}}
		m.quiet, m.places = m.looks, map[int]bool{0: true}
		h := head{"item", "tree", "end"}
		m.head.directives = []string{h.embed()}
		base, err := compile(m.run, &m.head, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.portray(base)
		if _, err := m.insteadOfNull(t.Context(), base, h); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.head.directives, " "); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// TestLeadInto: of several members of the nodes' type those are meant to which nodes lead.
func TestLeadInto(t *testing.T) {
	const text = `struct item { struct item *left, *right; long key; }; struct tree { struct item spare, root, none; };
type item; type tree;
`
	const tree, root, none, items = 0x1000, 0x1018, 0x1030, 0x2000
	item := func(i uint64) uint64 { return items + 32*i }
	w := graphtest.New(t, text)
	w.Alloc("tree", tree, 72)
	for i := range uint64(7) {
		w.Alloc("item", trace.Addr(item(i)), 24)
	}
	w.Put(root, 8, item(0))
	w.Put(root+8, 8, none)
	w.Put(none, 8, none)
	w.Put(none+8, 8, none)
	for i := range uint64(7) {
		left, right := uint64(none), uint64(none)
		if i < 3 {
			left, right = item(2*i+1), item(2*i+2)
		}
		w.Put(trace.Addr(item(i)), 8, left)
		w.Put(trace.Addr(item(i)+8), 8, right)
	}
	m := mining{run: &Run{History: w.H}, looks: []moment{{at: w.H.Now()}}}
	if got := membersOf(w.G.Spec().Types[0].Layout, w.G.Spec().Types[1].Layout, ""); len(got) != 3 {
		t.Errorf("members %v", got)
	}
	base := &trial{run: m.run, graph: w.G, spec: w.G.Spec()}
	for member, want := range map[string]bool{"spare": false, "none": true, "root": false} {
		if got := m.leadInto(base, w.G.Spec().Types[0], w.G.Spec().Types[1], member); got != want {
			t.Errorf("%s: %t", member, got)
		}
	}
}
