package mine

import (
	"fmt"
	"slices"
	"strings"
)

// Result is what was found.
type Result struct {
	Types   []Type   `json:"types"`
	Facts   []Fact   `json:"facts"`
	CPoints []CPoint `json:"cpoints"`
	// Moments is how many C-points were checked, States in how many different states
	// of the structure, Looks how many of them were looked at whole to count.
	Moments int `json:"moments"`
	States  int `json:"states"`
	Looks   int `json:"looks"`
	// Skipped moments were left out because there were so many.
	Skipped int `json:"skipped"`
	// Threads is how many threads changed the structure.
	Threads int `json:"threads"`
	// End: the facts held at the normal end of the program too.
	End bool `json:"end"`
	// Partial: it was interrupted; what was not done is not known.
	Partial bool `json:"partial"`

	header header
	astray []string // variables that may be heads and are not followed, and why
	said   []string // what its user should know of it
	base   *base
	stated []*candidate
	maybe  []*candidate
}

// Type is a type of nodes, with what its pointers make.
type Type struct {
	Name  string   `json:"name"`
	Shape string   `json:"shape"`
	Edges []string `json:"edges,omitempty"`
	Born  int      `json:"allocated"`
	Most  int      `json:"alive_at_most"`
}

func (k kind) String() string {
	return [...]string{"no structure", "tree or list", "rings", "graph without cycles", "graph"}[k]
}

// uninformative: values paired at random satisfy the comparison nearly always.
const uninformative = 0.9

// almost is the share of C-points at which a fact may fail that is still shown.
const almost = 0.02

// result judges the candidates.
func (m *mining) result() *Result {
	r := &Result{CPoints: m.cpoints, Moments: len(m.final), Looks: len(m.looks), Skipped: m.skipped, End: m.end, Partial: m.partial, header: m.head, base: m.base, Threads: len(m.land.by), astray: m.unfollowed(), said: m.said}
	states := map[int]bool{}
	met := false // a C-point meets a node: where none does, everything holds
	for _, q := range m.final {
		states[q.state] = true
		met = met || m.land.aliveAt(q) > 0
	}
	r.States = len(states)
	for i, p := range m.portraits {
		if p.typ.Array {
			continue
		}
		t := Type{Name: p.name(), Born: m.land.births[p.name()], Most: slices.Max(m.land.alive)}
		if i < len(m.found) {
			t.Shape, t.Edges = m.found[i].kind.String(), m.head.types[i].edges
		}
		r.Types = append(r.Types, t)
	}
	if !m.tried {
		return r
	}
	var held []*candidate
	for _, c := range m.cands {
		if c.dead {
			continue
		}
		c.CPoints = len(m.final)
		for _, n := range c.fails {
			c.CPointsBroken += n
		}
		ok, why := c.justified()
		switch {
		case c.Broken > 0 && !met:
			continue
		case c.CPointsBroken > 0 && (!ok || c.weak || float64(c.CPointsBroken) > almost*float64(c.CPoints)):
			continue
		case c.CPointsBroken > 0:
			c.Why = fmt.Sprintf("failed at %d of %d C-points", c.CPointsBroken, c.CPoints)
		case c.odds > uninformative && (c.holds != nil || !ok):
			continue
		case !ok:
			c.Why = why
		case c.weak:
			c.Why = "may be an accident of the run"
		default:
			c.Stated = true
		}
		held = append(held, c)
	}
	m.prune(held, r)
	return r
}

// prune leaves out what the others say already, and gives labels.
func (m *mining) prune(held []*candidate, r *Result) {
	implied := map[string]bool{}
	for _, c := range held {
		if c.Stated {
			for _, k := range c.implies {
				implied[k] = true
			}
		}
	}
	for _, c := range held {
		if c.CPointsBroken == 0 {
			for _, k := range c.implies {
				if c.Stated || !stated(held, k) {
					implied[k] = true
				}
			}
		}
	}
	held = slices.DeleteFunc(held, func(c *candidate) bool {
		return implied[c.key] || m.base.states(c) || slices.ContainsFunc(held, c.equalAnyhow)
	})
	held = families(held)
	single := func(c *candidate) bool {
		return c.alone != "" && !slices.ContainsFunc(held, func(o *candidate) bool { return slices.Contains(c.halves, o.key) })
	}
	held = slices.DeleteFunc(slices.Clone(held), func(c *candidate) bool { return c.serial && single(c) })
	for _, c := range held {
		if single(c) {
			c.Words = c.alone
		}
	}
	labels(held)
	for _, c := range held {
		m.base.apart(c)
	}
	if !slices.ContainsFunc(held, func(c *candidate) bool { return c.joined }) {
		for _, c := range held {
			c.unqualify()
		}
	}
	for _, c := range held {
		for i, f := range r.CPoints {
			for j, k := range f.Broken {
				if k == c.key {
					r.CPoints[i].Broken[j] = c.Label
				}
			}
		}
		r.Facts = append(r.Facts, c.Fact)
		if c.Stated {
			r.stated = append(r.stated, c)
		} else {
			r.maybe = append(r.maybe, c)
		}
	}
	for i := range r.CPoints {
		r.CPoints[i].Broken = slices.DeleteFunc(r.CPoints[i].Broken, func(s string) bool { return strings.Contains(s, " ") })
	}
}

// equalAnyhow: another one says that the numbers are equal of which this says that their remainders are.
func (c *candidate) equalAnyhow(o *candidate) bool {
	return c.modulo != nil && o.Stated && o.modulo == nil && o.holds != nil && o.holds(1, 1) && !o.holds(1, 2) && !o.holds(2, 1) &&
		(o.left == c.left && o.right == c.right || o.left == c.right && o.right == c.left)
}

func stated(held []*candidate, key string) bool {
	return slices.ContainsFunc(held, func(c *candidate) bool { return c.Stated && c.key == key })
}

// labels gives names to facts after their keys: of "T root root" it is "root", of
// "T height h 0" it is "height_h". Names that two types share have the type in them.
func labels(cands []*candidate) {
	plain := map[string]int{}
	for _, c := range cands {
		plain[label(c.key)]++
	}
	used := map[string]int{}
	for _, c := range cands {
		if c.Label = label(c.key); plain[c.Label] > 1 {
			c.Label += "_of_" + c.Type
		}
		if used[c.Label]++; used[c.Label] > 1 {
			c.Label = fmt.Sprintf("%s_%d", c.Label, used[c.Label])
		}
	}
}

func label(key string) string {
	_, key, _ = strings.Cut(key, " ")
	words := strings.FieldsFunc(key, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, "0123456789") == "" })
	return strings.Join(slices.Compact(words), "_")
}

// families leaves of statements that say the same of the first so many elements, with
// other numbers, the one that was seen of most; of alike ones that of all elements of the block, or of the smallest number.
func families(held []*candidate) []*candidate {
	best := map[[2]string]*candidate{}
	of := func(c *candidate) [2]string { return [2]string{c.Type, c.family} }
	for _, c := range held {
		b := best[of(c)]
		if b == nil || c.Stated && !b.Stated || c.Stated == b.Stated && (c.Held > b.Held || c.Held == b.Held && c.whole && !b.whole) {
			best[of(c)] = c
		}
	}
	return slices.DeleteFunc(held, func(c *candidate) bool { return c.family != "" && best[of(c)] != c })
}
