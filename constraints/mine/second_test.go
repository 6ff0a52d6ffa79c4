package mine

import (
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
)

// toOwn is a pointer to nodes of type T, in nodes of type T.
func toOwn(name string, set, null int) *link {
	return &link{name: name, count: 1, edge: true, typed: true, set: set, null: null, to: map[string]int{"T": set}}
}

// TestSteady: fields that make no forest where three functions end are no edges of one tree, if a part of them always is one; where two end, a
// function may have left a node half-way, and with no such part there is nothing better.
func TestSteady(t *testing.T) {
	for _, c := range []struct {
		what          string
		always, waits int // functions at whose ends a list alone, and both together, are no forest
		want          bool
	}{
		{"a part is whole", 0, unsteady, true},
		{"few functions", 0, unsteady - 1, false},
		{"no part is whole", 1, unsteady, false},
	} {
		m := newMaker(&portrait{typ: &check.NodeType{Name: "T"}, links: []*link{toOwn("chain", 30, 10), toOwn("queue", 30, 10)}})
		m.shapes()
		fails := func(c *candidate, n int) {
			c.fails = map[int]int{}
			for p := range n {
				c.fails[p] = 1
			}
		}
		for _, x := range m.out {
			switch {
			case strings.HasSuffix(x.key, " forest chain, queue"):
				fails(x, c.waits)
			case strings.HasSuffix(x.key, " forest chain"), strings.HasSuffix(x.key, " forest queue"):
				fails(x, c.always)
			}
		}
		m.steady(func(c *candidate) int { return len(c.fails) })
		i := slices.IndexFunc(m.out, func(x *candidate) bool { return x.key == "T forest chain, queue" })
		if m.out[i].dead != c.want {
			t.Errorf("%s: both together given up: %t", c.what, m.out[i].dead)
		}
		for _, x := range m.out {
			if x.dead && x != m.out[i] {
				t.Errorf("%s: %s given up", c.what, x.key)
			}
		}
	}
}

// TestSeconds: what is an edge, leads back, is an array, or always leads on is no second list; of a pointer that few nodes have it is not said what
// its first ones hang on.
func TestSeconds(t *testing.T) {
	edge, back, second, rare, ring, array := toOwn("next", 30, 10), toOwn("prev", 30, 10), toOwn("other", 30, 10), toOwn("twin", 3, 37), toOwn("round", 40, 0), toOwn("level", 30, 10)
	array.array = true
	m := newMaker(&portrait{typ: &check.NodeType{Name: "T"}, links: []*link{edge, back, second, rare, ring, array}})
	s := shape{links: []*link{edge}, backs: []*link{back}, kind: tree}
	if got := m.seconds(s); !slices.Equal(got, []*link{second, rare}) {
		t.Errorf("%d lists", len(got))
	}
	m.secondHeads(s, []string{"::head"}, nil)
	var keys []string
	for _, c := range m.out {
		keys = append(keys, c.key)
	}
	if want := []string{"T root ::head other", "T last ::head other"}; !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
}
